/**
 * Accepts events: every way in ends here. An accepted event is committed, with its place in the start queue and the claim
 * that recognises its repetitions, before its sender gets an answer. Contract: events.
 */
import { Clock, Context, Duration, Effect, Layer, Option } from "effect"
import {
  type Deduplication,
  deduplicationWindow,
  type Event,
  type EventAction,
  type EventPriority,
  eventRetention,
  type EventSource,
  type SkipReason,
  idempotencyText,
  priorityOf
} from "../../domain/Event.js"
import { laneOf, matchRoutes } from "../../domain/EventRouting.js"
import { InvalidState, NotFound, Unavailable } from "../../domain/Failure.js"
import type {
  ConnectionId,
  CustomerId,
  DeadLetterId,
  EventId,
  ExecutionId,
  OrganisationId,
  SpaceId
} from "../../domain/Ids.js"
import type { Json } from "../../domain/Json.js"
import { rejectionsPerMinute } from "../../domain/Limits.js"
import { plans } from "../../domain/Plan.js"
import type { Trigger } from "../../domain/Trigger.js"
import { EventRuns } from "../execution/EventRuns.js"
import { Digests } from "../ports/Digests.js"
import { type EventChange, EventJournal } from "../ports/EventJournal.js"
import { Faults } from "../ports/Faults.js"
import { Identifiers } from "../ports/Identifiers.js"
import type { AppendFailure, Claim } from "../ports/Journal.js"
import { type KnownOrganisation, OrganisationReads } from "../ports/OrganisationReads.js"
import { Ownership } from "../ports/Ownership.js"
import { StartQueue } from "../ports/StartQueue.js"
import { TriggerReads } from "../ports/Triggers.js"
import { Wakeups } from "../ports/Wakeups.js"
import { Dispatch, type RunWatch } from "./Dispatch.js"
import { giveBackUncounted, make as makeEventQuota } from "./EventQuota.js"
import { triggersOf } from "./EventTriggers.js"

/** An event as it arrives. */
export interface Arrival {
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
  readonly source: EventSource
  /** The trigger that it was sent to; `null` for one that is routed by its connector or type. */
  readonly trigger: Trigger | null
  readonly connector: string | null
  /** The id of the connector's event, if it is not the type. */
  readonly connectorEvent?: string
  readonly connectionId: ConnectionId | null
  readonly customerId: CustomerId | null
  readonly type: string
  readonly entity: string | null
  readonly action: EventAction
  /** The provider's time, in Unix milliseconds. */
  readonly occurredAt: number | null
  readonly payload: Json
  /** Without credentials. */
  readonly headers: { readonly [name: string]: string }
  readonly deduplication: Deduplication
  readonly traceparent: string | null
  /** A replay is never a repetition. */
  readonly replay?: {
    readonly of: string
    readonly count: number
    readonly priority: EventPriority
    readonly routes?: ReadonlyArray<string>
    readonly versions?: { readonly [workflow: string]: number }
    /** The dead letter that is replayed; it must not be replayed already. */
    readonly letter?: DeadLetterId
  }
  /** Replaces the claim on the idempotency key: that of a schedule's tick. */
  readonly claim?: Claim
  /** The tick starts no run. */
  readonly ignoredBecause?: SkipReason
  /** Commits with the event. */
  readonly tick?: NonNullable<EventChange["tick"]>
}

/** What became of an arrival. */
export type Reception =
  /** Committed; it will start runs. */
  | { readonly _tag: "Accepted"; readonly eventId: EventId; readonly watch: RunWatch | undefined }
  /** Committed; it waits until the cause is gone. */
  | { readonly _tag: "Held"; readonly eventId: EventId }
  /** Recorded; no route matches. */
  | { readonly _tag: "Ignored"; readonly eventId: EventId }
  /** Repeats the event `first`. */
  | { readonly _tag: "Duplicate"; readonly eventId: EventId; readonly first: string }

export class Events extends Context.Tag("svc/Events")<
  Events,
  {
    /** Returns when the event is committed. `watches`: the caller waits for the end of its run. */
    readonly receive: (
      arrival: Arrival,
      watches?: boolean
    ) => Effect.Effect<Reception, NotFound | InvalidState | Unavailable>
    /**
     * Records that a request to a trigger was refused, without its payload. Beyond some of one trigger in a minute, nothing
     * is recorded.
     */
    readonly reject: (
      trigger: Trigger,
      reason: string,
      headers: { readonly [name: string]: string }
    ) => Effect.Effect<void, NotFound | InvalidState | Unavailable>
  }
>() {}

export interface EventsOptions {
  /** This node may dispatch an event that it receives while nothing waits, without the way through the start queue. */
  readonly dispatchesAtOnce: boolean
}

const unavailable = (error: AppendFailure) =>
  new Unavailable({ reason: "reason" in error ? error.reason : error._tag, retryAfterSeconds: 1 })

