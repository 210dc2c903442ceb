import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, TestClock } from "effect"
import { pollWhileBusy } from "../../src/actors/PollWhileBusy.js"

describe("polling", () => {
  it.scoped("starts one interval after work appears, continues while work is left, and stops", () =>
    Effect.gen(function* () {
      let looks = 0
      let left = 2
      const lookAfter = yield* pollWhileBusy(
        "100 millis",
        Effect.sync(() => (looks++, --left > 0))
      )
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(looks, 0, "nothing costs nothing")
      lookAfter()
      yield* TestClock.adjust("99 millis")
      assert.strictEqual(looks, 0)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(looks, 1)
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(looks, 2, "once more for what was left, then never")
      lookAfter()
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(looks, 3)
    })
  )

  it.scoped("continues for work that appears during a poll", () =>
    Effect.gen(function* () {
      let looks = 0
      const first = yield* Deferred.make<void>()
      const lookAfter = yield* pollWhileBusy(
        "100 millis",
        Effect.suspend(() => (looks++ === 0 ? Effect.as(Deferred.await(first), false) : Effect.succeed(false)))
      )
      lookAfter()
      yield* TestClock.adjust("1 seconds")
      lookAfter()
      yield* Deferred.succeed(first, undefined)
      yield* TestClock.adjust("1 seconds")
      assert.strictEqual(looks, 2)
    })
  )
})
