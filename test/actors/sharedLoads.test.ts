/** Callers who ask for the same key at once cause one load, whoever of them goes away. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { makeSharedLoads } from "../../src/actors/SharedLoads.js"

/** Runs everything that is ready. */
const settle = Effect.forEach(Array.from({ length: 10 }), () => Effect.yieldNow(), { discard: true })

/** A load that waits for `gate` and counts how often it ran. */
const makeLoad = Effect.gen(function* () {
  const gate = yield* Deferred.make<string, string>()
  const counted = { loads: 0 }
  const load = Effect.suspend(() => {
    counted.loads += 1
    return Deferred.await(gate)
  })
  return { counted, gate, load }
})

describe("loads that callers share", () => {
  it.effect("run once for those who ask meanwhile, and again afterwards", () =>
    Effect.gen(function* () {
      const loads = makeSharedLoads<string, string, string>()
      const { counted, gate, load } = yield* makeLoad
      const callers = yield* Effect.fork(
        Effect.forEach(Array.from({ length: 100 }), () => loads("a", load), { concurrency: "unbounded" })
      )
      yield* settle
      yield* Deferred.succeed(gate, "one")
      assert.deepStrictEqual([...new Set(yield* Fiber.join(callers))], ["one"])
      assert.strictEqual(counted.loads, 1)
      yield* loads("a", load)
      assert.strictEqual(counted.loads, 2)
    })
  )

  it.effect("go on when the caller that began them goes away", () =>
    Effect.gen(function* () {
      const loads = makeSharedLoads<string, string, string>()
      const { counted, gate, load } = yield* makeLoad
      const first = yield* Effect.fork(loads("a", load))
      yield* settle
      const second = yield* Effect.fork(loads("a", load))
      yield* settle
      yield* Effect.fork(Fiber.interrupt(first))
      yield* settle
      yield* Deferred.succeed(gate, "one")
      assert.strictEqual(yield* Fiber.join(second), "one")
      assert.strictEqual(counted.loads, 1)
    })
  )

  it.effect("fail for all who wait, and keep no failure", () =>
    Effect.gen(function* () {
      const loads = makeSharedLoads<string, string, string>()
      const { gate, load } = yield* makeLoad
      const callers = yield* Effect.fork(
        Effect.all([loads("a", load), loads("a", load)].map(Effect.exit), { concurrency: 2 })
      )
      yield* settle
      yield* Deferred.fail(gate, "away")
      assert.deepStrictEqual(yield* Fiber.join(callers), [Exit.fail("away"), Exit.fail("away")])
      assert.strictEqual(yield* loads("a", Effect.succeed("two")), "two")
    })
  )
})
