/** Runs whose node was lost: who takes them over, in which order, and how deaths of the process are counted. */
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Duration, Effect, TestClock } from "effect"
import { LiveRuns } from "../../src/actors/execution/LiveRuns.js"
import { isObject, type Json } from "../../src/domain/Json.js"
import type { OrganisationId } from "../../src/domain/Ids.js"
import { poisonAfter, suspectAfter } from "../../src/domain/Limits.js"
import { openRun } from "../support/journal.js"
import { makeRunWorld, passUntil, startEntry } from "../support/runWorld.js"
import { call, type Guest } from "../support/scriptedSandbox.js"

const get = (path: string) => call("fetch", { url: `https://acme.test/${path}` })
const bodyOf = (answer: Json): Json => (isObject(answer) ? (answer["body"] ?? null) : null)

const twoCalls: Guest = function* () {
  return [bodyOf(yield get("a")), bodyOf(yield get("b"))]
}
const hangs: Guest = function* () {
  return bodyOf(yield get("hang"))
}

const now = Effect.map(DateTime.now, DateTime.toEpochMillis)

describe("a run whose node was lost", () => {
  /** As its node left it: running, with nothing in its journal but its start. */
  const orphan = (activations: number, more: { readonly organisationId?: OrganisationId } = {}) =>
    Effect.map(now, (at) =>
      openRun({
        activations,
        progress: 1,
        engine: "memory",
        createdAt: at,
        startedAt: at,
        wakeAt: at,
        deadlineAt: at + 900_000,
        ...more
      })
    )

  it.scoped("resumes from its journal under a new epoch, and the old owner's writes are fenced", () => {
    const world = makeRunWorld({ guests: { main: twoCalls } })
    return Effect.gen(function* () {
      const left = yield* orphan(0)
      world.add(left, [startEntry(left.createdAt)])
      yield* passUntil(() => world.ended.has(left.id))
      assert.deepStrictEqual([world.ended.get(left.id)?.status, world.ended.get(left.id)?.run.epoch], ["completed", 2])
      const { id, organisationId, retention, spaceId } = left
      const late = yield* Effect.flip(world.journal.append({ id, organisationId, spaceId, retention, epoch: 1 }))
      assert.strictEqual(late._tag, "Fenced")
    }).pipe(Effect.provide(world.layer))
  })

  /** Leaves runs of as many deaths, and returns how many guests have started at each of the given times. */
  const startedAfter = (world: ReturnType<typeof makeRunWorld>, deaths: ReadonlyArray<number>, millis: number) =>
    Effect.gen(function* () {
      for (const left of yield* Effect.forEach(deaths, (n) => orphan(n))) world.add(left, [startEntry(left.createdAt)])
      yield* passUntil(() => world.guestHost.started.length > 0)
      yield* TestClock.adjust("50 millis")
      const soon = world.guestHost.started.length
      yield* TestClock.adjust(Duration.millis(millis))
      return [soon, world.guestHost.started.length]
    })
  const repeat = (n: number, deaths: number) => Array.from({ length: n }, () => deaths)

  it.scoped("is taken over at once with all others that one death left without progress", () => {
    const world = makeRunWorld({ guests: { main: hangs }, slots: 100 })
    return Effect.gen(function* () {
      assert.deepStrictEqual(yield* startedAfter(world, repeat(80, 1), 0), [80, 80])
      assert.isFalse(world.guestHost.started.some(({ alone }) => alone))
    }).pipe(Effect.provide(world.layer))
  })

  it.scoped("is taken over beside few others of one death, each in a runner of its own", () => {
    const world = makeRunWorld({ guests: { main: hangs }, slots: 100 })
    return Effect.gen(function* () {
      assert.deepStrictEqual(yield* startedAfter(world, repeat(4, 1), 0), [4, 4])
      assert.isTrue(world.guestHost.started.every(({ alone }) => alone))
    }).pipe(Effect.provide(world.layer))
  })

  it.scoped("is taken over in a group after a second death, so that a third one narrows down the culprit", () => {
    const world = makeRunWorld({ guests: { main: hangs }, slots: 100 })
    return Effect.gen(function* () {
      assert.deepStrictEqual(yield* startedAfter(world, repeat(40, 2), 1_050), [32, 40])
    }).pipe(Effect.provide(world.layer))
  })

  it.scoped("is no suspect if it wrote something before its node was lost", () => {
    const world = makeRunWorld({ guests: { main: twoCalls } })
    return Effect.gen(function* () {
      const left = yield* orphan(suspectAfter)
      world.add(left, [startEntry(left.createdAt), { kind: "attempt", attempt: 1, at: left.createdAt, afresh: [] }])
      yield* passUntil(() => world.ended.has(left.id))
      assert.deepStrictEqual(
        world.guestHost.started.map(({ alone }) => alone),
        [false]
      )
    }).pipe(Effect.provide(world.layer))
  })

  it.scoped("counts the death of the process that started it", () => {
    const world = makeRunWorld({ guests: { main: hangs } })
    return Effect.gen(function* () {
      const left = { ...(yield* orphan(1)), progress: 0 }
      world.add(left, [startEntry(left.createdAt)])
      yield* passUntil(() => world.guestHost.started.length > 0)
      assert.strictEqual(world.runs.get(left.id)?.activations, 2)
    }).pipe(Effect.provide(world.layer))
  })

  it.scoped("is taken over alone, one at a time, if its processes died soon after taking it over", () => {
    const world = makeRunWorld({ guests: { main: hangs } })
    return Effect.gen(function* () {
      const live = yield* LiveRuns
      const lefts = [yield* orphan(1), yield* orphan(suspectAfter), yield* orphan(suspectAfter)]
      for (const left of lefts) world.add(left, [startEntry(left.createdAt)])
      yield* passUntil(() => world.guestHost.started.length > 0)
      assert.lengthOf(world.guestHost.started, 1)
      yield* passUntil(() => world.guestHost.started.length === lefts.length)
      assert.deepStrictEqual(
        world.guestHost.started.map(({ alone }) => alone),
        [true, true, true]
      )
      assert.strictEqual(live.size(), 3)
    }).pipe(Effect.provide(world.layer))
  })

  it.scoped("is not blamed for deaths of its process while it waits", () =>
    Effect.gen(function* () {
      let activations = 1
      for (let restart = 0; restart < 2 * poisonAfter; restart++) {
        const world = makeRunWorld({ guests: { main: hangs } })
        activations = yield* Effect.gen(function* () {
          const left = yield* orphan(activations)
          world.add(left, [startEntry(left.createdAt)])
          yield* passUntil(() => world.sent.length === 1)
          assert.strictEqual(world.runs.get(left.id)?.activations, activations + 1, "its replay counts")
          yield* passUntil(() => world.runs.get(left.id)?.activations === activations)
          return activations
        }).pipe(Effect.provide(world.layer))
      }
      assert.strictEqual(activations, 1)
    })
  )

  it.scoped("is marked again before its guest computes, until it has written something", () => {
    const seen: Array<number | undefined> = []
    const watched: Guest = function* () {
      for (const path of ["a", "b"]) {
        yield get(path)
        seen.push([...world.runs.values()][0]?.activations)
      }
      return "done"
    }
    const world = makeRunWorld({ guests: { main: watched }, answerAfter: "1 second" })
    return Effect.gen(function* () {
      const left = yield* orphan(2)
      world.add(left, [startEntry(left.createdAt)])
      yield* passUntil(() => world.ended.has(left.id))
      assert.deepStrictEqual(seen, [3, 0])
    }).pipe(Effect.provide(world.layer))
  })

  it.scoped("fails as poisoned when no process survived it", () => {
    const world = makeRunWorld({ guests: { main: twoCalls } })
    return Effect.gen(function* () {
      const left = yield* orphan(poisonAfter)
      world.add(left, [startEntry(left.createdAt)])
      yield* passUntil(() => world.ended.has(left.id))
      const { error, status } = world.ended.get(left.id) ?? assert.fail("not ended")
      assert.deepStrictEqual([status, isObject(error) && error["code"]], ["failed", "POISONED"])
      assert.lengthOf(world.guestHost.started, 0)
    }).pipe(Effect.provide(world.layer))
  })
})
