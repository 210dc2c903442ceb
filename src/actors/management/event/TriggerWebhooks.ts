/**
 * Webhooks of triggers: finds the trigger of a URL, checks who sends, and accepts the event. No API key is involved, so
 * headers choose a customer only behind the trigger's own access key. Contract: webhook receiver.
 */
import { Clock, Duration, Effect, Either, Option, Redacted } from "effect"
import { everyText } from "../../../domain/AskedTexts.js"
import { noPatterns } from "../../../domain/expression/PatternProgram.js"
import type { WebhookVerification } from "../../../domain/connector/Webhook.js"
import { eventHeaders } from "../../../domain/event/EventHeaders.js"
import { deduplicationValue } from "../../../domain/event/EventRouting.js"
import { verifyDelivery } from "../../../domain/event/InboundWebhook.js"
import { bodyChallenge, slackChallenge } from "../../../domain/event/WebhookPayload.js"
import { type Failure, InvalidState, NotFound, Unauthorized, refuseWith } from "../../../domain/Failure.js"
import type { TriggerId } from "../../../domain/Ids.js"
import type { Json } from "../../../domain/Json.js"
import { hasLongDigits } from "../../../domain/LargeIntegers.js"
import { webhookResultTimeout } from "../../../domain/Limits.js"
import { customerRefusal } from "../../../domain/organisation/Customer.js"
import { parseCustomer } from "../../../domain/Tenancy.js"
import type { Trigger } from "../../../domain/trigger/Trigger.js"
import { triggerOfWebhook } from "../../../domain/trigger/TriggerView.js"
import { WebhookSecrets } from "../../ports/delivery/WebhookSecrets.js"
import { Digests } from "../../ports/Digests.js"
import { Ownership } from "../../ports/Ownership.js"
import { Events } from "../../ports/event/Events.js"
import { TriggerReads } from "../../ports/event/Triggers.js"
import { CustomerReads, type KnownCustomer } from "../../ports/organisation/CustomerReads.js"
import { OrganisationReads } from "../../ports/organisation/OrganisationReads.js"
import { makeAskedTexts } from "../../AskedTexts.js"
import { makeRecordedEnd } from "./RecordedEnd.js"
import {
  endOf,
  organisationRefusal,
  refusalOf,
  type Webhook,
  webhookBytes,
  type WebhookDelivery,
  webhookNotFound,
  type WebhookOutcome,
  type WebhookPayload
} from "./WebhookDelivery.js"

/** How a delivery is read to a trigger that verifies none: a time that it sends must be fresh. */
const unsigned: WebhookVerification = { scheme: "none", maxAgeSeconds: 300 }

const accessKeyHeader = "x-svc-access-key"

/** The payload with every large integer as text, where a value of it distinguishes events. */
const exactPayload = ({ webhook }: Trigger, { parse }: WebhookDelivery, read: WebhookPayload): Json => {
  if (read.rounded === undefined || (webhook?.deduplicationKey ?? null) === null) return read.payload
  return Either.getOrElse(parse(everyText), () => read).payload
}

/** The headers that the event keeps. */
const keptHeaders = ({ webhook }: Trigger, headers: WebhookDelivery["headers"]) =>
  eventHeaders(headers, webhook?.verify)

