/** Patterns of filters are compiled in workers: neither saving nor first matching them holds the main loop. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { patternLimits } from "../../src/domain/Limits.js"
import { startCalls, stopCalls, svc, workflow } from "../support/calls.js"
import { calibratedMillis } from "../support/growth.js"
import { measureLoopDelay } from "../support/loopDelay.js"

let flow: string
beforeAll(async () => {
  await startCalls()
  flow = await workflow("return ctx.input")
  calibratedMillis()
}, 60_000)
afterAll(() => stopCalls())

const create = (patterns: ReadonlyArray<string>, more: object = {}) =>
  svc.ask("POST", "/api/v1/triggers", {
    key: svc.first.key,
    body: {
      type: "webhook",
      name: "Filtered",
      webhook: { auth: "public" },
      routes: patterns.map((value) => ({ workflowId: flow, filter: { path: "text", op: "matches", value } })),
      ...more
    }
  })

/** The answer, and the longest delay of the main loop in calibrated 50 ms. */
const delayOf = async <A>(work: () => Promise<A>) => {
  const { value, worst } = await Effect.runPromise(measureLoopDelay(Effect.promise(work)))
  return { value, share: worst / calibratedMillis() }
}

const different = (count: number, patternOf: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => patternOf(n))

describe("patterns of a trigger's filters", () => {
  it("that expand to very much are refused with their places, without a delay of others", async () => {
    const costly = different(patternLimits.trigger, (n) => `(?i)${"[\\pL]{0,1000}".repeat(34)}${n}`)
    const hidden = different(patternLimits.trigger, (n) => `(?:${"[^\\pL]{0,1000}".repeat(31)}){0}${n}`)
    for (const patterns of [costly, hidden]) {
      const { share, value } = await delayOf(() => create(patterns))
      assert.strictEqual(value.status, 422, value.text)
      assert.lengthOf(value.body.details, patternLimits.trigger)
      assert.deepInclude(value.body.details[0], { path: "routes[0].filter.value", code: "INVALID_PATTERN" })
      assert.match(value.body.details[0].message, /too complex/)
      assert.isBelow(share, 3)
    }
  })

  it("that are costly to compile are saved and matched without a delay of others", async () => {
    const slow = different(patternLimits.trigger, (n) => `(?i)^${"[\\p{L}]".repeat(60)}?x{0}${n}$`)
    const { share, value } = await delayOf(() => create(slow))
    assert.strictEqual(value.status, 201, value.text)
    assert.isBelow(share, 3)
    const path = new URL(value.body.data.webhook.url).pathname
    const delivered = await delayOf(() => svc.ask("POST", path, { body: { text: `${"é".repeat(60)}7` } }))
    assert.strictEqual(delivered.value.body.status, "accepted", delivered.value.text)
    assert.isBelow(delivered.share, 3)
  })

  it("are bounded by trigger and by organisation", async () => {
    const tooMany = await create(
      different(patternLimits.trigger + 1, (n) => `^a${n}$`),
      {
        routes: [
          {
            workflowId: flow,
            filter: {
              any: different(patternLimits.trigger + 1, (n) => `^a${n}$`).map((value) => ({
                path: "text",
                op: "matches",
                value
              }))
            }
          }
        ]
      }
    )
    assert.strictEqual(tooMany.status, 422, tooMany.text)
    assert.match(tooMany.body.message, /more than 50 different patterns/)
    const patterns = different(patternLimits.trigger, (n) => `^b${n}$`)
    let last = await create(patterns)
    let made = 0
    for (; last.status === 201; made++) last = await create(patterns)
    assert.isAtMost(made, patternLimits.organisation / patternLimits.trigger)
    assert.strictEqual(last.status, 422, last.text)
    assert.match(last.body.message, /may have 500/)
    assert.strictEqual((await create(["^one more$"])).status, 422)
    assert.strictEqual((await create([], { routes: [{ workflowId: flow }] })).status, 201)
  })
})
