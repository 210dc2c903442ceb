/** Refused calls over a limit are answered one after the other, and none waits without end. */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, TestClock } from "effect"
import { layer, Refusals } from "../../src/http/auth/Refusals.js"
import { refusals as limits } from "../../src/domain/Limits.js"

describe("Refusals over a limit", () => {
  const flooded = (count: number) =>
    Effect.gen(function* () {
      const { inTurn, unknown } = yield* Refusals
      for (let n = 0; n < limits.unknownKeys; n++) unknown.count("192.0.2.1", 0)
      const exceeded = unknown.exceeded("192.0.2.1", 0) ?? assert.fail("not over the limit")
      // One error for all of them: taking its stack is most of what a refusal costs.
      assert.strictEqual(unknown.exceeded("192.0.2.1", 1), exceeded)
      let answered = 0
      for (let n = 0; n < count; n++)
        yield* Effect.fork(
          Effect.map(Effect.exit(inTurn(exceeded)), (exit) => {
            assert.isTrue(Exit.isFailure(exit))
            answered++
          })
        )
      yield* TestClock.adjust(0)
      return () => answered
    })

  it.effect("come one a pause, the first at once", () =>
    Effect.gen(function* () {
      const answered = yield* flooded(50)
      assert.strictEqual(answered(), 1)
      yield* TestClock.adjust(Duration.times(limits.pause, 9))
      assert.strictEqual(answered(), 10)
      yield* TestClock.adjust(Duration.times(limits.pause, 40))
      assert.strictEqual(answered(), 50)
    }).pipe(Effect.provide(layer))
  )

  it.effect("come at the longest wait where too many are before them", () =>
    Effect.gen(function* () {
      const answered = yield* flooded(1_500)
      yield* TestClock.adjust(limits.longestWait)
      assert.strictEqual(answered(), 1_500)
    }).pipe(Effect.provide(layer))
  )
})
