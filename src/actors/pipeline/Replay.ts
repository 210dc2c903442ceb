/** Replays events and dead letters: as new events, which are never taken for repetitions. Contract: replay. */
import { Effect, Option } from "effect"
import { replayPriority } from "../../domain/Event.js"
import { type Failure, InvalidState } from "../../domain/Failure.js"
import type { EventId, OrganisationId, SpaceId, TriggerId } from "../../domain/Ids.js"
import { DeadLetters, type DeadLetterSource } from "../ports/DeadLetters.js"
import type { ReplaySource } from "../ports/EventReads.js"
import { TriggerReads } from "../ports/Triggers.js"
import { Events, type Reception } from "./Events.js"

/** The answer to a request that makes an event. */
export interface MadeEvent {
  readonly eventId: EventId
  readonly status: "accepted" | "held" | "ignored" | "duplicate"
}

const statusOf: { readonly [Tag in Reception["_tag"]]: MadeEvent["status"] } = {
  Accepted: "accepted",
  Held: "held",
  Ignored: "ignored",
  Duplicate: "duplicate"
}

/** What a request is told of a reception: of a repetition, the first event. */
export const madeOf = (reception: Reception): MadeEvent => ({
  eventId: reception._tag === "Duplicate" ? (reception.first as EventId) : reception.eventId, // the target of its claim
  status: statusOf[reception._tag]
})

/** The new event of a replay; `null` for a delivery, which is sent again as it is. */
export interface ReplayedLetter {
  readonly id: string
  readonly eventId: string | null
  readonly status: "accepted" | "held" | "ignored" | "duplicate" | "resent"
}

/** The workspace that owns what is replayed. */
interface ReplayHome {
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
}

/** Makes the arrival of a replay. */
export const makeReplayArrival = Effect.gen(function* () {
  const triggers = yield* TriggerReads
  return (
    home: ReplayHome,
    source: Omit<ReplaySource, "id">,
    replay: {
      readonly of: string
      readonly routes?: ReadonlyArray<string>
      readonly versions?: { readonly [id: string]: number }
    }
  ) =>
    Effect.gen(function* () {
      const { connector, connectionId, customerId, payload, priority, record, triggerId, type } = source
      const trigger = triggerId === null ? null : Option.getOrNull(yield* triggers.byId(triggerId as TriggerId)) // as it is stored
      return {
        organisationId: home.organisationId,
        spaceId: home.spaceId,
        source: source.source,
        trigger,
        connector,
        ...(record.connectorEvent === undefined ? {} : { connectorEvent: record.connectorEvent }),
        connectionId,
        customerId,
        type,
        entity: record.entity,
        action: record.action,
        occurredAt: record.occurredAt,
        payload,
        headers: record.headers,
        deduplication: { value: null, deliveryId: null },
        traceparent: record.traceparent,
        replay: { ...replay, count: record.replays + 1, priority: replayPriority(priority) }
      }
    })
})

export const notPending = (status: string) =>
  new InvalidState({ state: status, message: "the dead letter was replayed or discarded already" })

/** Makes the function that replays one dead letter. */
export const makeLetterReplay = Effect.gen(function* () {
  const letters = yield* DeadLetters
  const events = yield* Events
  const arrivalOf = yield* makeReplayArrival

  return Effect.fnUntraced(function* (
    home: ReplayHome,
    source: DeadLetterSource,
    routes: ReadonlyArray<string> | undefined
  ): Effect.fn.Return<ReplayedLetter, Failure> {
    const { deliveryId, eventId, id, routeId, status } = source
    if (status !== "pending" && status !== "replaying") return yield* notPending(status)
    if (deliveryId !== null) {
      if (!(yield* letters.resend(home, id))) return yield* notPending("replayed")
      return { id, eventId: null, status: "resent" }
    }
    const only = routes ?? (routeId === null ? undefined : [routeId])
    const arrival = yield* arrivalOf(home, source, {
      of: eventId ?? id,
      ...(only === undefined ? {} : { routes: only })
    })
    const made = madeOf(yield* events.receive({ ...arrival, replay: { ...arrival.replay, letter: id } }))
    return { id, ...made }
  })
})
