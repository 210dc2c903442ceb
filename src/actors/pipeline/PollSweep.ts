/**
 * Polls connected systems: once for each connection and event, not for each trigger. The first poll is the baseline. The
 * events of a poll are committed before what it has seen, each with a claim that names the poll, so that a poll that is
 * repeated after a crash loses and repeats nothing. Contract: connector definition, `poll`.
 */
import { Clock, Context, Duration, Effect, Option } from "effect"
import { everyText } from "../../domain/AskedTexts.js"
import type { ConnectorDefinition } from "../../domain/connector/Definition.js"
import { spacesFor } from "../../domain/event/EventRouting.js"
import { keepIntegers } from "../../domain/connector/request/ExactIntegers.js"
import { valueAt } from "../../domain/expression/Path.js"
import { missingItems, pageItems } from "../../domain/connector/request/Pagination.js"
import { renderAll } from "../../domain/expression/Template.js"
import type { EventDefinition } from "../../domain/connector/Webhook.js"
import type { Unavailable } from "../../domain/Failure.js"
import type { ConnectionId, OrganisationId } from "../../domain/Ids.js"
import type { Json } from "../../domain/Json.js"
import { outwardPlaces, pollLimits } from "../../domain/Limits.js"
import {
  isAbout,
  type ItemChange,
  type ListedItem,
  polledType,
  pollDifference,
  pollPause
} from "../../domain/trigger/Poll.js"
import { parseProviderTime } from "../../domain/Time.js"
import { leasedTask, type SweepTools } from "../LeasedWork.js"
import { holdAnswers, HeldBytes } from "../ports/HeldBytes.js"
import { makeAskedTexts } from "../AskedTexts.js"
import { makeServiceCalls, type ServiceCallResult, UnusableAction } from "./ServiceCalls.js"
import { type CallableConnection, ConnectionReads } from "../ports/connection/ConnectionReads.js"
import { Connectors } from "../ports/connection/Connectors.js"
import { Digests } from "../ports/Digests.js"
import { TriggerReads } from "../ports/event/Triggers.js"
import { Events } from "../ports/event/Events.js"
import type { StoredJob } from "../ports/FailedJobs.js"
import type { FindWork, LeasedWork } from "../ports/LeasedWork.js"
import { ShareOwners } from "../ports/organisation/ShareOwners.js"

/** A poll that this node leased. Its partner is the connection. */
export interface DuePoll extends StoredJob {
  readonly organisationId: OrganisationId
  readonly connectionId: ConnectionId
  readonly connector: string
  /** The id of the connector's event. */
  readonly event: string
  /** How many polls were committed; 0: the next one is the baseline. */
  readonly seq: number
  readonly failures: number
}

/** Stores polls and the items that they have seen. */
export class Polls extends Context.Tag("svc/Polls")<
  Polls,
  Pick<LeasedWork<DuePoll>, "lease" | "renew"> & {
    readonly find: FindWork
    /** Creates the polls of new triggers and connections, and deletes those of deleted triggers. */
    readonly reconcile: Effect.Effect<void, Unavailable>
    /** The hashes of all seen items, by key. */
    readonly seen: (poll: DuePoll) => Effect.Effect<ReadonlyMap<string, string>, Unavailable>
    /** Stores what the poll saw, unless another node has committed it; the events of its changes were committed before. */
    readonly commit: (
      poll: DuePoll,
      change: {
        readonly stored: ReadonlyArray<{ readonly key: string; readonly hash: string }>
        readonly removed: ReadonlyArray<string>
        readonly pauseSeconds: number
      }
    ) => Effect.Effect<void, Unavailable>
    /** Notes that a poll failed. */
    readonly fail: (poll: DuePoll, error: string, pauseSeconds: number) => Effect.Effect<void, Unavailable>
    /** Puts a poll off that could not be made, without counting a failure. */
    readonly postpone: (poll: DuePoll, pauseSeconds: number) => Effect.Effect<void, Unavailable>
  }
>() {}

const sweepInterval = Duration.seconds(2)
const eventsAtOnce = 8
/** After this time a poll is tried again whose connector or event is gone. */
const missingPauseSeconds = 300

/** What is polled. */
interface Polled {
  readonly definition: ConnectorDefinition
  readonly connection: CallableConnection
  readonly event: EventDefinition
  readonly rule: NonNullable<EventDefinition["poll"]>
}

const timeAt = (payload: Json, path: string): number | null => {
  const value = valueAt(payload, path)
  return typeof value === "string" ? (parseProviderTime(value) ?? null) : null
}

