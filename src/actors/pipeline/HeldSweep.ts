/**
 * Releases held events once the reason is gone: on the next day or a larger plan, the oldest first, as many as the quota
 * allows; when the customer or the connection is active again. After thirty days a held event becomes a dead letter.
 */
import { Context, Duration, Effect, Option } from "effect"
import type { Event, HoldReason } from "../../domain/event/Event.js"
import type { Unavailable } from "../../domain/Failure.js"
import type { CustomerId, EventId, OrganisationId } from "../../domain/Ids.js"
import { inBatches, leasedTask, type SweepTools } from "../LeasedWork.js"
import type { EventAllowance } from "../ports/event/EventJournal.js"
import { OrganisationReads } from "../ports/organisation/OrganisationReads.js"
import { Wakeups } from "../ports/run/Wakeups.js"
import { make as makeEventQuota } from "./EventQuota.js"

/** Reasons that a quota of the organisation or of its customer decides. */
export type QuotaReason = Extract<HoldReason, "quota" | "storage">

/** An event that waits for its quota. */
export interface HeldEvent extends Pick<Event, "id" | "customerId"> {
  /** How much of the quota it uses. */
  readonly units: number
}

/** Why a hold is over without a decision of a quota: the customer or the connection is active again, or it lasted too long. */
export const overReasons = ["customer_active", "connection_active", "expired"] as const
export type OverReason = (typeof overReasons)[number]

/** A held event that is settled. */
export type DueEvent = Pick<Event, "id" | "organisationId">

/** A held event that is to run. `allowance`: absent if nothing limits it. */
export interface ReleasedEvent {
  readonly id: EventId
  readonly allowance?: EventAllowance
}

export interface Released {
  readonly count: number
  readonly beyond: ReadonlySet<EventId>
}

/** Accepted events that wait until the reason of their hold is gone. */
export class HeldEvents extends Context.Tag("svc/HeldEvents")<
  HeldEvents,
  {
    /** The organisations with events that are held for the reason. */
    readonly organisations: (reason: QuotaReason) => Effect.Effect<ReadonlyArray<OrganisationId>, Unavailable>
    /** The oldest events of an organisation that are held for the reason, without those of some customers. */
    readonly oldest: (
      organisation: OrganisationId,
      reason: QuotaReason,
      exceptOf: ReadonlyArray<CustomerId>,
      limit: number
    ) => Effect.Effect<ReadonlyArray<HeldEvent>, Unavailable>
    /**
     * Puts events of an organisation back into the start queue, at their old places, in this order: as many as their
     * allowances permit. Returns those that have no place within theirs.
     */
    readonly release: (
      organisation: OrganisationId,
      events: ReadonlyArray<ReleasedEvent>
    ) => Effect.Effect<Released, Unavailable>
    /** Events whose hold is over, the oldest first, at most `limit`. */
    readonly due: (over: OverReason, limit: number) => Effect.Effect<ReadonlyArray<DueEvent>, Unavailable>
    /** Releases such events, or turns those that were held for too long into dead letters. */
    readonly settle: (over: OverReason, events: ReadonlyArray<EventId>) => Effect.Effect<void, Unavailable>
  }
>() {}

const pollInterval = Duration.seconds(5)
const batchSize = 500
/** The first batch of a pass. It shows at little cost whether the organisation still has used up its quota. */
const probeSize = 1
const reasons: ReadonlyArray<QuotaReason> = ["quota", "storage"]

const make = Effect.fnUntraced(function* ({ jobs }: SweepTools) {
  const held = yield* HeldEvents
  const organisations = yield* OrganisationReads
  const wakeups = yield* Wakeups
  const quota = yield* makeEventQuota

  /** Releases a batch of at most `size`. Returns whether there may be more to release. */
  const releaseBatch = Effect.fnUntraced(function* (
    id: OrganisationId,
    reason: QuotaReason,
    blocked: Set<CustomerId>,
    size: number
  ) {
    const organisation = Option.getOrUndefined(yield* organisations.find(id))
    if (organisation === undefined) return false
    const events = yield* held.oldest(id, reason, [...blocked], size)
    if (yield* quota.isFull(organisation)) return false
    const wanted = yield* Effect.forEach(events, ({ customerId, id: event, units }) =>
      Effect.map(quota.allowanceOf(organisation, customerId, units), (allowance) => ({
        id: event,
        ...(allowance === undefined ? {} : { allowance })
      }))
    )
    const beyond = new Set<EventId>()
    let count = 0
    yield* jobs.together(
      wanted.map((event) => ({ ...event, organisationId: id })),
      (some) =>
        Effect.map(held.release(id, some), (released) => {
          count += released.count
          for (const one of released.beyond) beyond.add(one)
        })
    )
    // The customer's own limit stops only its events.
    let isUsedUp = false
    for (const { allowance, id: event } of wanted) {
      if (!beyond.has(event) || allowance === undefined) continue
      if (allowance.customerLimit === null || allowance.customerId === null) isUsedUp = true
      else blocked.add(allowance.customerId)
    }
    if (count > 0) wakeups.signalQueued()
    // One that failed would be found again at once.
    return !isUsedUp && events.length === size && count + beyond.size === size
  })

  /** A batch of each organisation in turn: those of an account share one quota. */
  const releaseInTurn = Effect.fnUntraced(function* (reason: QuotaReason) {
    const organisations = yield* held.organisations(reason)
    let open = organisations.map((id) => ({ id, organisationId: id, blocked: new Set<CustomerId>(), size: probeSize }))
    while (open.length > 0) {
      const further: typeof open = []
      yield* jobs.each(open, ({ blocked, id, organisationId, size }) =>
        Effect.map(releaseBatch(id, reason, blocked, size), (hasMore) => {
          if (hasMore) further.push({ id, organisationId, blocked, size: batchSize })
        })
      )
      open = further
    }
  })

  const releaseWithinQuota = Effect.forEach(reasons, releaseInTurn, { discard: true })

  /** Settles all events of a reason, in batches. One that fails ends it: it would be found again at once. */
  const settleAll = (over: OverReason) =>
    inBatches(
      batchSize,
      (limit) => held.due(over, limit),
      Effect.fnUntraced(function* (due) {
        let settled = 0
        yield* jobs.together(due, (some) =>
          Effect.map(
            held.settle(
              over,
              some.map(({ id }) => id)
            ),
            () => void (settled += some.length)
          )
        )
        if (settled > 0 && over !== "expired") wakeups.signalQueued()
        return settled === due.length
      })
    )

  const pass = Effect.gen(function* () {
    yield* releaseWithinQuota
    for (const over of overReasons) yield* settleAll(over)
  })

  return { pass }
})

export const task = leasedTask({ name: "events.release_held", interval: pollInterval }, make)
