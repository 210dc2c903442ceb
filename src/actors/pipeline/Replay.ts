/** The port `Replays`. */
import { Effect, Layer, Option } from "effect"
import { replayPriority } from "../../domain/event/Event.js"
import type { Failure, Forbidden, Unavailable } from "../../domain/Failure.js"
import type { TriggerId } from "../../domain/Ids.js"
import { narrowTriggers } from "../EventTriggers.js"
import { DeadLetters, type DeadLetterSource } from "../ports/event/DeadLetters.js"
import type { ReplaySource } from "../ports/event/EventReads.js"
import { type Arrival, Events } from "../ports/event/Events.js"
import {
  type LetterOptions,
  madeOf,
  notPending,
  type ReplayedLetter,
  type ReplayHome,
  type ReplayOptions,
  Replays
} from "../ports/event/Replays.js"
import { TriggerReads } from "../ports/event/Triggers.js"

/** The arrival of a replay of `of`. */
const arrivalOf = (
  triggers: TriggerReads["Type"],
  home: ReplayHome,
  source: Omit<ReplaySource, "id">,
  replay: ReplayOptions & Pick<NonNullable<Arrival["replay"]>, "isRequested" | "letter" | "of">
): Effect.Effect<Arrival, Forbidden | Unavailable> => {
  const { connector, connectionId, customerId, payload, priority, record, triggerId, type } = source
  const { scope, ...asked } = replay
  const finding =
    triggerId === null ? Effect.succeed(null) : Effect.map(triggers.byId(triggerId as TriggerId), Option.getOrNull) // as it is stored
  const narrowing =
    scope === undefined
      ? Effect.succeed(record.onlyTriggers)
      : narrowTriggers(triggers, { ...home, ...source }, scope, replay.routes)
  return Effect.map(Effect.all([finding, narrowing]), ([trigger, onlyTriggers]) => ({
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
    rounded: record.rounded,
    headers: record.headers,
    deduplication: { value: null, deliveryId: null },
    traceparent: record.traceparent,
    ...(onlyTriggers === undefined ? {} : { narrowed: { triggers: onlyTriggers } }),
    replay: { ...asked, count: record.replays + 1, priority: replayPriority(priority) }
  }))
}

export const layer = Layer.effect(
  Replays,
  Effect.gen(function* () {
    const triggers = yield* TriggerReads
    const letters = yield* DeadLetters
    const events = yield* Events

    const replayLetter = Effect.fnUntraced(function* (
      home: ReplayHome,
      source: DeadLetterSource,
      { isRequested, routes, scope }: LetterOptions
    ): Effect.fn.Return<ReplayedLetter, Failure> {
      const { deliveryId, eventId, id, record, routeId, status } = source
      if (status !== "pending" && status !== "replaying") return yield* notPending(status)
      if (deliveryId !== null || record === null) {
        if (!(yield* letters.resend(home, id))) return yield* notPending("replayed")
        return { id, eventId: null, status: "resent" }
      }
      const only = routes ?? (routeId === null ? undefined : [routeId])
      const arrival = yield* arrivalOf(
        triggers,
        home,
        { ...source, record },
        {
          of: eventId ?? id,
          letter: id,
          isRequested,
          ...(scope === undefined ? {} : { scope }),
          ...(only === undefined ? {} : { routes: only })
        }
      )
      return { id, ...madeOf(yield* events.receive(arrival)) }
    })

    return Replays.of({
      event: (home, source, options) =>
        Effect.flatMap(arrivalOf(triggers, home, source, { ...options, of: source.id, isRequested: true }), (arrival) =>
          Effect.map(events.receive(arrival), madeOf)
        ),
      letter: replayLetter
    })
  })
)
