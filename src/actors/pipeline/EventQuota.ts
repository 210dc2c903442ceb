/**
 * Decides whether an arriving event counts within the quotas of its organisation and its customer: beyond them it is held,
 * never refused. Events and starts through the API share one counter a day. Plans without limits pay nothing.
 */
import { Effect, Option } from "effect"
import { customerRefusal } from "../../domain/Customer.js"
import type { EventSource, HoldReason } from "../../domain/Event.js"
import type { Unavailable } from "../../domain/Failure.js"
import type { ConnectionId, CustomerId } from "../../domain/Ids.js"
import { plans } from "../../domain/Plan.js"
import { customerCeiling } from "../../domain/Quota.js"
import { ConnectionReads } from "../ports/ConnectionReads.js"
import { CustomerReads } from "../ports/CustomerReads.js"
import type { KnownOrganisation } from "../ports/OrganisationReads.js"
import { RateLimits } from "../ports/RateLimits.js"
import { StorageUsage } from "../ports/StorageUsage.js"

/** What came from outside counts; what the service causes itself does not. */
const isCounted: { readonly [S in EventSource]: boolean } = {
  webhook: true,
  poll: true,
  app_event: true,
  manual: true,
  schedule: false,
  system: false
}

/** `reason`: why the event is held; `undefined`: it may run. `giveBack`: undoes the count. */
export interface QuotaDecision {
  readonly reason: HoldReason | undefined
  readonly giveBack: Effect.Effect<void>
}

/** `replay`: set for a replay, which was counted when the event that it replays arrived. */
interface ArrivingEvent {
  readonly connectionId: ConnectionId | null
  readonly customerId: CustomerId | null
  readonly replay?: object
  readonly source: EventSource
  readonly trigger: { readonly customerId: CustomerId | null } | null
}

/** A repetition, and an event that was not committed, do not count. */
export const giveBackUncounted =
  ({ giveBack }: QuotaDecision) =>
  <A extends { readonly _tag: string }, E>(committed: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    committed.pipe(
      Effect.tapError(() => giveBack),
      Effect.tap(({ _tag }) => (_tag === "Duplicate" ? giveBack : Effect.void))
    )

type Counted = Pick<KnownOrganisation, "id" | "plan">

const free: QuotaDecision = { reason: undefined, giveBack: Effect.void }

/** Makes the functions that count events. */
export const make = Effect.gen(function* () {
  const limits = yield* RateLimits
  const customers = yield* CustomerReads
  const connections = yield* ConnectionReads
  const storage = yield* StorageUsage

  const customerDay = (organisation: Counted, id: CustomerId | null): Effect.Effect<number | null, Unavailable> =>
    id === null
      ? Effect.succeed(null)
      : Effect.map(
          customers.find(organisation.id, { id }),
          Option.match({ onNone: () => null, onSome: (one) => customerCeiling(one, "events_per_day") })
        )

  const isFull = ({ id, plan }: Counted): Effect.Effect<boolean, Unavailable> => {
    const limit = plans[plan].storageMb
    return limit === null ? Effect.succeed(false) : Effect.map(storage.megabytes(id), (used) => used >= limit)
  }

  /** Counts one event that will run. */
  const count = Effect.fnUntraced(function* (
    organisation: Counted,
    customerId: CustomerId | null
  ): Effect.fn.Return<QuotaDecision, Unavailable> {
    if (yield* isFull(organisation)) return { ...free, reason: "storage" }
    const limit = plans[organisation.plan].eventsPerDay
    const customer = yield* customerDay(organisation, customerId)
    if (limit === null && customer === null) return free
    return yield* limits.takeStart({ organisationId: organisation.id, organisation: limit, customerId, customer }).pipe(
      Effect.map(({ giveBack }): QuotaDecision => ({ reason: undefined, giveBack })),
      Effect.catchTag("QuotaExceeded", () => Effect.succeed<QuotaDecision>({ ...free, reason: "quota" }))
    )
  })

  const isSuspended = (organisation: Counted, id: CustomerId | null): Effect.Effect<boolean, Unavailable> =>
    id === null
      ? Effect.succeed(false)
      : Effect.map(
          customers.find(organisation.id, { id }),
          (found) => Option.isSome(found) && customerRefusal(found.value) !== undefined
        )

  const isActive = (organisation: Counted, id: ConnectionId | null): Effect.Effect<boolean, Unavailable> =>
    id === null
      ? Effect.succeed(true)
      : Effect.map(
          connections.byId(organisation.id, id),
          Option.exists(({ status }) => status === "active")
        )

  /** The same for an arriving event, which is also held while its customer is suspended or its connection not active. */
  const decide = Effect.fnUntraced(function* (
    organisation: Counted,
    { connectionId, customerId: named, replay, source, trigger }: ArrivingEvent
  ): Effect.fn.Return<QuotaDecision, Unavailable> {
    const customerId = trigger?.customerId ?? named
    if (yield* isSuspended(organisation, customerId)) return { ...free, reason: "customer_suspended" }
    if (!(yield* isActive(organisation, connectionId))) return { ...free, reason: "connection_inactive" }
    return replay !== undefined || !isCounted[source] ? free : yield* count(organisation, customerId)
  })

  return { count, customerDay, decide, isFull }
})
