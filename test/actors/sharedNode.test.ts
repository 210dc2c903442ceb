/** How many queued runs a node computes at a time beside runs of the first class. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, TestClock } from "effect"
import { LiveRuns } from "../../src/actors/execution/LiveRuns.js"
import { Executions } from "../../src/actors/ports/Executions.js"
import type { OrganisationId } from "../../src/domain/Ids.js"
import { organisation } from "../support/journal.js"
import { makeRunWorld, passUntil, request, runnable } from "../support/runWorld.js"
import { call, endless, type Guest } from "../support/scriptedSandbox.js"

const waits: Guest = function* () {
  return yield call("fetch", { url: "https://acme.test/hang" })
}
/** Its runs compute; those of `organisation` wait for a call. */
const busy = "org_01jd0000000000000000000009" as OrganisationId

const makeWorld = () => {
  const world = makeRunWorld({ guests: { main: waits, busy: endless }, slots: 100 })
  world.scripts.set(busy, "busy")
  const startedWithin = (millis: number) => Effect.map(TestClock.adjust(millis), () => world.guestHost.started.length)
  return { ...world, startedWithin }
}

const enqueue = (organisationId: OrganisationId, priority: 1 | 4, times: number) =>
  Effect.flatMap(Executions, (executions) =>
    Effect.replicateEffect(executions.start({ ...request(runnable({ organisationId })), priority }), times)
  )

const launchOfEachClass = (world: ReturnType<typeof makeWorld>) =>
  Effect.zipRight(
    Effect.all([enqueue(organisation, 1, 1), enqueue(organisation, 4, 1)]),
    passUntil(() => world.guestHost.started.length === 2, "10 millis")
  )

describe("a node that runs the first class and others", () => {
  it.scoped("computes four queued runs at a time, and more when the first class has had none for two seconds", () => {
    const world = makeWorld()
    return Effect.gen(function* () {
      yield* launchOfEachClass(world)
      yield* enqueue(busy, 4, 20)
      assert.deepStrictEqual([yield* world.startedWithin(600), yield* world.startedWithin(600)], [6, 6])
      assert.strictEqual((yield* LiveRuns).countComputing(), 4)
      assert.strictEqual(yield* world.startedWithin(2_000), 22)
    }).pipe(Effect.provide(world.layer))
  })

  it.scoped("does not count runs that wait for their calls", () => {
    const world = makeWorld()
    return Effect.gen(function* () {
      yield* launchOfEachClass(world)
      yield* enqueue(organisation, 4, 20)
      assert.strictEqual(yield* world.startedWithin(600), 22)
      assert.strictEqual((yield* LiveRuns).countComputing(), 0)
    }).pipe(Effect.provide(world.layer))
  })

  it.scoped("takes no notice of a single class", () => {
    const world = makeWorld()
    return Effect.gen(function* () {
      yield* enqueue(busy, 4, 80)
      assert.strictEqual(yield* world.startedWithin(1_000), 64)
    }).pipe(Effect.provide(world.layer))
  })
})
