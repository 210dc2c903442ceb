/** What a node knows of the start queue between its reads. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Wakeups } from "../../src/actors/ports/run/Wakeups.js"
import * as ProcessWakeups from "../../src/runtime/process/Wakeups.js"

const test = (name: string, body: (wakeups: Wakeups["Type"]) => void) =>
  it.effect(name, () => Effect.map(Wakeups, body).pipe(Effect.provide(ProcessWakeups.layer)))

describe("the start queue", () => {
  test("may hold something of a class after a signal of it or of an earlier one", (wakeups) => {
    wakeups.signalQueued(3)
    assert.deepStrictEqual(
      ([1, 2, 3, 4] as const).map((priority) => wakeups.hasQueued(priority)),
      [false, false, true, true]
    )
    wakeups.signalQueued()
    assert.isTrue(wakeups.hasQueued(1))
  })

  test("is known to hold nothing of the classes before the first that waited when it was read", (wakeups) => {
    wakeups.signalQueued(1)
    wakeups.signalQueued(4)
    wakeups.clearQueued(wakeups.queuedSignals(), 4)
    assert.deepStrictEqual([wakeups.hasQueued(3), wakeups.hasQueued()], [false, true])
    wakeups.clearQueued(wakeups.queuedSignals(), null)
    assert.isFalse(wakeups.hasQueued())
  })

  test("may hold what was put there while it was read", (wakeups) => {
    const signals = wakeups.queuedSignals()
    wakeups.signalQueued(1)
    wakeups.clearQueued(signals, null)
    assert.isTrue(wakeups.hasQueued(1))
  })
})