/** Makes the function that finds the webhook of a trigger by its workspace and id. */
export const makeTriggerWebhooks = Effect.gen(function* () {
  const triggers = yield* TriggerReads
  const organisations = yield* OrganisationReads
  const customers = yield* CustomerReads
  const secrets = yield* WebhookSecrets
  const digests = yield* Digests
  const ownership = yield* Ownership
  const recordedEnd = yield* makeRecordedEnd
  const events = yield* Events
  const askedTextsOf = yield* makeAskedTexts

  /** Fails unless the sender has the access key, if the webhook needs one. */
  const checkAccessKey = ({ webhook }: Trigger, headers: WebhookDelivery["headers"]): Unauthorized | undefined => {
    if (webhook === null || webhook.auth === "public") return undefined
    const sent = headers[accessKeyHeader]
    if (
      sent !== undefined &&
      webhook.accessKeyHash !== null &&
      digests.equal(digests.keyHash(sent), webhook.accessKeyHash)
    )
      return undefined
    return new Unauthorized({
      code: "UNAUTHORIZED",
      message: `send the trigger's access key in the header ${accessKeyHeader}`
    })
  }

  /** Verifies the signature; the provider's id and time of the delivery. */
  const verify = Effect.fnUntraced(function* (trigger: Trigger, { body, headers }: WebhookDelivery) {
    const verification = trigger.webhook?.verify ?? null
    const valid = verification === null ? [] : (yield* secrets.ofTrigger(trigger)).map(Redacted.value)
    const nowMillis = yield* Clock.currentTimeMillis
    const verified = verifyDelivery(verification ?? unsigned, valid, { headers, body, nowMillis }, digests)
    if (Either.isRight(verified)) return verified.right
    // Without a signature, only the time can be wrong: one that cannot be read is not within the window.
    const problem = verification === null ? "stale" : verified.left
    yield* events.reject(trigger, problem, keptHeaders(trigger, headers))
    return yield* refusalOf(problem)
  })

  /** The customer for whom the event is: the trigger's, or the one that a sender with the access key names. */
  const customerOf = Effect.fnUntraced(function* (
    trigger: Trigger,
    headers: WebhookDelivery["headers"]
  ): Effect.fn.Return<KnownCustomer["id"] | null, Failure> {
    if (trigger.customerId !== null) return trigger.customerId
    if (trigger.webhook?.auth !== "access_key") return null
    const named = yield* parseCustomer((name) => headers[name], trigger.organisationId)
    if (named === null) return null
    const found = yield* customers.find(trigger.organisationId, named)
    if (Option.isNone(found)) return yield* new NotFound({ what: "customer" })
    // A suspended customer's events are held; a deleted one has none.
    const refused = customerRefusal(found.value)
    return refused === undefined || found.value.status === "suspended" ? found.value.id : yield* refused
  })

  const receive = Effect.fnUntraced(function* (
    trigger: Trigger,
    delivery: WebhookDelivery
  ): Effect.fn.Return<WebhookOutcome, Failure> {
    const refused = checkAccessKey(trigger, delivery.headers)
    if (refused !== undefined) {
      yield* events.reject(trigger, "access_key", keptHeaders(trigger, delivery.headers))
      return yield* refused
    }
    const verified = yield* verify(trigger, delivery)
    const read = yield* delivery.parse(hasLongDigits(delivery.body) ? yield* askedTextsOf([trigger]) : undefined)
    const { payload, rounded } = read
    const challenge = bodyChallenge(slackChallenge, payload, noPatterns)
    if (challenge !== undefined) return { _tag: "Challenged", challenge }
    const customerId = yield* customerOf(trigger, delivery.headers)
    const reception = yield* events.receive(
      {
        organisationId: trigger.organisationId,
        spaceId: trigger.spaceId,
        source: "webhook",
        trigger,
        connector: null,
        connectionId: null,
        customerId,
        type: `webhook.${trigger.id}`,
        entity: null,
        action: "other",
        occurredAt: verified.occurredAt,
        payload,
        rounded,
        headers: keptHeaders(trigger, delivery.headers),
        deduplication: {
          value: deduplicationValue(trigger, exactPayload(trigger, delivery, read)),
          deliveryId: verified.deliveryId,
          signature: verified.signature
        },
        traceparent: delivery.headers["traceparent"] ?? null
      },
      trigger.webhook?.respond === "result"
    )
    if (reception._tag !== "Accepted" || reception.watch === undefined) return reception
    const { eventId, watch } = reception
    const known = Effect.map(watch.ended, (end) => (end === undefined ? undefined : endOf(end)))
    // Another node may drive the run, or take it over.
    const awaited = ownership.isAlone
      ? known
      : Effect.raceFirst(
          Effect.flatMap(known, (found) => (found === undefined ? Effect.never : Effect.succeed(found))),
          recordedEnd(trigger, eventId)
        )
    const ended = yield* Effect.timeoutOption(awaited, Duration.toMillis(webhookResultTimeout)).pipe(
      Effect.ensuring(Effect.sync(watch.forget))
    )
    const end = Option.getOrUndefined(ended)
    return end === undefined ? reception : { _tag: "Ended", eventId, end }
  })

  return Effect.fnUntraced(function* (space: string, webhookId: string): Effect.fn.Return<Webhook, Failure> {
    const id = triggerOfWebhook(webhookId)
    // Only compared with stored ids.
    const trigger = id === undefined ? undefined : Option.getOrUndefined(yield* triggers.byId(id as TriggerId))
    if (trigger === undefined || trigger.spaceId !== space || trigger.deletedAt !== null || trigger.webhook === null)
      return yield* webhookNotFound()
    if (trigger.status !== "active")
      return yield* new InvalidState({ state: trigger.status, message: "the trigger is disabled: enable it first" })
    const organisation = Option.getOrUndefined(yield* organisations.find(trigger.organisationId))
    if (organisation === undefined) return yield* webhookNotFound()
    yield* refuseWith(organisationRefusal(organisation))
    return {
      organisationId: organisation.id,
      limitBytes: webhookBytes(organisation),
      receive: (delivery) => receive(trigger, delivery)
    }
  })
})
