/** A commit that can be had only once is tried again until the database answers, and an interruption cuts no try. */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, TestClock } from "effect"
import { insist } from "../../src/actors/connection/Insistence.js"
import { NotFound, Unavailable } from "../../src/domain/Failure.js"

const away = new Unavailable({ reason: "it restarts", retryAfterSeconds: 1 })

/** A commit that fails as often as it is told, and takes a second. */
const makeCommit = (failures: number, failure: Unavailable | NotFound = away) => {
  const state = { tries: 0, ended: 0, isStored: false }
  const commit = Effect.suspend(() => {
    state.tries += 1
    const outcome: Effect.Effect<string, NotFound | Unavailable> =
      state.tries <= failures
        ? failure
        : Effect.as(
            Effect.sync(() => (state.isStored = true)),
            "stored"
          )
    return Effect.ensuring(
      Effect.delay(outcome, "1 second"),
      Effect.sync(() => (state.ended += 1))
    )
  })
  return { commit, state }
}

describe("a commit that is insisted on", () => {
  it.effect("is tried until it succeeds, and its delay is told once", () =>
    Effect.gen(function* () {
      const { commit, state } = makeCommit(1_000)
      let told = 0
      const insisting = yield* Effect.fork(insist(commit, { onDelay: () => Effect.sync(() => void (told += 1)) }))
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(yield* Fiber.join(insisting), "stored")
      assert.deepStrictEqual([state.tries, told], [1_001, 1])
    })
  )

  it.effect("fails at once by what another try does not change", () =>
    Effect.gen(function* () {
      const { commit, state } = makeCommit(2, new NotFound({ what: "connection" }))
      const insisting = yield* Effect.fork(Effect.flip(insist(commit)))
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(insisting))._tag, "NotFound")
      assert.strictEqual(state.tries, 1)
    })
  )

  it.effect("fails as its last try once its time is over", () =>
    Effect.gen(function* () {
      const { commit } = makeCommit(Infinity)
      const insisting = yield* Effect.fork(Effect.flip(insist(commit, { patience: Duration.seconds(15) })))
      yield* TestClock.adjust("20 seconds")
      assert.strictEqual(yield* Fiber.join(insisting), away)
    })
  )

  it.effect("is tried for some seconds more when its fiber is interrupted", () =>
    Effect.gen(function* () {
      for (const failures of [2, Infinity]) {
        const { commit, state } = makeCommit(failures)
        const insisting = yield* Effect.fork(insist(commit))
        yield* TestClock.adjust("500 millis")
        const ending = yield* Effect.fork(Fiber.interrupt(insisting))
        yield* TestClock.adjust("10 seconds")
        yield* Fiber.join(ending)
        assert.strictEqual(state.isStored, failures === 2)
        assert.strictEqual(state.ended, state.tries, "no try was cut")
      }
    })
  )
})
