/** The bodies of requests about events and dead letters. Contract: events, replay. */
import { Schema } from "effect"
import { Json } from "../Json.js"
import { eventLimits } from "../Limits.js"
import { outboundEventTypes, testEventType } from "../delivery/OutboundEvent.js"
import { Rfc3339 } from "../Time.js"

const EventType = Schema.String.pipe(
  Schema.maxLength(eventLimits.typeLength),
  Schema.pattern(/^[a-z0-9][a-z0-9_-]*(\.[a-z0-9][a-z0-9_-]*)*$/i, {
    message: () => "must be letters, digits, - and _ in parts joined by dots, such as order.created"
  })
)

/** Types by which the service tells of its own records, and those of the events of one trigger. */
const isOwnType = (type: string): boolean =>
  Object.hasOwn(outboundEventTypes, type) || type === testEventType || /^(?:webhook|schedule|manual)\.trg_/.test(type)

const InjectedType = EventType.pipe(
  Schema.filter((type) => !isOwnType(type), {
    message: () => "is a type of the service's own events: choose another, such as order.created"
  })
)

/** An event that a client injects. */
export const InjectEvent = Schema.Struct({
  type: InjectedType,
  payload: Schema.optional(Json),
  customerId: Schema.optional(Schema.String),
  occurredAt: Schema.optional(Rfc3339).annotations({
    description: "when it happened; repetitions are recognised by it"
  }),
  deduplicationKey: Schema.optional(
    Schema.String.pipe(Schema.minLength(1), Schema.maxLength(eventLimits.deduplicationLength))
  ).annotations({ description: "a second event with the same key within seven days is a duplicate" })
}).annotations({ identifier: "InjectEvent" })
export type InjectEvent = typeof InjectEvent.Type

/** A trigger that is fired by hand. */
export const FireTrigger = Schema.Struct({
  payload: Schema.optional(Json).annotations({
    description: "the payload of the event; absent: {}, and for a schedule the payload of each route"
  })
}).annotations({ identifier: "FireTrigger" })
export type FireTrigger = typeof FireTrigger.Type

const RouteIds = Schema.Array(Schema.String.pipe(Schema.maxLength(eventLimits.routeIdLength))).pipe(
  Schema.minItems(1),
  Schema.maxItems(eventLimits.routes)
)

/** How an event is replayed. */
export const ReplayEvent = Schema.Struct({
  mode: Schema.optional(Schema.Literal("same", "latest")).annotations({
    description: "`same`: the versions that ran before; `latest` (default): those that are deployed now"
  }),
  routes: Schema.optional(RouteIds).annotations({ description: "only these routes of the trigger; default: all" })
}).annotations({ identifier: "ReplayEvent" })
export type ReplayEvent = typeof ReplayEvent.Type

/** Which dead letters a replay of many takes. */
export const DeadLetterFilter = Schema.Struct({
  triggerId: Schema.optional(Schema.String),
  connector: Schema.optional(Schema.String),
  customerId: Schema.optional(Schema.String),
  type: Schema.optional(Schema.String),
  code: Schema.optional(Schema.String).annotations({ description: "the code of the error" }),
  createdAfter: Schema.optional(Rfc3339),
  createdBefore: Schema.optional(Rfc3339)
}).annotations({ identifier: "DeadLetterFilter" })
export type DeadLetterFilter = typeof DeadLetterFilter.Type

const pace = {
  limit: Schema.optional(Schema.Int.pipe(Schema.between(1, eventLimits.replayed))),
  ratePerSecond: Schema.optional(Schema.Number.pipe(Schema.between(0.1, eventLimits.replaysPerSecond)))
}

/** Starts a replay of many. A filter is required, so that a body without one does not replay everything by mistake. */
export const ReplayDeadLetters = Schema.Struct({
  filter: DeadLetterFilter.pipe(
    Schema.filter((filter) => Object.values(filter).some((value) => value !== undefined), {
      message: () => "must name at least one condition; createdBefore with the present time takes all dead letters"
    })
  ).annotations({ description: "at least one condition" }),
  ...pace
}).annotations({ identifier: "ReplayDeadLetters" })

/** The same for one customer, whose dead letters are a filter already. */
export const ReplayCustomerDeadLetters = Schema.Struct({
  filter: Schema.optional(DeadLetterFilter),
  ...pace
}).annotations({ identifier: "ReplayCustomerDeadLetters" })
export type ReplayCustomerDeadLetters = typeof ReplayCustomerDeadLetters.Type
