/** What a client offers: the methods of the typed RPC, as effects or as promises. Specification: typed RPC. */
import type { Effect, Schema, Stream } from "effect"
import type { Connection } from "../../../domain/connection/Connection.js"
import type { ConnectionTest } from "../../../domain/connection/ConnectionTest.js"
import type { EventDetail, EventSummary, MadeEvent } from "../../../domain/event/EventView.js"
import type { Customer } from "../../../domain/organisation/Customer.js"
import type { QuotaUse } from "../../../domain/organisation/Usage.js"
import type { ExecutionDetail, ExecutionView } from "../../../domain/run/ExecutionView.js"
import type { RpcFailure } from "./Failures.js"
import type {
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

/** What methods return: effects and streams, or promises and async iterables. */
export type ApiForm = "effect" | "promise"

/** Options of one call of the promise form. `signal`: gives the call up; it may have taken effect. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined
}

type Returns<Form extends ApiForm, A> = Form extends "effect" ? Effect.Effect<A, RpcFailure> : Promise<A>
type Watches<Form extends ApiForm> = Form extends "effect"
  ? Stream.Stream<WatchItem, RpcFailure>
  : AsyncIterable<WatchItem>
type More<Form extends ApiForm> = Form extends "effect" ? [] : [options?: CallOptions]

type Members<M extends Schema.Struct.Fields> = Schema.Struct.Type<M>
/** `idempotencyKey: null`: none, also where the client would make one. */
type Change<M extends Schema.Struct.Fields> = Omit<Members<M>, "idempotencyKey"> & {
  readonly idempotencyKey?: string | null | undefined
}
type Call = Members<typeof callMembers>
type OfId = Call & { readonly id: string }
type ChangeOfId = Change<typeof changeMembers> & { readonly id: string }

/** A page of records, newest first. `page.nextCursor`: `cursor` of the next page. */
export interface ListedPage<A> {
  readonly data: ReadonlyArray<A>
  readonly page: { readonly size: number; readonly nextCursor: string | null; readonly hasMore: boolean }
}

/** Where a watch begins. */
export type WatchStart = Call & {
  /** Of an item of an earlier watch, five minutes old at most. Absent: now. */
  readonly cursor?: string | undefined
}

/**
 * The methods. Each fails with an `RpcFailure`, of which `_tag` tells the reason. After a lost connection a call is sent again if
 * it only reads or has an idempotency key; another one fails with `ConnectionLost`.
 */
export interface RpcApi<Form extends ApiForm> {
  readonly executions: {
    /** Starts a run, once: the client makes an idempotency key if the call has none. Of an Instant workflow it returns after its end. */
    readonly start: (run: Change<typeof runMembers>, ...more: More<Form>) => Returns<Form, StartedExecution>
    /** Starts a run, once, and returns its outcome when it has ended. A failed run is an outcome, not a failure. */
    readonly run: (run: Change<typeof runMembers>, ...more: More<Form>) => Returns<Form, EndedExecution>
    /** Returns the outcome of a run when it has ended, on whichever node it is. */
    readonly await: (run: OfId, ...more: More<Form>) => Returns<Form, EndedExecution>
    /** Reads a run with its input, output and first steps. */
    readonly get: (run: OfId, ...more: More<Form>) => Returns<Form, ExecutionDetail>
    /** Cancels a run that has not ended. */
    readonly cancel: (run: ChangeOfId, ...more: More<Form>) => Returns<Form, ExecutionDetail>
    readonly list: (
      filters?: Members<typeof executionFilters>,
      ...more: More<Form>
    ) => Returns<Form, ListedPage<ExecutionView>>
    /** Tells which runs change, at least once each, until it is closed. */
    readonly watch: (start?: WatchStart) => Watches<Form>
  }
  readonly events: {
    /** Publishes an event, once: the client makes an idempotency key if the call has none. Returns after its commit. */
    readonly publish: (event: Change<typeof eventMembers>, ...more: More<Form>) => Returns<Form, typeof MadeEvent.Type>
    /** Reads an event with its payload and the runs that it started. */
    readonly get: (event: OfId, ...more: More<Form>) => Returns<Form, EventDetail>
    readonly list: (
      filters?: Members<typeof eventFilters>,
      ...more: More<Form>
    ) => Returns<Form, ListedPage<EventSummary>>
    /** Tells which events change, at least once each, until it is closed. */
    readonly watch: (start?: WatchStart) => Watches<Form>
  }
  readonly connections: {
    readonly list: (
      filters?: Members<typeof connectionFilters>,
      ...more: More<Form>
    ) => Returns<Form, ListedPage<typeof Connection.View.Type>>
    /** Calls the provider with the connection's credential, and tells whether it was accepted. */
    readonly test: (connection: ChangeOfId, ...more: More<Form>) => Returns<Form, ConnectionTest>
    /** Sends a request through a connection, whose credential stays in the service. Any status of the provider is an answer. */
    readonly call: (request: Change<typeof requestMembers>, ...more: More<Form>) => Returns<Form, ProviderReply>
  }
  /** The organisation's own customers. */
  readonly tenants: {
    /** Reads a customer, by its id or as `ref:` and its external reference. */
    readonly get: (customer: OfId, ...more: More<Form>) => Returns<Form, typeof Customer.View.Type>
    readonly list: (
      filters?: Members<typeof customerFilters>,
      ...more: More<Form>
    ) => Returns<Form, ListedPage<typeof Customer.View.Type>>
    /** Reads what the organisation uses of each limit; with `customer`, what that one uses. */
    readonly usage: (call?: Call, ...more: More<Form>) => Returns<Form, ReadonlyArray<QuotaUse>>
  }
}