/** What the functions of this module need. */
interface EventsContext {
  readonly options: EventsOptions
  readonly identifiers: Identifiers["Type"]
  readonly digests: Digests["Type"]
  readonly triggers: TriggerReads["Type"]
  readonly organisations: OrganisationReads["Type"]
  readonly journal: EventJournal["Type"]
  readonly runs: EventRuns["Type"]
  readonly dispatch: Dispatch["Type"]
  readonly ownership: Ownership["Type"]
  readonly queue: StartQueue["Type"]
  readonly wakeups: Wakeups["Type"]
  readonly faults: Faults["Type"]
  readonly quota: Effect.Effect.Success<typeof makeEventQuota>
}

const eventOf = (
  { digests, identifiers }: EventsContext,
  arrival: Arrival,
  organisation: KnownOrganisation,
  now: number
): Event => {
  const id = identifiers.next("evt")
  const { connector, occurredAt, payload, replay, source, trigger } = arrival
  const customerId = trigger?.customerId ?? arrival.customerId
  const deduplication = replay === undefined ? arrival.deduplication : { value: null, deliveryId: null }
  const identified = {
    id,
    source,
    connector,
    customerId,
    payload,
    triggerId: trigger?.id ?? null,
    occurredAt: replay === undefined ? occurredAt : null
  }
  return {
    id,
    organisationId: arrival.organisationId,
    spaceId: arrival.spaceId,
    retention: eventRetention[plans[organisation.plan].retentionDays],
    source,
    triggerId: trigger?.id ?? null,
    connector,
    connectionId: arrival.connectionId,
    customerId,
    type: arrival.type,
    priority: replay?.priority ?? priorityOf[source],
    status: "received",
    receivedAt: now,
    payload,
    record: {
      entity: arrival.entity,
      action: arrival.action,
      occurredAt,
      idempotencyKey: digests.sha256Hex(idempotencyText(identified, deduplication)),
      ...(arrival.connectorEvent === undefined ? {} : { connectorEvent: arrival.connectorEvent }),
      headers: arrival.headers,
      traceparent: arrival.traceparent,
      replayOf: replay?.of ?? null,
      replays: replay?.count ?? 0,
      ...(replay?.routes === undefined ? {} : { routes: replay.routes }),
      ...(replay?.versions === undefined ? {} : { versions: replay.versions })
    }
  }
}

/** The claim that makes a later arrival of the same event a repetition. */
const claimOf = (arrival: Arrival, { receivedAt, record }: Event): Claim | undefined => {
  if (arrival.claim !== undefined || arrival.replay !== undefined) return arrival.claim
  const window = deduplicationWindow(arrival.deduplication, arrival.occurredAt)
  return window === undefined
    ? undefined
    : {
        scope: "event",
        key: record.idempotencyKey,
        hash: record.idempotencyKey,
        expiresAt: receivedAt + Duration.toMillis(window)
      }
}

/** Commits the change; a repetition is recorded as one. */
const commit = (
  { journal }: EventsContext,
  event: Event,
  change: Pick<EventChange, "receives" | "records" | "replays" | "tick">,
  committed: Reception
): Effect.Effect<Reception, InvalidState | Unavailable> => {
  const { organisationId, spaceId } = event
  return journal.append({ organisationId, spaceId, ...change }).pipe(
    Effect.as(committed),
    Effect.catchTag("ClaimTaken", ({ target }) =>
      journal
        .append({
          organisationId,
          spaceId,
          records: {
            event: { ...event, status: "duplicate", payload: null, record: { ...event.record, duplicateOf: target } }
          }
        })
        .pipe(Effect.as<Reception>({ _tag: "Duplicate", eventId: event.id, first: target }))
    ),
    Effect.mapError((error) =>
      error._tag === "Fenced"
        ? new InvalidState({ state: "replayed", message: "the dead letter was replayed or discarded already" })
        : unavailable(error)
    )
  )
}

