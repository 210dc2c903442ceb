/**
 * The port `Events`. An accepted event is committed, with its place in the start queue and the claim
 * that recognises its repetitions, before its sender gets an answer. Contract: events.
 */
import { Cause, Clock, Duration, Effect, Layer, Option } from "effect"
import {
  deduplicationWindow,
  type Event,
  type EventFacts,
  eventRetention,
  idempotencyText,
  priorityOf,
  signatureText
} from "../../domain/event/Event.js"
import { laneOf, matchRoutes } from "../../domain/event/EventRouting.js"
import { InvalidState, NotFound, type Unavailable } from "../../domain/Failure.js"
import type { ExecutionId } from "../../domain/Ids.js"
import { accountOf } from "../../domain/organisation/Organisation.js"
import { plans } from "../../domain/organisation/Plan.js"
import { startsAtOnce } from "../../domain/run/StartPolicy.js"
import type { Trigger } from "../../domain/trigger/Trigger.js"
import { Patterns } from "../Patterns.js"
import { Digests } from "../ports/Digests.js"
import { type EventChange, EventJournal } from "../ports/event/EventJournal.js"
import { EventRuns } from "../ports/event/EventRuns.js"
import { type Arrival, Events, type Reception } from "../ports/event/Events.js"
import { Faults } from "../ports/Faults.js"
import { Identifiers } from "../ports/Identifiers.js"
import { IntakeLoad } from "../ports/event/IntakeLoad.js"
import { type AppendFailure, type Claim, notStored } from "../ports/run/Journal.js"
import { noPastLeases } from "../ports/event/OpenEvents.js"
import { type KnownOrganisation, OrganisationReads } from "../ports/organisation/OrganisationReads.js"
import { Ownership } from "../ports/Ownership.js"
import { StartQueue } from "../ports/run/StartQueue.js"
import { TriggerReads } from "../ports/event/Triggers.js"
import { Wakeups } from "../ports/run/Wakeups.js"
import { Dispatch } from "./Dispatch.js"
import { make as makeEventQuota, unitsOf } from "./EventQuota.js"
import { triggersOf } from "../EventTriggers.js"
import { RejectionCounts } from "./RejectionCounts.js"

export interface EventsOptions {
  /** This node may dispatch an event that it receives while nothing waits, without the way through the start queue. */
  readonly dispatchesAtOnce: boolean
}

const skipOf = ({ ignoredBecause }: Arrival) => (ignoredBecause === undefined ? {} : { ignoredBecause })
/** What a replay chose of the routes and versions. */
const choiceOf = ({ replay }: Arrival): Pick<EventFacts, "routes" | "versions"> => ({
  ...(replay?.routes === undefined ? {} : { routes: replay.routes }),
  ...(replay?.versions === undefined ? {} : { versions: replay.versions })
})
const narrowingOf = ({ narrowed }: Arrival) => (narrowed === undefined ? {} : { onlyTriggers: narrowed.triggers })
const roundingOf = ({ rounded }: Arrival) => (rounded === undefined ? {} : { rounded })

/** What commits with the event. */
const membersOf = ({ replay, tick }: Arrival): Pick<EventChange, "replays" | "tick"> => ({
  ...(tick === undefined ? {} : { tick }),
  ...(replay?.letter === undefined ? {} : { replays: replay.letter })
})

