/** Runs whose node took them over, or off the start queue, while the database went away. */
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, TestClock } from "effect"
import { openRun } from "../support/journal.js"
import { announce } from "../support/LogExpectations.js"
import { makeRunWorld, passUntil, startEntry } from "../support/runWorld.js"
import type { Guest } from "../support/scriptedSandbox.js"

const now = Effect.map(DateTime.now, DateTime.toEpochMillis)

const answersNothing: Guest = function* () {
  yield* []
  return null
}

/** More than are activated at a time. */
const several = Array.from({ length: 20 }, (_, i) => i)

describe("runs that were taken when the database went away", () => {
  const world = () => makeRunWorld({ guests: { main: answersNothing }, slots: 100 })

  /** Runs that are due, and runs that wait in the start queue. */
  const addRuns = (store: ReturnType<typeof world>, at: number) => {
    const times = { engine: "memory", createdAt: at, deadlineAt: at + 900_000 } as const
    const due = several.map(() => openRun({ ...times, activations: 0, progress: 1, startedAt: at, wakeAt: at }))
    for (const run of due) store.add(run, [startEntry(at)])
    const queued = several.map(() => openRun({ ...times, status: "pending", activations: 0 }))
    return Effect.as(
      Effect.forEach(queued, (open) => {
        const { id, organisationId, retention, spaceId } = open
        const journal = [{ seq: 0, entry: startEntry(at) }]
        return store.journal.append({
          id,
          organisationId,
          spaceId,
          retention,
          epoch: null,
          open,
          journal,
          enqueue: { notBefore: at }
        })
      }),
      [...due, ...queued]
    )
  }

  it.scoped("all go on once it is back, whichever of them failed to be read", () => {
    const store = world()
    announce(/"background_task.failed"/)
    return Effect.gen(function* () {
      const began = yield* now
      let isAway = true
      store.trouble.isAway = () => isAway
      const runs = yield* addRuns(store, began)
      // Longer than reads are repeated.
      yield* TestClock.adjust("15 seconds")
      isAway = false
      yield* passUntil(() => runs.every(({ id }) => store.ended.has(id)))
      assert.isTrue(runs.every(({ id }) => store.ended.get(id)?.status === "completed"))
    }).pipe(Effect.provide(store.layer))
  })

  it.scoped("are not suspected of the death of a process, however often a read fails", () => {
    const store = world()
    return Effect.gen(function* () {
      let reads = 0
      store.trouble.isAway = () => (reads += 1) % 10 !== 0
      const runs = yield* addRuns(store, yield* now)
      yield* passUntil(() => runs.every(({ id }) => store.ended.has(id)))
      assert.isTrue(store.guestHost.started.every(({ alone }) => !alone))
      assert.isTrue(runs.every(({ id }) => (store.ended.get(id)?.run.activations ?? 0) <= 1))
    }).pipe(Effect.provide(store.layer))
  })
})
