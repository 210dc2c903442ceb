/**
 * The methods of the typed RPC, with the schemas of their payloads, answers and failures, and which of them may be asked
 * again. Specification: typed RPC.
 */
import { Rpc, RpcGroup } from "@effect/rpc"
import { Schema } from "effect"
import { Connection } from "../../../domain/connection/Connection.js"
import { ConnectionTest } from "../../../domain/connection/ConnectionTest.js"
import { EventDetail, EventSummary, MadeEvent } from "../../../domain/event/EventView.js"
import { Customer } from "../../../domain/organisation/Customer.js"
import { QuotaUse } from "../../../domain/organisation/Usage.js"
import { Page } from "../../../domain/Record.js"
import { ExecutionDetail, ExecutionView } from "../../../domain/run/ExecutionView.js"
import { ServiceFailure } from "./Failures.js"
import {
  callMembers,
  changeMembers,
  connectionFilters,
  customerFilters,
  EndedExecution,
  eventFilters,
  eventMembers,
  executionFilters,
  ProviderReply,
  requestMembers,
  runMembers,
  StartedExecution,
  WatchItem
} from "./Records.js"

const error = ServiceFailure
const ofId = { ...callMembers, id: Schema.String }
const changeOfId = { ...changeMembers, id: Schema.String }
const watch = { ...callMembers, cursor: Schema.optional(Schema.String) }

export const ExecutionMethods = RpcGroup.make(
  Rpc.make("executions.start", { payload: runMembers, success: StartedExecution, error }),
  Rpc.make("executions.run", { payload: runMembers, success: EndedExecution, error }),
  Rpc.make("executions.await", { payload: ofId, success: EndedExecution, error }),
  Rpc.make("executions.get", { payload: ofId, success: ExecutionDetail, error }),
  Rpc.make("executions.cancel", { payload: changeOfId, success: ExecutionDetail, error }),
  Rpc.make("executions.list", { payload: executionFilters, success: Page(ExecutionView), error }),
  Rpc.make("executions.watch", { payload: watch, success: WatchItem, error, stream: true })
)

export const EventMethods = RpcGroup.make(
  Rpc.make("events.publish", { payload: eventMembers, success: MadeEvent, error }),
  Rpc.make("events.get", { payload: ofId, success: EventDetail, error }),
  Rpc.make("events.list", { payload: eventFilters, success: Page(EventSummary), error }),
  Rpc.make("events.watch", { payload: watch, success: WatchItem, error, stream: true })
)

export const ConnectionMethods = RpcGroup.make(
  Rpc.make("connections.list", { payload: connectionFilters, success: Page(Connection.View), error }),
  Rpc.make("connections.test", { payload: changeOfId, success: ConnectionTest, error }),
  Rpc.make("connections.call", { payload: requestMembers, success: ProviderReply, error })
)

export const TenantMethods = RpcGroup.make(
  Rpc.make("tenants.get", { payload: ofId, success: Customer.View, error }),
  Rpc.make("tenants.list", { payload: customerFilters, success: Page(Customer.View), error }),
  Rpc.make("tenants.usage", { payload: callMembers, success: Schema.Array(QuotaUse), error })
)

/** All methods. */
export const SvcMethods = ExecutionMethods.merge(EventMethods, ConnectionMethods, TenantMethods)

/** The name of a method: `executions.start`. */
export type MethodName = RpcGroup.Rpcs<typeof SvcMethods>["_tag"]

/**
 * When a call may be sent again after its connection broke. `read`: it changes nothing. `key`: with an idempotency key.
 * `ownKey`: the client makes one, if the caller gives none. `request`: with an idempotency key, or if the request reads.
 */
export type Repetition = "read" | "key" | "ownKey" | "request"

export const repetitions: { readonly [Name in MethodName]: Repetition } = {
  "executions.start": "ownKey",
  "executions.run": "ownKey",
  "executions.await": "read",
  "executions.get": "read",
  "executions.cancel": "key",
  "executions.list": "read",
  "executions.watch": "read",
  "events.publish": "ownKey",
  "events.get": "read",
  "events.list": "read",
  "events.watch": "read",
  "connections.list": "read",
  "connections.test": "key",
  "connections.call": "request",
  "tenants.get": "read",
  "tenants.list": "read",
  "tenants.usage": "read"
}

/** Methods that stay open for as long as a run: they outlast a longer outage than others. */
export const lastingMethods: ReadonlySet<string> = new Set<MethodName>(["executions.run", "executions.await"])
