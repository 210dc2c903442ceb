/** The service uses Postgres' time, whatever the machine's clock says. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Effect, Layer, Runtime, TestClock } from "effect"
import { Identifiers } from "../../src/actors/ports/Identifiers.js"
import { JournalUnavailable } from "../../src/actors/ports/run/Journal.js"
import { Runs } from "../../src/actors/ports/run/Runs.js"
import { timeOfId } from "../../src/domain/Ids.js"
import { layer as clockLayer } from "../../src/runtime/postgres/database/DatabaseClock.js"
import { layerIdentifiers } from "../../src/runtime/process/Crypto.js"
import { announce } from "../support/LogExpectations.js"

/** A service that keeps the runtime of its construction, as a server does. */
class Kept extends Context.Tag("test/Kept")<Kept, Runtime.Runtime<never>>() {}

const unasked = () => Effect.dieMessage("not asked for by a clock")

const runsWith = (clockOffset: Effect.Effect<number, JournalUnavailable>) =>
  Layer.succeed(
    Runs,
    Runs.of({
      get: unasked,
      isKnown: unasked,
      takeOver: unasked,
      changeEngine: unasked,
      recordProgress: unasked,
      markComputing: unasked,
      unmarkComputing: unasked,
      clearActivations: unasked,
      takeWoken: unasked,
      findWork: unasked,
      findDue: unasked,
      findOverdue: unasked,
      clockOffset
    })
  )

/** A Postgres whose clock is ahead: each measurement takes one entry of the list, and all later ones the last. */
const runs = (offsets: ReadonlyArray<number | "gone">) => {
  let n = 0
  return runsWith(
    Effect.suspend(() => {
      const offset = offsets[Math.min(n++, offsets.length - 1)]
      return typeof offset === "number"
        ? Effect.succeed(offset)
        : Effect.fail(new JournalUnavailable({ reason: "gone" }))
    })
  )
}

const above = (offsets: ReadonlyArray<number | "gone">) =>
  Layer.mergeAll(layerIdentifiers, Layer.effect(Kept, Effect.runtime<never>())).pipe(
    Layer.provideMerge(clockLayer.pipe(Layer.provide(runs(offsets))))
  )

const times = (value: number | "gone", n = 5) => Array.from({ length: n }, () => value)

describe("the clock of the service", () => {
  it.scoped("is Postgres' time for fibers, servers and ids", () =>
    Effect.gen(function* () {
      announce(/"clock\.differs_from_postgres".*"postgresAheadMillis":60000/, { required: true })
      yield* Effect.gen(function* () {
        const runtime = yield* Kept
        const identifiers = yield* Identifiers
        const forked = yield* Effect.fork(Clock.currentTimeMillis)
        assert.strictEqual(yield* Clock.currentTimeMillis, 61_000)
        assert.strictEqual(yield* forked.await.pipe(Effect.flatten), 61_000)
        assert.strictEqual(Runtime.runSync(runtime, Clock.currentTimeMillis), 61_000)
        assert.strictEqual(timeOfId(identifiers.next("exec")), 61_000)
        assert.strictEqual(yield* Clock.currentTimeNanos, 61_000_000_000n)
      }).pipe(Effect.provide(above([60_000])))
      assert.strictEqual(yield* Clock.currentTimeMillis, 1_000)
    }).pipe(
      Effect.tap(() => TestClock.adjust(0)),
      (test) => Effect.zipRight(TestClock.setTime(1_000), test)
    )
  )

  it.scoped("is not corrected by less than the error of a measurement", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* Clock.currentTimeMillis, 0)
    }).pipe(Effect.provide(above([5])))
  )

  it.scoped("is not corrected after one slow answer", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* Clock.currentTimeMillis, 0)
    }).pipe(Effect.provide(above([0, 900, 1, -700, 2])))
  )

  it.scoped("follows within 30 s, and keeps the last correction while Postgres is unreachable", () =>
    Effect.gen(function* () {
      announce(/"background_task\.failed".*"task":"clock\.correct"/, { required: true })
      // The service's clock replaces the test's clock in the runtime.
      const real = yield* Effect.clock
      const pass = Effect.withClock(TestClock.adjust("31 seconds"), real)
      yield* Effect.gen(function* () {
        const ahead = Effect.map(Clock.currentTimeMillis, (told) => told - real.unsafeCurrentTimeMillis())
        assert.strictEqual(yield* ahead, -250)
        yield* pass
        assert.strictEqual(yield* ahead, -250)
        yield* pass
        assert.strictEqual(yield* ahead, 40)
      }).pipe(Effect.provide(above([...times(-250), "gone", ...times(40)])))
    })
  )

  it.scoped("stays corrected however often it is measured", () =>
    Effect.gen(function* () {
      announce(/"clock\.differs_from_postgres"/, { required: true })
      const real = yield* Effect.clock
      const hour = 3_600_000
      // Measured as Postgres' port does: against the clock of the fiber that asks.
      const asked = Effect.map(Clock.currentTimeMillis, (now) => real.unsafeCurrentTimeMillis() + hour - now)
      yield* Effect.gen(function* () {
        for (let n = 0; n < 4; n++) {
          yield* Effect.withClock(TestClock.adjust("31 seconds"), real)
          assert.strictEqual((yield* Clock.currentTimeMillis) - real.unsafeCurrentTimeMillis(), hour, `pass ${n}`)
        }
      }).pipe(Effect.provide(Layer.empty.pipe(Layer.provideMerge(clockLayer.pipe(Layer.provide(runsWith(asked)))))))
    })
  )
})
