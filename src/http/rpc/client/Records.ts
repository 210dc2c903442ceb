/** Records and payloads of the typed RPC. Those that REST has too are its own. Specification: typed RPC. */
import { Schema } from "effect"
import { connectionStatuses } from "../../../domain/connection/Connection.js"
import { Fixture, MockMode } from "../../../domain/connector/Mocking.js"
import { EventSource, EventStatus } from "../../../domain/event/Event.js"
import { Json, JsonObject } from "../../../domain/Json.js"
import { CustomerStatus } from "../../../domain/organisation/Customer.js"
import { ExecutionStatus, Tier, TriggerType } from "../../../domain/run/Execution.js"
import { AnsweredTime } from "../../../domain/Time.js"

const text = Schema.optional(Schema.String)

/** Members that every call takes. */
export const callMembers = {
  /** The customer to whom the call is narrowed: its id, or `ref:` and its external reference. */
  customer: text,
  /** The customer's user on whose behalf it is made. */
  user: text
}

/** Members of a call that changes something. */
export const changeMembers = {
  ...callMembers,
  /** A second call with the same key has no further effect, and is answered as the first. */
  idempotencyKey: text
}

// --- Executions ---

/** How a run is started: the members of `POST …/execute`, and the workflow. */
export const runMembers = {
  ...changeMembers,
  workflowId: Schema.String,
  input: Schema.optional(JsonObject),
  metadata: Schema.optional(JsonObject),
  environment: text,
  draft: Schema.optional(Schema.Boolean),
  mock: Schema.optional(MockMode),
  fixtures: Schema.optional(Schema.Array(Fixture)),
  callback: Schema.optional(
    Schema.NullOr(Schema.Struct({ url: Schema.String, events: Schema.optional(Schema.Array(Schema.String)) }))
  )
}

/** A run that has begun; an Instant one has ended. `tier`: `null` if it is not told. */
export const StartedExecution = Schema.Struct({
  executionId: Schema.String,
  status: ExecutionStatus,
  tier: Schema.NullOr(Tier)
})
export type StartedExecution = typeof StartedExecution.Type

/** A run that has ended. `output` of a completed one; `error` of the others. */
export const EndedExecution = Schema.Struct({
  executionId: Schema.String,
  status: ExecutionStatus,
  statusReason: Schema.NullOr(Schema.String),
  output: Json,
  error: Json
})
export type EndedExecution = typeof EndedExecution.Type

// --- Lists ---

const pages = {
  ...callMembers,
  page_size: Schema.optional(Schema.Number),
  /** `nextCursor` of the page before. */
  cursor: text,
  created_after: text,
  created_before: text,
  q: text,
  customer_id: text
}

export const executionFilters = {
  ...pages,
  workflow_id: text,
  status: Schema.optional(ExecutionStatus),
  trigger_type: Schema.optional(TriggerType),
  parent_id: text
}

export const eventFilters = {
  ...pages,
  status: Schema.optional(EventStatus),
  source: Schema.optional(EventSource),
  trigger_id: text,
  connector: text,
  type: text
}

export const connectionFilters = {
  ...pages,
  status: Schema.optional(Schema.Literal(...connectionStatuses)),
  user_id: text,
  connector: text
}

const { customer_id: _all, ...pagesOfCustomers } = pages
export const customerFilters = { ...pagesOfCustomers, status: Schema.optional(CustomerStatus), tag: text }

// --- Events ---

/** An event of the caller's own, as `POST /api/v1/events` takes it. */
export const eventMembers = {
  ...changeMembers,
  type: Schema.String,
  payload: Schema.optional(Json),
  customerId: text,
  /** RFC 3339. */
  occurredAt: text,
  /** A second event with the same key within seven days is a duplicate. */
  deduplicationKey: text
}

// --- Calls through connections ---

/**
 * A request through a connection, of which the credential stays in the service. `connection`: its id; or `connector`: the
 * customer's default connection of this connector. `path`: below the base URL of the connection, with its query. `timeoutMs`:
 * how long the provider may take to begin its answer, and as long again to end it.
 */
export const requestMembers = {
  ...changeMembers,
  connection: text,
  connector: text,
  method: Schema.Literal("GET", "POST", "PUT", "PATCH", "DELETE"),
  path: Schema.String,
  headers: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.String })),
  body: text,
  bodyBase64: text,
  timeoutMs: Schema.optional(Schema.Number)
}

/** The provider's answer. `bodyBase64`: of a body that is not text; then `body` is `null`. */
export const ProviderReply = Schema.Struct({
  status: Schema.Number,
  headers: Schema.Record({ key: Schema.String, value: Schema.String }),
  body: Schema.NullOr(Schema.String),
  bodyBase64: Schema.NullOr(Schema.String)
})
export type ProviderReply = typeof ProviderReply.Type

// --- Watches ---

const cursor = Schema.NullOr(Schema.String)

/**
 * What a watch tells. `Changed`: a record changed, read it for what is in it. `Many`: as many changes more, which are not
 * named. `Gap`: changes before may have been missed, read anew. `Position`: nothing, but a newer cursor. `cursor`: from where
 * a later watch continues, for five minutes; `null`: at the last one that was not.
 */
export const WatchItem = Schema.Union(
  Schema.TaggedStruct("Changed", { id: Schema.String, status: Schema.String, at: AnsweredTime, cursor }),
  Schema.TaggedStruct("Many", { count: Schema.Number, cursor }),
  Schema.TaggedStruct("Gap", { cursor }),
  Schema.TaggedStruct("Position", { cursor })
)
export type WatchItem = typeof WatchItem.Type
