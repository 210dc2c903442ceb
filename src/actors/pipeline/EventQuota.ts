/**
 * Finds out what an arriving event counts against: the statement that accepts it counts it, and holds it beyond a limit;
 * no event is refused. Events and starts through the API share one counter a day. Plans without limits pay nothing.
 */
import { Clock, Duration, Effect, Option } from "effect"
import { customerRefusal, customerCeiling } from "../../domain/organisation/Customer.js"
import type { EventSource, HoldReason } from "../../domain/event/Event.js"
import type { Unavailable } from "../../domain/Failure.js"
import type { ConnectionId, CustomerId } from "../../domain/Ids.js"
import { accountOf } from "../../domain/organisation/Organisation.js"
import { plans } from "../../domain/organisation/Plan.js"
import { ConnectionReads } from "../ports/connection/ConnectionReads.js"
import { CustomerReads } from "../ports/organisation/CustomerReads.js"
import type { EventAllowance } from "../ports/event/EventJournal.js"
import type { KnownOrganisation } from "../ports/organisation/OrganisationReads.js"
import { StorageUsage } from "../ports/organisation/StorageUsage.js"

/** An event from outside counts once, however many runs it starts; an event that the service causes does not count. */
const isFromOutside: { readonly [S in EventSource]: boolean } = {
  webhook: true,
  poll: true,
  app_event: true,
  manual: true,
  schedule: false,
  system: false
}

/**
 * How much of the day's quota an event uses: a tick as much as it has routes, since their number is the organisation's
 * choice; a replay that a request asked for as much as the event itself.
 */
export const unitsOf = (
  { replay, source }: { readonly replay?: { readonly isRequested?: boolean }; readonly source: EventSource },
  routes: number
): number => {
  if (replay !== undefined && replay.isRequested !== true) return 0
  return source === "schedule" ? routes : isFromOutside[source] ? 1 : 0
}

/** `reason`: why the event is held; absent: it may run, within its allowance. */
export interface QuotaDecision {
  readonly reason?: HoldReason
  readonly allowance?: EventAllowance
}

interface ArrivingEvent {
  readonly connectionId: ConnectionId | null
  readonly customerId: CustomerId | null
  readonly replay?: object
  readonly source: EventSource
  readonly trigger: { readonly customerId: CustomerId | null } | null
}

const dayMillis = Duration.toMillis(Duration.days(1))

type Counted = Pick<KnownOrganisation, "id" | "parentId" | "plan">

const free: QuotaDecision = {}

/** Makes the functions that decide about events. */
export const make = Effect.gen(function* () {
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

  const isFull = (organisation: Counted): Effect.Effect<boolean, Unavailable> => {
    const limit = plans[organisation.plan].storageMb
    return limit === null
      ? Effect.succeed(false)
      : Effect.map(storage.megabytes(accountOf(organisation)), (used) => used >= limit)
  }

  /** What an event counts against; `undefined`: nothing limits it. */
  const allowanceOf = Effect.fnUntraced(function* (
    organisation: Counted,
    customerId: CustomerId | null,
    units: number
  ): Effect.fn.Return<EventAllowance | undefined, Unavailable> {
    const accountLimit = plans[organisation.plan].eventsPerDay
    const customerLimit = yield* customerDay(organisation, customerId)
    if (accountLimit === null && customerLimit === null) return undefined
    const now = yield* Clock.currentTimeMillis
    // A tick with more routes than the limit uses up a whole day, or it would never run.
    const most = Math.max(1, Math.min(units, accountLimit ?? Infinity, customerLimit ?? Infinity))
    return {
      day: now - (now % dayMillis),
      accountId: accountOf(organisation),
      accountLimit,
      customerId,
      customerLimit,
      units: most
    }
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

  /** Decides about an arriving event, which is also held while its customer is suspended or its connection not active. */
  const decide = Effect.fnUntraced(function* (
    organisation: Counted,
    { connectionId, customerId: named, replay, source, trigger }: ArrivingEvent,
    units: number
  ): Effect.fn.Return<QuotaDecision, Unavailable> {
    const customerId = trigger?.customerId ?? named
    if (yield* isSuspended(organisation, customerId)) return { reason: "customer_suspended" }
    if (!(yield* isActive(organisation, connectionId))) return { reason: "connection_inactive" }
    if (units === 0) return free
    // Replays and schedules may make room.
    if (replay === undefined && isFromOutside[source] && (yield* isFull(organisation))) return { reason: "storage" }
    const allowance = yield* allowanceOf(organisation, customerId, units)
    return allowance === undefined ? free : { allowance }
  })

  return { allowanceOf, decide, isFull }
})
