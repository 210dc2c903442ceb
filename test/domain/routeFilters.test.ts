/** The filters of an event cost a bounded time on the main loop, whatever the routes and the payload are. */
import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"
import type { Condition } from "../../src/domain/expression/Condition.js"
import { meetsCondition } from "../../src/domain/expression/ConditionEvaluation.js"
import { eventSteps, StepBudget } from "../../src/domain/expression/StepBudget.js"
import { matchRoutes } from "../../src/domain/event/EventRouting.js"
import { canonicalJson, type Json } from "../../src/domain/Json.js"
import type { OrganisationId, RouteId, SpaceId, TriggerId, WorkflowId } from "../../src/domain/Ids.js"
import type { Trigger } from "../../src/domain/trigger/Trigger.js"
import { compiledPatterns } from "../support/patterns.js"
import { assertWithin } from "../support/pace.js"

const routes = 50
/** Allows for a busy machine: each takes about 5 ms, and took from 100 ms to minutes without a bound. */
const mostMillis = 40

const triggerOf = (filter: Condition): Trigger => ({
  id: "trg_1" as TriggerId,
  organisationId: "org_1" as OrganisationId,
  spaceId: "spc_1" as SpaceId,
  customerId: null,
  type: "event",
  name: "orders",
  description: "",
  status: "active",
  workflowIds: [],
  environments: [],
  patterns: 1,
  delivery: { maxAttempts: 1, backoff: "fixed", initialMs: 1_000, coefficient: 1, maxMs: 1_000, jitter: 0 },
  autoReplay: null,
  webhook: null,
  schedule: null,
  appEvent: null,
  event: { type: "order.placed" },
  managedBy: null,
  autoDisabledAt: null,
  createdBy: "",
  createdAt: "",
  updatedAt: "",
  deletedAt: null,
  version: 1,
  routes: Array.from({ length: routes }, (_, n) => ({
    id: `rte_${n}` as RouteId,
    workflowId: "wf_1" as WorkflowId,
    environment: "live",
    filter,
    headers: {},
    payload: null
  }))
})

const record = {
  entity: null,
  action: "other" as const,
  occurredAt: null,
  idempotencyKey: "",
  headers: {},
  traceparent: null,
  replayOf: null,
  replays: 0
}

const matched = (filter: Condition, payload: Json) =>
  matchRoutes([triggerOf(filter)], { payload, record }, compiledPatterns).length

const mebibyte = 1 << 20
const any = (condition: Condition): Condition => ({ any: Array.from({ length: 5 }, () => condition) })
const long = "a".repeat(mebibyte)
const manyMembers = Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`m${n}`, n]))
const worst: ReadonlyArray<readonly [string, Condition, Json]> = [
  [
    "a large pattern",
    { path: "t", op: "matches", value: "(?i)(?:é|ü|ß|[\\p{L}]){300}z" },
    { t: "éüß".repeat(100_000) }
  ],
  ["nested repetitions", { path: "t", op: "matches", value: "(x+x+)+y" }, { t: "x".repeat(mebibyte) }],
  ["optional letters", { path: "t", op: "matches", value: "(?:a?){200}a{200}" }, { t: long }],
  [
    "a long text to search for",
    { path: "t", op: "contains", value: `${"a".repeat(2_500)}b${"a".repeat(2_500)}` },
    { t: long }
  ],
  ["an equal text", { path: "t", op: "eq", value: long }, { t: `${long}` }],
  ["a large object", { path: "t", op: "eq", value: { ...manyMembers, last: 1 } }, { t: { ...manyMembers, last: 2 } }],
  ["a long list", { path: "t", op: "contains", value: "b" }, { t: Array.from({ length: 200_000 }, () => "a") }],
  ["many values", { path: "t", op: "in", value: Array.from({ length: 200_000 }, () => "a") }, { t: "b" }],
  ["a long number", { path: "t", op: "gt", value: 1 }, { t: `x${"1".repeat(mebibyte)}` }],
  [
    "many comparisons",
    { not: { any: Array.from({ length: 20_000 }, () => ({ path: "t", op: "exists" as const })) } },
    {}
  ]
]

describe("The filters of an event", () => {
  for (const [name, condition, payload] of worst)
    it(`take a bounded time: ${name}`, () => {
      const filter = any(condition)
      matched(filter, payload)
      const times = Array.from({ length: 3 }, () => {
        const begin = performance.now()
        assert.isBelow(matched(filter, payload), routes)
        return performance.now() - begin
      })
      assertWithin(Math.min(...times), mostMillis)
    })

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
