/** An operator learns that one process is too few for the machine, once. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, TestClock } from "effect"
import { type LoadReading, make, noteOf } from "../../src/runtime/http/IdleCores.js"

const busy: LoadReading = { busy: 0.93, idleCores: 6.4 }

describe("a busy main loop beside idle cores", () => {
  it("is noted from 80 % of a minute and two idle cores", () => {
    assert.strictEqual(
      noteOf(busy),
      "the main loop was busy for 93 % of a minute while 6 cores were idle: start svc as several processes with `npm start -- --nodes auto`"
    )
    assert.isDefined(noteOf({ busy: 0.8, idleCores: 2 }))
    assert.isUndefined(noteOf({ busy: 0.79, idleCores: 8 }))
    assert.isUndefined(noteOf({ busy: 1, idleCores: 1.9 }))
  })

  it.scoped("is logged once, and stays noted", () => {
    const said: Array<unknown> = []
    const log = Logger.make(({ message }) => void said.push([message].flat()[0]))
    return Effect.gen(function* () {
      const readings: Array<LoadReading> = [{ busy: 0.5, idleCores: 7 }, busy, busy]
      const note = yield* make(() => readings.shift() ?? busy)
      yield* TestClock.adjust("1 minute")
      assert.isUndefined(note())
      yield* TestClock.adjust("1 minute")
      assert.include(note(), "--nodes auto")
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(said, ["service.cores_are_idle"])
      assert.lengthOf(readings, 1)
    }).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, log)))
  })
})