export const layer = (options: EventsOptions) =>
  Layer.effect(
    Events,
    Effect.gen(function* () {
      const identifiers = yield* Identifiers
      const digests = yield* Digests
      const triggers = yield* TriggerReads
      const patterns = yield* Patterns
      const organisations = yield* OrganisationReads
      const journal = yield* EventJournal
      const runs = yield* EventRuns
      const dispatch = yield* Dispatch
      const ownership = yield* Ownership
      const queue = yield* StartQueue
      const wakeups = yield* Wakeups
      const faults = yield* Faults
      const load = yield* IntakeLoad
      const quota = yield* makeEventQuota
      const counts = new RejectionCounts()

      const eventOf = (arrival: Arrival, organisation: KnownOrganisation, now: number): Event => {
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
          occurredAt: replay === undefined ? occurredAt : null,
          scope: arrival.narrowed?.scope
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
            ...skipOf(arrival),
            ...roundingOf(arrival),
            headers: arrival.headers,
            traceparent: arrival.traceparent,
            replayOf: replay?.of ?? null,
            replays: replay?.count ?? 0,
            ...narrowingOf(arrival),
            ...choiceOf(arrival)
          }
        }
      }

      /** The claim that makes a later arrival of the same event a repetition. */
      const claimOf = (arrival: Arrival, event: Event): Claim | undefined => {
        if (arrival.claim !== undefined || arrival.replay !== undefined) return arrival.claim
        const { receivedAt, record } = event
        const window = deduplicationWindow(arrival.deduplication, arrival.occurredAt)
        if (window === undefined) return undefined
        const signature = signatureText({ ...event, occurredAt: arrival.occurredAt }, arrival.deduplication)
        return {
          scope: "event",
          key: record.idempotencyKey,
          hash: record.idempotencyKey,
          expiresAt: receivedAt + Duration.toMillis(window),
          ...(signature === undefined ? {} : { signatureKey: digests.sha256Hex(signature) })
        }
      }

      /** Why an event is not stored. */
      const refusedCommit = (failure: AppendFailure): Effect.Effect<never, InvalidState | Unavailable> => {
        if (failure._tag === "Fenced")
          return new InvalidState({ state: "replayed", message: "the dead letter was replayed or discarded already" })
        const refused = Effect.fail(notStored(failure))
        return failure._tag === "ChangeRefused"
          ? Effect.zipRight(Effect.logError("event.refused", Cause.fail(failure)), refused)
          : refused
      }

      /** Records an event as a repetition of the first. */
      const recordDuplicate = (event: Event, first: string): Effect.Effect<Reception, InvalidState | Unavailable> => {
        const { organisationId, record, spaceId } = event
        const duplicate = {
          ...event,
          status: "duplicate",
          payload: null,
          record: { ...record, duplicateOf: first }
        } as const
        return journal
          .append({ organisationId, spaceId, records: { event: duplicate } })
          .pipe(Effect.as<Reception>({ _tag: "Duplicate", eventId: event.id, first }), Effect.catchAll(refusedCommit))
      }

      /** Commits the change; a repetition is recorded as one. */
      const commit = (
        event: Event,
        change: Pick<EventChange, "receives" | "records" | "replays" | "tick">,
        committed: Reception
      ): Effect.Effect<Reception, InvalidState | Unavailable> => {
        const { organisationId, spaceId } = event
        return Effect.matchEffect(journal.append({ organisationId, spaceId, ...change }), {
          onSuccess: ({ isHeld }) =>
            Effect.succeed<Reception>(isHeld ? { _tag: "Held", eventId: event.id } : committed),
          onFailure: (failure) =>
            failure._tag === "ClaimTaken" ? recordDuplicate(event, failure.target) : refusedCommit(failure)
        })
      }

      /** Records an event that no route takes. */
      const recordIgnored = (
        event: Event,
        { claim, ...together }: Pick<EventChange, "replays" | "tick"> & { readonly claim?: Claim }
      ) => {
        const records = { event: { ...event, status: "ignored" as const }, ...(claim === undefined ? {} : { claim }) }
        return commit(event, { records, ...together }, { _tag: "Ignored", eventId: event.id })
      }

      const receive = Effect.fnUntraced(function* (arrival: Arrival, watches: boolean) {
        const organisation = Option.getOrUndefined(yield* organisations.find(arrival.organisationId))
        if (organisation === undefined) return yield* new NotFound({ what: "organisation" })
        const event = eventOf(arrival, organisation, yield* Clock.currentTimeMillis)
        const claim = claimOf(arrival, event)
        const claims = claim === undefined ? {} : { claim }
        const together = membersOf(arrival)
        const candidates = arrival.trigger === null ? yield* triggersOf(triggers, event) : [arrival.trigger]
        const matched =
          arrival.ignoredBecause === undefined
            ? yield* patterns.evaluate(event.organisationId, (patterns) => matchRoutes(candidates, event, patterns))
            : []
        yield* faults.at("parsed")
        if (matched.length === 0) return yield* recordIgnored(event, { ...claims, ...together })
        const units = unitsOf(arrival, matched.length)
        const { allowance, reason } = yield* quota.decide(organisation, arrival, units)
        const lane = arrival.trigger === null ? null : laneOf(arrival.trigger, event.payload, digests.sha256Hex)
        const isDirect =
          options.dispatchesAtOnce &&
          startsAtOnce({
            isHeld: reason !== undefined,
            hasLane: lane !== null,
            isOrganisationActive: organisation.status === "active",
            isBehind: wakeups.hasQueued(event.priority),
            isAcceptingFirst: load.comesFirst()
          })
        const { concurrentRuns } = plans[organisation.plan]
        const accountId = accountOf(organisation)
        if (isDirect) yield* runs.makeRoom(accountId, concurrentRuns)
        const slot: ExecutionId | undefined = isDirect ? runs.reserve(accountId, concurrentRuns, false) : undefined
        // Of several runs none is the answer.
        const watch = watches && matched.length === 1 ? dispatch.watchEnd(event.id) : undefined
        const counted: Event = { ...event, record: { ...event.record, units } }
        const received: Event =
          reason === undefined
            ? counted
            : { ...counted, status: "held", record: { ...counted.record, heldBecause: reason } }
        const reception: Reception =
          reason === undefined ? { _tag: "Accepted", eventId: event.id, watch } : { _tag: "Held", eventId: event.id }
        const place = {
          shard: ownership.shardOf(event.id),
          lane,
          held: reason !== undefined,
          leasedBy: slot === undefined ? null : queue.node
        }
        const outcome = yield* commit(
          event,
          {
            receives: { event: received, queue: place, ...claims, ...(allowance === undefined ? {} : { allowance }) },
            ...together
          },
          reception
        ).pipe(
          Effect.onExit((exit) =>
            Effect.sync(() => {
              const isAccepted = exit._tag === "Success" && exit.value._tag === "Accepted"
              if (!isAccepted) watch?.forget()
              if (slot === undefined) return
              if (isAccepted)
                dispatch.dispatch({ event, claims: 1, past: noPastLeases, lane, matched, slot, accountId })
              else runs.release(slot)
            })
          )
        )
        yield* faults.at("committed")
        return outcome
      })

      const reject = Effect.fnUntraced(function* (
        trigger: Trigger,
        reason: string,
        headers: { readonly [name: string]: string }
      ): Effect.fn.Return<void, NotFound | InvalidState | Unavailable> {
        const now = yield* Clock.currentTimeMillis
        if (!counts.take(trigger.id, now)) return
        const organisation = Option.getOrUndefined(yield* organisations.find(trigger.organisationId))
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
        const event = eventOf(arrival, organisation, now)
        const rejected: Event = { ...event, status: "rejected", record: { ...event.record, rejectedBecause: reason } }
        yield* commit(event, { records: { event: rejected } }, { _tag: "Ignored", eventId: event.id })
      })

      return Events.of({
        receive: (arrival, watches = false) =>
          Effect.suspend(() => {
            load.begin()
            return Effect.ensuring(
              receive(arrival, watches),
              Effect.sync(() => load.end())
            )
          }),
        reject
      })
    })
  )
