/** How many runs from the start queue a node drives at a time. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, TestClock } from "effect"
import { LiveRuns } from "../../src/actors/execution/LiveRuns.js"
import { Executions } from "../../src/actors/ports/run/Executions.js"
import type { OrganisationId } from "../../src/domain/Ids.js"
import { organisation } from "../support/journal.js"
import { makeRunWorld, request, runnable } from "../support/runWorld.js"
import { call, endless, type Guest } from "../support/scriptedSandbox.js"

const waits: Guest = function* () {
  return yield call("fetch", { url: "https://acme.test/hang" })
}
/** Its runs compute for ever; those of `organisation` wait for a call. */
const busy = "org_01jd0000000000000000000009" as OrganisationId

const makeWorld = () => {
  const world = makeRunWorld({ guests: { main: waits, busy: endless }, slots: 200 })
  world.scripts.set(busy, "busy")
  const startedAfter = (millis: number) => Effect.map(TestClock.adjust(millis), () => world.guestHost.started.length)
  return { ...world, startedAfter }
}

const enqueue = (organisationId: OrganisationId, priority: 1 | 2 | 4, times: number) =>
  Effect.flatMap(Executions, (executions) =>
    Effect.replicateEffect(executions.start({ ...request(runnable({ organisationId })), priority }), times)
  )

describe("a node starts runs from the queue", () => {
  it.scoped("until 64 are starting, and further ones a tenth of a second later", () => {
    const world = makeWorld()
    return Effect.gen(function* () {
      const live = yield* LiveRuns
      yield* enqueue(busy, 4, 100)
      assert.deepStrictEqual([yield* world.startedAfter(510), live.countStarting()], [64, 64])
      assert.strictEqual(yield* world.startedAfter(50), 64)
      assert.deepStrictEqual([yield* world.startedAfter(200), live.size()], [100, 100])
    }).pipe(Effect.provide(world.layer))
  })

  it.scoped("until 4 are starting if the first class had a run within two seconds and the last classes wait", () => {
    const world = makeWorld()
    return Effect.gen(function* () {
      yield* enqueue(organisation, 1, 1)
      assert.strictEqual(yield* world.startedAfter(510), 1)
      yield* enqueue(busy, 4, 100)
      assert.strictEqual(yield* world.startedAfter(520), 1 + 4)
      assert.strictEqual(yield* world.startedAfter(50), 1 + 4)
      assert.strictEqual(yield* world.startedAfter(2_000), 1 + 100)
    }).pipe(Effect.provide(world.layer))
  })

  it.scoped("until 64 are starting if one of the first two classes waits", () => {
    const world = makeWorld()
    return Effect.gen(function* () {
      yield* enqueue(organisation, 1, 1)
      yield* world.startedAfter(510)
      yield* enqueue(busy, 2, 100)
      assert.strictEqual(yield* world.startedAfter(520), 1 + 64)
    }).pipe(Effect.provide(world.layer))
  })

  it.scoped("as many as there are slots, if they wait for their calls", () => {
    const world = makeWorld()
    return Effect.gen(function* () {
      yield* enqueue(organisation, 4, 220)
      assert.strictEqual(yield* world.startedAfter(510), 200)
      assert.strictEqual((yield* LiveRuns).countStarting(), 0)
    }).pipe(Effect.provide(world.layer))
  })
})
