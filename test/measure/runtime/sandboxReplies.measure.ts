/** Answers of short turns come together, and long before that of a guest behind them that computes. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { layer as sandboxLayer } from "../../../src/runtime/sandbox/Pool.js"
import { assertFigure } from "../../support/figures.js"
import { begin, doneEvent, type Turn } from "../../support/guests.js"
import { bundleRunner } from "../../support/sandboxRunner.js"

const short = `return ["answered", await svc.state.get("k")]`
const computing = `await svc.state.get("k"); for (let i = 0; i < 2e7; i++); return "computed"`

it.live("the answer of a short turn does not wait until a guest behind it has computed", () =>
  Effect.gen(function* () {
    const shares: Array<number> = []
    // The machine may give this process no time until both have answered: an answer that waited would do so each time.
    for (let i = 0; i < 5 && !shares.some((share) => share < 1 / 4); i++) {
      const [one, other] = [yield* begin(short), yield* begin(computing)]
      const startedAt = performance.now()
      const at = (turn: Turn) => Effect.map(turn.session.feed([doneEvent(0, 1)]), () => performance.now() - startedAt)
      const [oneMillis, otherMillis] = yield* Effect.all([at(one), at(other)], { concurrency: "unbounded" })
      assert.isAbove(otherMillis, 100)
      shares.push(oneMillis / otherMillis)
    }
    assertFigure({ of: "its part of the other's time", value: Math.min(...shares), bound: 1 / 4, unit: "times" })
  }).pipe(Effect.provide(sandboxLayer({ runnerPath: bundleRunner(), runners: 1, spare: false })))
)

it.live("answers of short turns are sent together", () =>
  Effect.gen(function* () {
    const turns: Array<Turn> = []
    for (let i = 0; i < 40; i++) turns.push(yield* begin(short))
    /** The turns of the loop in which answers came. */
    const arrivals = new Set<number>()
    let loopTurn = 0
    const count = setInterval(() => loopTurn++, 0)
    yield* Effect.async<void>((resume) => {
      let missing = turns.length
      for (const { session } of turns)
        session.guest.feed([doneEvent(0, 1)], (answer) => {
          assert.strictEqual(answer._tag, "Turn")
          arrivals.add(loopTurn)
          if (--missing === 0) resume(Effect.void)
        })
    })
    clearInterval(count)
    assertFigure({ of: "arrivals for one answer", value: arrivals.size / turns.length, bound: 1 / 2, unit: "times" })
  }).pipe(Effect.provide(sandboxLayer({ runnerPath: bundleRunner(), runners: 1, spare: false })))
)