const receive = Effect.fnUntraced(function* (
  context: EventsContext,
  arrival: Arrival,
  watches: boolean
): Effect.fn.Return<Reception, NotFound | InvalidState | Unavailable> {
  const { dispatch, faults, ownership, queue, runs, wakeups } = context
  const organisation = Option.getOrUndefined(yield* context.organisations.find(arrival.organisationId))
  if (organisation === undefined) return yield* new NotFound({ what: "organisation" })
  const event = eventOf(context, arrival, organisation, yield* Clock.currentTimeMillis)
  const claim = claimOf(arrival, event)
  const claims = claim === undefined ? {} : { claim }
  const { replay, tick } = arrival
  const together = {
    ...(tick === undefined ? {} : { tick }),
    ...(replay?.letter === undefined ? {} : { replays: replay.letter })
  }
  const triggers = arrival.trigger === null ? yield* triggersOf(context.triggers, event) : [arrival.trigger]
  const { ignoredBecause } = arrival
  const matched = ignoredBecause === undefined ? matchRoutes(triggers, event) : []
  yield* faults.at("parsed")
  if (matched.length === 0) {
    const record = ignoredBecause === undefined ? event.record : { ...event.record, ignoredBecause }
    const ignored: Event = { ...event, status: "ignored", record }
    return yield* commit(
      context,
      event,
      { records: { event: ignored, ...claims }, ...together },
      { _tag: "Ignored", eventId: event.id }
    )
  }
  const decision = yield* context.quota.decide(organisation, arrival)
  const { reason } = decision
  const lane = arrival.trigger === null ? null : laneOf(arrival.trigger, event.payload, context.digests.sha256Hex)
  const isDirect =
    context.options.dispatchesAtOnce &&
    reason === undefined &&
    lane === null &&
    !wakeups.hasQueued() &&
    organisation.status === "active"
  const slot: ExecutionId | undefined = isDirect
    ? runs.reserve(event.organisationId, plans[organisation.plan].concurrentRuns)
    : undefined
  const watch = watches ? dispatch.watchEnd(event.id) : undefined
  const received: Event =
    reason === undefined ? event : { ...event, status: "held", record: { ...event.record, heldBecause: reason } }
  const reception: Reception =
    reason === undefined ? { _tag: "Accepted", eventId: event.id, watch } : { _tag: "Held", eventId: event.id }
  const place = {
    shard: ownership.shardOf(event.id),
    lane,
    held: reason !== undefined,
    leasedBy: slot === undefined ? null : queue.node
  }
  const outcome = yield* commit(
    context,
    event,
    { receives: { event: received, queue: place, ...claims }, ...together },
    reception
  ).pipe(
    giveBackUncounted(decision),
    Effect.onExit((exit) =>
      Effect.sync(() => {
        const isAccepted = exit._tag === "Success" && exit.value._tag === "Accepted"
        if (!isAccepted) watch?.forget()
        if (slot === undefined) return
        if (isAccepted) dispatch.dispatch({ event, claims: 1, lane, matched, slot })
        else runs.release(slot)
      })
    )
  )
  yield* faults.at("committed")
  return outcome
})

/** Counts what was recorded of each trigger in the current minute. */
class RejectionCounts {
  private minute = 0
  private readonly counts = new Map<string, number>()

  /** Counts one more; `false` if the trigger has no more room in this minute. */
  take(trigger: string, now: number): boolean {
    const minute = Math.floor(now / 60_000)
    if (minute !== this.minute) this.counts.clear()
    this.minute = minute
    const count = (this.counts.get(trigger) ?? 0) + 1
    this.counts.set(trigger, count)
    return count <= rejectionsPerMinute
  }
}

const reject = Effect.fnUntraced(function* (
  context: EventsContext,
  counts: RejectionCounts,
  trigger: Trigger,
  reason: string,
  headers: { readonly [name: string]: string }
): Effect.fn.Return<void, NotFound | InvalidState | Unavailable> {
  const now = yield* Clock.currentTimeMillis
  if (!counts.take(trigger.id, now)) return
  const organisation = Option.getOrUndefined(yield* context.organisations.find(trigger.organisationId))
  if (organisation === undefined) return yield* new NotFound({ what: "organisation" })
  const arrival: Arrival = {
    organisationId: trigger.organisationId,
    spaceId: trigger.spaceId,
    source: "webhook",
    trigger,
    connector: null,
    connectionId: null,
    customerId: trigger.customerId,
    type: `webhook.${trigger.id}`,
    entity: null,
    action: "other",
    occurredAt: null,
    payload: null,
    headers,
    deduplication: { value: null, deliveryId: null },
    traceparent: null
  }
  const event = eventOf(context, arrival, organisation, now)
  const rejected: Event = { ...event, status: "rejected", record: { ...event.record, rejectedBecause: reason } }
  yield* commit(context, event, { records: { event: rejected } }, { _tag: "Ignored", eventId: event.id })
})

export const layer = (options: EventsOptions) =>
  Layer.effect(
    Events,
    Effect.gen(function* () {
      const context: EventsContext = {
        options,
        identifiers: yield* Identifiers,
        digests: yield* Digests,
        triggers: yield* TriggerReads,
        organisations: yield* OrganisationReads,
        journal: yield* EventJournal,
        runs: yield* EventRuns,
        dispatch: yield* Dispatch,
        ownership: yield* Ownership,
        queue: yield* StartQueue,
        wakeups: yield* Wakeups,
        faults: yield* Faults,
        quota: yield* makeEventQuota
      }
      const counts = new RejectionCounts()
      return Events.of({
        receive: (arrival, watches = false) => receive(context, arrival, watches),
        reject: (trigger, reason, headers) => reject(context, counts, trigger, reason, headers)
      })
    })
  )
