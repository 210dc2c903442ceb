/** The filters of an event cost a bounded time on the main loop, whatever the routes and the payload are. */
import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"
import type { Condition } from "../../src/domain/expression/Condition.js"
import { meetsCondition } from "../../src/domain/expression/ConditionEvaluation.js"
import { eventSteps, StepBudget } from "../../src/domain/expression/StepBudget.js"
import { canonicalJson, type Json } from "../../src/domain/Json.js"
import { any, matched, routes, worst } from "../support/costlyFilters.js"
import { compiledPatterns } from "../support/patterns.js"

describe("The filters of an event", () => {
  for (const [name, condition, payload] of worst)
    it(`end before all routes are compared: ${name}`, () => assert.isBelow(matched(any(condition), payload), routes))

  it("that would take more than the steps of an event match nothing, also under `not`", () => {
    const slow: Condition = { path: "t", op: "matches", value: "(?:a?){200}a{200}" }
    for (const filter of [slow, { not: slow }]) {
      const budget = new StepBudget(eventSteps)
      assert.isFalse(meetsCondition(filter, { t: "a".repeat(1_000) }, { patterns: compiledPatterns, budget }))
      assert.isTrue(budget.isExceeded)
    }
  })

  it("of fifty routes on ordinary fields all match", () => {
    const filter: Condition = {
      all: [
        { path: "number", op: "matches", value: "^INV-\\d+$" },
        { path: "subject", op: "contains", value: "invoice" },
        { path: "total", op: "gt", value: 100 }
      ]
    }
    assert.strictEqual(matched(filter, { number: "INV-2048", subject: "Your invoice of May", total: "250.5" }), routes)
  })

  it.prop("compare values as their canonical JSON does", [FastCheck.jsonValue(), FastCheck.jsonValue()], ([a, b]) => {
    const isSame = (left: unknown, right: unknown) =>
      meetsCondition(
        { path: "v", op: "eq", value: right as Json },
        { v: left as Json },
        { patterns: compiledPatterns, budget: new StepBudget(Infinity) }
      )
    assert.isTrue(isSame(a, structuredClone(a)))
    assert.strictEqual(isSame(a, b), canonicalJson(a) === canonicalJson(b))
  })
})
