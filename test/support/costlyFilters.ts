/** Filters of events that cost most, of an event with many routes. */
import type { Condition } from "../../src/domain/expression/Condition.js"
import { matchRoutes } from "../../src/domain/event/EventRouting.js"
import type { OrganisationId, RouteId, SpaceId, TriggerId, WorkflowId } from "../../src/domain/Ids.js"
import type { Trigger } from "../../src/domain/trigger/Trigger.js"
import { compiledPatterns } from "./patterns.js"
import type { Json } from "../../src/domain/Json.js"

/** The routes of an event. */
export const routes = 50

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

/** How many routes match. */
export const matched = (filter: Condition, payload: Json) =>
  matchRoutes([triggerOf(filter)], { payload, record }, compiledPatterns).length

const mebibyte = 1 << 20
/** Five times a condition. */
export const any = (condition: Condition): Condition => ({ any: Array.from({ length: 5 }, () => condition) })
const long = "a".repeat(mebibyte)
const manyMembers = Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`m${n}`, n]))
/** Filters and payloads that cost most. */
export const worst: ReadonlyArray<readonly [string, Condition, Json]> = [
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
