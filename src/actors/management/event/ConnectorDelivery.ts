/** Receives deliveries to webhooks of connectors: verifies the raw bytes, parses them, and takes their events apart. */
import { Clock, Effect, Either, Redacted } from "effect"
import { everyText } from "../../../domain/AskedTexts.js"
import type { ConnectorDefinition } from "../../../domain/connector/Definition.js"
import type { EventDefinition, WebhookDefinition } from "../../../domain/connector/Webhook.js"
import type { EventAction } from "../../../domain/event/Event.js"
import { eventHeaders } from "../../../domain/event/EventHeaders.js"
import { type DeliveryProblem, type VerifiedDelivery, verifyDelivery } from "../../../domain/event/InboundWebhook.js"
import {
  bodyChallenge,
  contractOfDelivery,
  type DeliveredEvent,
  deliveredEvents
} from "../../../domain/event/WebhookPayload.js"
import { type Failure, type Unavailable, ValidationFailed } from "../../../domain/Failure.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import { hasLongDigits } from "../../../domain/LargeIntegers.js"
import { deliveredEventsLimit } from "../../../domain/Limits.js"
import type { Trigger } from "../../../domain/trigger/Trigger.js"
import { Patterns } from "../../Patterns.js"
import { Digests } from "../../ports/Digests.js"
import type { Arrival, Reception } from "../../ports/event/Events.js"
import { makeAskedTexts } from "../../AskedTexts.js"
import { refusalOf, type WebhookDelivery, type WebhookOutcome } from "./WebhookDelivery.js"

/** A webhook of a connector in an organisation. */
export interface ConnectorWebhook {
  readonly organisationId: OrganisationId
  readonly definition: ConnectorDefinition
  readonly webhook: WebhookDefinition
}

/** What was delivered, verified. */
export interface ReadDelivery {
  readonly verified: VerifiedDelivery
  readonly events: ReadonlyArray<DeliveredEvent>
  /** Those that its events keep. */
  readonly headers: Arrival["headers"]
}

/** What the kinds of a connector's webhooks decide. */
export interface DeliveryReceiver {
  /** Without a secret no delivery is verified. */
  readonly secrets: Effect.Effect<ReadonlyArray<Redacted.Redacted>, Failure>
  /** The triggers that its events are for. */
  readonly listening: Effect.Effect<ReadonlyArray<Trigger>, Unavailable>
  /** Records a delivery that is not verified. */
  readonly reject: (problem: DeliveryProblem, headers: Arrival["headers"]) => Effect.Effect<void, Failure>
  readonly accept: (delivery: ReadDelivery) => Effect.Effect<ReadonlyArray<Reception>, Failure>
}

const tooManyEvents = (count: number): ValidationFailed => {
  const message = `has ${count} events: send at most ${deliveredEventsLimit} in one delivery`
  return new ValidationFailed({
    code: "VALIDATION_FAILED",
    message: `the delivery ${message}`,
    details: [{ path: "", code: "OUT_OF_RANGE", message }]
  })
}

/** Makes the function that receives a delivery to a connector's webhook. */
export const makeConnectorReceiver = Effect.gen(function* () {
  const digests = yield* Digests
  const compiled = yield* Patterns
  const askedTextsOf = yield* makeAskedTexts

  return Effect.fnUntraced(function* (
    { organisationId, webhook }: ConnectorWebhook,
    receiver: DeliveryReceiver,
    { body, headers, parse }: WebhookDelivery
  ): Effect.fn.Return<WebhookOutcome, Failure> {
    const kept = eventHeaders(headers, webhook.verify)
    const secrets = (yield* receiver.secrets).map(Redacted.value)
    const nowMillis = yield* Clock.currentTimeMillis
    const verified = verifyDelivery(webhook.verify, secrets, { headers, body, nowMillis }, digests)
    const reject = (problem: DeliveryProblem) =>
      Effect.zipRight(receiver.reject(problem, kept), Effect.fail(refusalOf(problem)))
    // Providers challenge an address before they sign anything.
    if (Either.isLeft(verified) && (verified.left !== "unsigned" || webhook.challenge === undefined))
      return yield* reject(verified.left)
    const read = yield* parse(
      hasLongDigits(body)
        ? yield* askedTextsOf(yield* receiver.listening, (contract) => contractOfDelivery(webhook, contract))
        : undefined
    )
    const { payload, rounded } = read
    const exact = rounded === undefined ? read : yield* parse(everyText)
    const patterns = yield* compiled.ofCondition(organisationId, webhook.challenge?.when)
    const challenge = bodyChallenge(webhook.challenge, payload, patterns)
    if (challenge !== undefined) return { _tag: "Challenged", challenge }
    if (Either.isLeft(verified)) return yield* reject(verified.left)
    const events = deliveredEvents(webhook, { payload, rounded, exact: exact.payload }, headers)
    if (events.length > deliveredEventsLimit) return yield* tooManyEvents(events.length)
    const receptions = yield* receiver.accept({ verified: verified.right, events, headers: kept })
    return receptionOf(receptions) ?? { _tag: "Unmatched" }
  })
})

const verbs: { readonly [verb in string]?: EventAction } = {
  created: "created",
  updated: "updated",
  changed: "updated",
  deleted: "deleted",
  removed: "deleted"
}

const actionOf = (eventId: string): EventAction => {
  const verb = eventId.slice(eventId.lastIndexOf(".") + 1)
  return (Object.hasOwn(verbs, verb) ? verbs[verb] : undefined) ?? "other"
}

/** The members of an arrival that come from the connector's event and the delivery. */
export const connectorArrival = (
  { slug }: Pick<ConnectorDefinition, "slug">,
  event: EventDefinition,
  delivered: DeliveredEvent,
  { headers, verified }: ReadDelivery
) =>
  ({
    source: "app_event",
    connector: slug,
    connectorEvent: event.id,
    type: `${slug}.${event.id}`,
    entity: event.entity ?? null,
    action: actionOf(event.id),
    occurredAt: verified.occurredAt,
    payload: delivered.payload,
    rounded: delivered.rounded,
    headers,
    traceparent: headers["traceparent"] ?? null
  }) satisfies Partial<Arrival>

/** The answer to a delivery with several events: the result of the first one that starts a run. */
const receptionOf = (receptions: ReadonlyArray<Reception>): Reception | undefined =>
  receptions.find(({ _tag }) => _tag === "Accepted") ?? receptions.find(({ _tag }) => _tag === "Held") ?? receptions[0]
