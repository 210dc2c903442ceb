/** Patterns of a trigger's filters are refused, compiled and bounded. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { patternLimits } from "../../src/domain/Limits.js"
import { startCalls, stopCalls, svc, workflow } from "../support/calls.js"
import { costlyPatterns, createTrigger, different, hiddenPatterns, slowPatterns } from "../support/triggerPatterns.js"

let flow: string
beforeAll(async () => {
  await startCalls()
  flow = await workflow("return ctx.input")
})
afterAll(() => stopCalls())

const create = (patterns: ReadonlyArray<string>, more: object = {}) => createTrigger(flow, patterns, more)

describe("patterns of a trigger's filters", () => {
  it("that expand to very much are refused with their places", async () => {
    for (const patterns of [costlyPatterns, hiddenPatterns]) {
      const refused = await create(patterns)
      assert.strictEqual(refused.status, 422, refused.text)
      assert.lengthOf(refused.body.details, patternLimits.trigger)
      assert.deepInclude(refused.body.details[0], { path: "routes[0].filter.value", code: "INVALID_PATTERN" })
      assert.match(refused.body.details[0].message, /too complex/)
    }
  })

  it("that are costly to compile are saved and matched", async () => {
    const made = await create(slowPatterns)
    assert.strictEqual(made.status, 201, made.text)
    const path = new URL(made.body.data.webhook.url).pathname
    const delivered = await svc.ask("POST", path, { body: { text: `${"é".repeat(60)}7` } })
    assert.strictEqual(delivered.body.status, "accepted", delivered.text)
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
