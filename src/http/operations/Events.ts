/** The operations on events. Contract: events, reconciliation. */
import { forTenants } from "../operation/ForTenants.js"
import { Schema } from "effect"
import { InjectEvent, ReplayEvent } from "../../domain/event/EventBodies.js"
import { EventDetail, EventSummary, MadeEvent, Reconciliation } from "../../domain/event/EventView.js"
import { operationsOf } from "../operation/Operation.js"
import { countedByRun, listedByRun, recordOfRun } from "../ClosedScope.js"
import { listParams } from "../../actors/management/Pages.js"
import { exactMember } from "../JsonBody.js"
import { strictPayload } from "../PayloadSchema.js"
import { EventRecords, EventList } from "../../actors/management/event/EventRecords.js"
import { EventReplays } from "../../actors/management/event/EventReplays.js"
import { eventHeaders } from "../../domain/event/EventHeaders.js"
import { record, acceptedRecord, page } from "../operation/Output.js"

export const ReplayedEvent = Schema.Struct({
  ...MadeEvent.fields,
  replayOf: Schema.String,
  executionIds: Schema.Array(Schema.String).annotations({
    description: "the runs that the new event has started; empty if it waits: the event shows them later"
  })
}).annotations({ identifier: "ReplayedEvent" })

const ofEventRecords = operationsOf({
  with: EventRecords,
  resource: "event",
  sharing: "customers",
  scoped: listedByRun,
  permit: "events:read"
})

const parameters = { evt: "The id of the event." }

const ofEventReplays = operationsOf({
  parameters,
  with: EventReplays,
  resource: "event",
  sharing: "customers",
  scoped: recordOfRun
})

/** The operations of the group `events`, in the order of the documents. */
export const eventsOperations = [
  ofEventRecords({
    name: "events.list",
    summary: "List events",
    description:
      "Lists the events of the workspace without their payloads, newest first. An event is `received` until its runs are started, or `held` until its cause is gone; then it is `delivered`, `ignored`, `dead`, `duplicate` or `rejected`.",
    answers: {
      200: "A page of events. With a filter it may have fewer than asked for, or none, while `hasMore` is true."
    },
    parameters: { source: "Only events from this source." },
    route: "GET /api/v1/events",
    query: EventList,
    output: page(EventSummary),
    use: (events, { context, query }) => events.list(context, query)
  }),
  ofEventReplays({
    name: "events.inject",
    summary: "Inject an event",
    description:
      "Accepts an event of your own, which triggers of the type `event` match by its type. The answer comes after its commit.",
    answers: { 202: "The event is committed, or repeats an earlier one." },
    example: {
      type: "order.created",
      payload: { orderId: "S-1024", total: 99.5 },
      deduplicationKey: "order-S-1024"
    },
    route: "POST /api/v1/events",
    body: strictPayload(InjectEvent),
    output: acceptedRecord(MadeEvent),
    permit: "events:create",
    form: { integers: "kept" },
    use: (replays, { context, body }) => {
      const { headers } = context.request
      const { sent } = context
      return replays.inject(context, body, {
        headers: eventHeaders(headers),
        traceparent: headers["traceparent"] ?? null,
        exactPayload: (asked) => (sent === undefined ? undefined : exactMember(sent, "payload", asked))
      })
    }
  }),
  ofEventRecords({
    name: "events.reconciliation",
    summary: "Reconcile events",
    description:
      "Counts what became of the events that were accepted in a period, by default the last day. `accepted` is the sum of the other counts; an event that nothing accounts for is named in `unaccounted`. Accepted events are counted by trigger and minute, too: `missing` says where more were counted than have a row; `triggerId` is `null` for events that name no trigger. A key of customers sees no counts. If the period has more events than can be counted in 20 seconds, `complete` is false and `to` says how far the answer goes: ask again from there.",
    answers: { 200: "The counts." },
    route: "GET /api/v1/events/reconciliation",
    query: Schema.Struct({ from: listParams.from, to: listParams.to }),
    output: record(Reconciliation),
    sharing: "hidden",
    scoped: countedByRun,
    use: (events, { context, query }) => events.reconcile(context, query)
  }),
  ofEventRecords({
    name: "events.get",
    summary: "Read an event",
    description:
      "Returns an event with its payload, its headers and the runs that it started. Secret members are redacted.",
    answers: { 200: "The event." },
    parameters,
    route: "GET /api/v1/events/:evt",
    output: record(EventDetail),
    scoped: recordOfRun,
    use: (events, { context, path }) => events.get(context, path.evt)
  }),
  ofEventReplays({
    name: "events.replay",
    summary: "Replay an event",
    description:
      "Accepts the event again, under a new id, with its exact payload. It is not taken for a repetition. `mode: same` runs the versions that ran before.",
    answers: { 202: "The new event is committed." },
    example: { mode: "latest" },
    route: "POST /api/v1/events/:evt/replay",
    body: strictPayload(ReplayEvent),
    output: acceptedRecord(ReplayedEvent),
    permit: "events:replay",
    use: (replays, { context, path, body }) => replays.replay(context, path.evt, body)
  })
] as const

/** The operations of the group `tenantEvents`: those of one customer, on surface B. */
export const tenantEventOperations = forTenants("tenantEvents", eventsOperations, {
  list: {
    summary: "List a tenant's events",
    description: "Lists the tenant's events without their payloads, newest first.",
    query: EventList.omit("customer_id")
  },
  reconciliation: {
    summary: "Reconcile a tenant's events",
    description:
      "Counts what became of the tenant's events that were accepted in a period, by default the last day, and names those that nothing accounts for.",
    sharing: "customers"
  },
  get: {
    summary: "Read a tenant's event"
  },
  replay: {
    summary: "Replay a tenant's event"
  }
})
