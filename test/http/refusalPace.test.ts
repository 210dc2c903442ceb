/** Refused calls over a limit are answered one after the other, and none waits longer than a bound. */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, TestClock } from "effect"
import { RefusalCounters } from "../../src/http/auth/RefusalCounters.js"
import { refusalLimits } from "../../src/domain/Limits.js"
import { Ownership } from "../../src/actors/ports/Ownership.js"
import { aloneNode } from "../support/ownership.js"

describe("refused calls over a limit", () => {
  const flood = (count: number) =>
    Effect.gen(function* () {
      const { failInTurn, unknownCredentials } = yield* RefusalCounters
      for (let n = 0; n < refusalLimits.unknownCredentials; n++) unknownCredentials.count("192.0.2.1", 0)
      const exceeded = unknownCredentials.exceeded("192.0.2.1", 0) ?? assert.fail("not over the limit")
      // All of them share one error, since its stack trace is most of the cost of a refusal.
      assert.strictEqual(unknownCredentials.exceeded("192.0.2.1", 1), exceeded)
      let answered = 0
      for (let n = 0; n < count; n++)
        yield* Effect.fork(
          Effect.map(Effect.exit(failInTurn(exceeded)), (exit) => {
            assert.isTrue(Exit.isFailure(exit))
            answered++
          })
        )
      yield* TestClock.adjust(0)
      return () => answered
    })

  it.effect("are answered one after each pause, the first at once", () =>
    Effect.gen(function* () {
      const answered = yield* flood(50)
      assert.strictEqual(answered(), 1)
      yield* TestClock.adjust(Duration.times(refusalLimits.pause, 9))
      assert.strictEqual(answered(), 10)
      yield* TestClock.adjust(Duration.times(refusalLimits.pause, 40))
      assert.strictEqual(answered(), 50)
    }).pipe(Effect.provide(RefusalCounters.Default), Effect.provide(aloneNode))
  )

  it.effect("are answered after the longest wait if too many came before", () =>
    Effect.gen(function* () {
      const answered = yield* flood(1_500)
      yield* TestClock.adjust(refusalLimits.longestWait)
      assert.strictEqual(answered(), 1_500)
    }).pipe(Effect.provide(RefusalCounters.Default), Effect.provide(aloneNode))
  )

  it.effect("are as many on all nodes that serve requests together as on one", () =>
    Effect.gen(function* () {
      const lone = yield* Ownership
      let servers = 3
      const { unknownCredentials } = yield* Effect.provide(RefusalCounters, RefusalCounters.Default).pipe(
        Effect.provideService(Ownership, { ...lone, servers: () => servers })
      )
      const most = Math.floor(refusalLimits.unknownCredentials / 3)
      for (let n = 0; n < most; n++) {
        assert.isUndefined(unknownCredentials.exceeded("192.0.2.1", 0), `after ${n}`)
        unknownCredentials.count("192.0.2.1", 0)
      }
      assert.isDefined(unknownCredentials.exceeded("192.0.2.1", 0))
      servers = 1
      assert.isUndefined(unknownCredentials.exceeded("192.0.2.1", 0), "the others are gone")
    }).pipe(Effect.provide(aloneNode))
  )
})
