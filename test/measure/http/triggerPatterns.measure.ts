/** Patterns of filters are compiled in workers: neither saving nor first matching them holds the main loop. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { Effect } from "effect"
import { startCalls, stopCalls, svc, workflow } from "../../support/calls.js"
import { assertFigure } from "../../support/figures.js"
import { calibratedMillis } from "../../support/growth.js"
import { measureLoopDelay } from "../../support/loopDelay.js"
import { costlyPatterns, createTrigger, hiddenPatterns, slowPatterns } from "../../support/triggerPatterns.js"

let flow: string
beforeAll(async () => {
  await startCalls()
  flow = await workflow("return ctx.input")
  calibratedMillis()
}, 60_000)
afterAll(() => stopCalls())

/** Does the work, and measures the longest delay of the main loop in calibrated 50 ms. */
const undelayed = async <A>(of: string, work: () => Promise<A>): Promise<A> => {
  const { value, worst } = await Effect.runPromise(measureLoopDelay(Effect.promise(work)))
  assertFigure({ of, value: worst / calibratedMillis(), bound: 3, unit: "times" })
  return value
}

it("patterns that expand to very much are refused without a delay of others", async () => {
  for (const [name, patterns] of Object.entries({ costlyPatterns, hiddenPatterns }))
    assert.strictEqual((await undelayed(name, () => createTrigger(flow, patterns))).status, 422)
})

it("patterns that are costly to compile are saved and matched without a delay of others", async () => {
  const made = await undelayed("saved", () => createTrigger(flow, slowPatterns))
  const path = new URL(made.body.data.webhook.url).pathname
  const body = { text: `${"é".repeat(60)}7` }
  assert.strictEqual((await undelayed("matched", () => svc.ask("POST", path, { body }))).body.status, "accepted")
})