const make = Effect.fnUntraced(function* ({ placed }: SweepTools<"polls">) {
  const ledger = yield* HeldBytes
  const shareOwners = yield* ShareOwners
  const polls = yield* Polls
  const connectors = yield* Connectors
  const connections = yield* ConnectionReads
  const triggers = yield* TriggerReads
  const events = yield* Events
  const digests = yield* Digests
  const call = yield* makeServiceCalls
  const askedTextsOf = yield* makeAskedTexts

  const findPolled = Effect.fnUntraced(function* (due: DuePoll) {
    const definition = Option.getOrUndefined(yield* connectors.find(due.organisationId, due.connector))
    const connection = Option.getOrUndefined(yield* connections.byId(due.organisationId, due.connectionId))
    const event = definition?.events.find(({ id }) => id === due.event)
    const rule = event?.poll
    return definition === undefined || connection === undefined || event === undefined || rule === undefined
      ? undefined
      : ({ definition, connection, event, rule } satisfies Polled)
  })

  /** All items of a listing, page by page; incomplete beyond the limits of pages and items. */
  const listItems = Effect.fnUntraced(function* (due: DuePoll, { connection, definition, rule }: Polled) {
    const items: Array<ListedItem> = []
    let args: Json | null = renderAll(rule.args ?? {}, { connection: { config: connection.config } })
    for (let page = 0; args !== null; page++) {
      if (page >= pollLimits.pages || items.length >= pollLimits.items) return { items, isComplete: false }
      const { action, exact, next, result }: ServiceCallResult = yield* call({
        organisationId: due.organisationId,
        connection,
        definition,
        action: rule.action,
        args,
        idempotencyKey: `poll|${due.connectionId}|${due.event}|${due.seq}|${page}`
      })
      // Taken as empty, it would say that everything was removed.
      const missing = missingItems(action, result)
      if (missing !== undefined) return yield* new UnusableAction({ message: missing })
      const exactItems = pageItems(action, exact)
      for (const [at, item] of pageItems(action, result).entries())
        items.push({ item, exact: keepIntegers(item, exactItems[at] ?? item, everyText).value })
      args = next
      if (next !== null) yield* polls.renew(due)
    }
    return { items: items.slice(0, pollLimits.items), isComplete: items.length <= pollLimits.items }
  })

  /** Commits the event of one change, one for each workspace with active triggers on it. */
  const emit = Effect.fnUntraced(function* (
    due: DuePoll,
    { connection, definition, event, rule }: Polled,
    { action, exact, hash, key, payload }: ItemChange
  ) {
    const { connectionId, organisationId, seq } = due
    const { customerId } = connection
    const listening = yield* triggers.ofConnector(organisationId, definition.slug, event.id)
    const occurredAt = rule.changedAt === undefined ? null : timeAt(payload, rule.changedAt)
    for (const spaceId of spacesFor({ connectionId, customerId }, listening)) {
      const inSpace = listening.filter((trigger) => trigger.spaceId === spaceId)
      const kept = keepIntegers(payload, exact, payload === exact ? undefined : yield* askedTextsOf(inSpace))
      yield* events.receive({
        organisationId,
        spaceId,
        source: "poll",
        trigger: null,
        connector: definition.slug,
        connectorEvent: event.id,
        connectionId,
        customerId,
        type: polledType(definition.slug, event, action),
        entity: event.entity ?? null,
        action,
        occurredAt,
        payload: kept.value,
        rounded: kept.rounded,
        headers: { "x-svc-event": event.id, "x-svc-event-action": action },
        deduplication: { value: [connectionId, event.id, seq, key, hash, spaceId].join("|"), deliveryId: null },
        traceparent: null
      })
    }
  })

  const pollOnce = Effect.fnUntraced(function* (due: DuePoll, polled: Polled) {
    const { event, rule } = polled
    const { isComplete, items } = yield* listItems(due, polled)
    const seen = yield* polls.seen(due)
    const { changes, removed, stored } = pollDifference(rule, items, seen, isComplete, digests.sha256Hex)
    if (due.seq > 0)
      yield* Effect.forEach(
        changes.filter(({ action }) => isAbout(event.id, action)),
        (change) => emit(due, polled, change),
        { concurrency: eventsAtOnce, discard: true }
      )
    yield* polls.commit(due, { stored, removed, pauseSeconds: rule.intervalSeconds })
  })

  /** Polls, and notes a failure of the provider with the poll; fails only if the service's own stores do. */
  const handle = Effect.fnUntraced(function* (due: DuePoll) {
    const polled = yield* findPolled(due)
    if (polled === undefined) return yield* polls.postpone(due, missingPauseSeconds)
    const { intervalSeconds } = polled.rule
    const fail = (message: string) => polls.fail(due, message, pollPause(intervalSeconds, due.failures + 1))
    yield* pollOnce(due, polled).pipe(
      Effect.catchTags({
        Postponed: ({ at }) =>
          Effect.flatMap(Clock.currentTimeMillis, (now) => polls.postpone(due, Math.max(1, (at - now) / 1_000))),
        ProviderRefused: ({ failure }) => fail(failure.message),
        ConnectionNotActive: () => polls.postpone(due, intervalSeconds),
        NotFound: () => polls.postpone(due, intervalSeconds),
        InvalidState: ({ message }) => fail(message),
        UnusableAction: ({ message }) => fail(message)
      })
    )
  })

  const pass = yield* placed("polls", {
    work: polls,
    run: (due: DuePoll) =>
      Effect.flatMap(shareOwners.of(due.organisationId), (owner) => holdAnswers(ledger, owner, handle(due)))
  })
  return { pass, reconcile: polls.reconcile }
})

export const task = leasedTask(
  { name: "events.poll", interval: sweepInterval, places: { polls: outwardPlaces.polls } },
  make
)
