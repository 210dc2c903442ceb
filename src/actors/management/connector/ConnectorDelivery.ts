/** Reads a delivery to a webhook of a connector: verifies its raw bytes, parses them, and takes its events apart. */
import { Clock, Effect, Either, Redacted } from "effect"
import { type AskedText, everyText } from "../../../domain/AskedTexts.js"
import type { EventDefinition, WebhookDefinition } from "../../../domain/connector/Webhook.js"
import type { ConnectorDefinition } from "../../../domain/connector/Definition.js"
import type { EventAction } from "../../../domain/event/Event.js"
import { type Failure, type Unavailable, ValidationFailed } from "../../../domain/Failure.js"
import { type DeliveryProblem, type VerifiedDelivery, verifyDelivery } from "../../../domain/event/InboundWebhook.js"
import { deliveredEventsLimit } from "../../../domain/Limits.js"
import { bodyChallenge, type DeliveredEvent, deliveredEvents } from "../../../domain/event/WebhookPayload.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import { Patterns } from "../../Patterns.js"
import { Digests } from "../../ports/Digests.js"
import type { Arrival, Reception } from "../../ports/event/Events.js"
import { SigningArithmetic } from "../../ports/connection/SigningArithmetic.js"
import { refusalOf, type WebhookDelivery } from "../event/WebhookIntake.js"

/** What a delivery is. */
export type DeliveryReading =
  | { readonly _tag: "Challenged"; readonly challenge: string }
  | { readonly _tag: "Events"; readonly verified: VerifiedDelivery; readonly events: ReadonlyArray<DeliveredEvent> }
  /** `problem`: why it is not verified; `undefined`: it is, but cannot be read. */
  | { readonly _tag: "Refused"; readonly problem: DeliveryProblem | undefined; readonly failure: Failure }

const refused = (failure: Failure, problem?: DeliveryProblem): DeliveryReading => ({
  _tag: "Refused",
  problem,
  failure
})

const tooManyEvents = (count: number): ValidationFailed => {
  const message = `has ${count} events: send at most ${deliveredEventsLimit} in one delivery`
  return new ValidationFailed({
    code: "VALIDATION_FAILED",
    message: `the delivery ${message}`,
    details: [{ path: "", code: "OUT_OF_RANGE", message }]
  })
}

/**
 * Makes the function that reads a delivery. Without a secret no delivery is verified. `asked`: where large integers are asked
 * for as text.
 */
export const makeDeliveryReader = Effect.gen(function* () {
  const { equal, hmacBase64 } = yield* Digests
  const { hmac } = yield* SigningArithmetic
  const digests = { equal, hmac, hmacBase64 }
  const compiled = yield* Patterns

  return Effect.fnUntraced(function* (
    organisation: OrganisationId,
    webhook: WebhookDefinition,
    secrets: ReadonlyArray<Redacted.Redacted>,
    { body, headers, parse }: WebhookDelivery,
    asked: Effect.Effect<AskedText | undefined, Unavailable>
  ): Effect.fn.Return<DeliveryReading, Unavailable> {
    const nowMillis = yield* Clock.currentTimeMillis
    const verified = verifyDelivery(webhook.verify, secrets.map(Redacted.value), { headers, body, nowMillis }, digests)
    const problem = Either.isLeft(verified) ? verified.left : undefined
    // Providers challenge an address before they sign anything.
    const mayChallenge = problem === "unsigned" && webhook.challenge !== undefined
    if (problem !== undefined && !mayChallenge) return refused(refusalOf(problem), problem)
    const read = parse(yield* asked)
    if (read instanceof Error) return refused(read)
    const { payload, rounded } = read
    const exact = rounded === undefined ? read : parse(everyText)
    if (exact instanceof Error) return refused(exact)
    const patterns = yield* compiled.ofCondition(organisation, webhook.challenge?.when)
    const challenge = bodyChallenge(webhook.challenge, payload, patterns)
    if (challenge !== undefined) return { _tag: "Challenged", challenge }
    if (Either.isLeft(verified)) return refused(refusalOf(verified.left), verified.left)
    const events = deliveredEvents(webhook, { payload, rounded, exact: exact.payload }, headers)
    return events.length > deliveredEventsLimit
      ? refused(tooManyEvents(events.length))
      : { _tag: "Events", verified: verified.right, events }
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
  { occurredAt }: VerifiedDelivery,
  headers: Arrival["headers"]
) =>
  ({
    source: "app_event",
    connector: slug,
    connectorEvent: event.id,
    type: `${slug}.${event.id}`,
    entity: event.entity ?? null,
    action: actionOf(event.id),
    occurredAt,
    payload: delivered.payload,
    rounded: delivered.rounded,
    headers,
    traceparent: headers["traceparent"] ?? null
  }) satisfies Partial<Arrival>

/** The answer to a delivery with several events: the result of the first one that starts a run. */
export const receptionOf = (receptions: ReadonlyArray<Reception>): Reception | undefined =>
  receptions.find(({ _tag }) => _tag === "Accepted") ?? receptions.find(({ _tag }) => _tag === "Held") ?? receptions[0]
