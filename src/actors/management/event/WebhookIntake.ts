/**
 * Use case of webhooks: finds the trigger of a URL, checks who sends, and accepts the event. No API key is involved, so
 * headers choose a customer only behind the trigger's own access key. Contract: webhook receiver.
 */
import { Clock, Context, Duration, Effect, Either, Layer, Option, Redacted } from "effect"
import { eventHeaders } from "../../../domain/event/EventHeaders.js"
import { deduplicationValue } from "../../../domain/event/EventRouting.js"
import { type AskedText, everyText } from "../../../domain/AskedTexts.js"
import type { RoundedIntegers } from "../../../domain/LargeIntegers.js"
import type { WebhookVerification } from "../../../domain/connector/Webhook.js"
import { customerRefusal } from "../../../domain/organisation/Customer.js"
import {
  type Failure,
  Forbidden,
  InvalidRequest,
  InvalidState,
  NotFound,
  Unauthorized
} from "../../../domain/Failure.js"
import type { TriggerId } from "../../../domain/Ids.js"
import { type DeliveryProblem, verifyDelivery } from "../../../domain/event/InboundWebhook.js"
import type { Json } from "../../../domain/Json.js"
import { bodyBytes, largeWebhookBytes, webhookResultTimeout } from "../../../domain/Limits.js"
import { plans } from "../../../domain/organisation/Plan.js"
import { parseCustomer } from "../../../domain/Tenancy.js"
import type { Trigger } from "../../../domain/trigger/Trigger.js"
import { triggerOfWebhook } from "../../../domain/trigger/TriggerView.js"
import { bodyChallenge, slackChallenge } from "../../../domain/event/WebhookPayload.js"
import { CustomerReads, type KnownCustomer } from "../../ports/organisation/CustomerReads.js"
import { noPatterns } from "../../../domain/connector/expression/PatternProgram.js"
import { Digests } from "../../ports/Digests.js"
import { Events, type Reception } from "../../ports/event/Events.js"
import type { FinishedRun } from "../../ports/run/Journal.js"
import { type KnownOrganisation, OrganisationReads } from "../../ports/organisation/OrganisationReads.js"
import { SigningArithmetic } from "../../ports/connection/SigningArithmetic.js"
import { TriggerReads } from "../../ports/event/Triggers.js"
import { makeAskedTexts } from "../AskedTexts.js"
import { WebhookSecrets } from "../../ports/delivery/WebhookSecrets.js"

/** A webhook that takes requests. */
export interface KnownWebhook {
  readonly trigger: Trigger
  /** Largest body, in bytes. */
  readonly limitBytes: number
}

/** A request to a webhook. */
export interface WebhookDelivery {
  /** Names in lower case. */
  readonly headers: { readonly [name: string]: string }
  /** The raw body, which signatures cover. */
  readonly body: Uint8Array
  /** Parses the body; called only for a verified request. `asked`: where large integers are asked for as text. */
  readonly parse: (asked?: AskedText) => WebhookPayload | Failure
}

/** The parsed body of a webhook's request. */
export interface WebhookPayload {
  readonly payload: Json
  /** Its integers that are not those that were sent. */
  readonly rounded: RoundedIntegers | undefined
}

/** What the sender is answered. */
export type WebhookOutcome =
  | Reception
  /** The run of the event has ended while its sender waited. */
  | { readonly _tag: "Ended"; readonly eventId: string; readonly end: FinishedRun }
  /** No event of the delivery is one that its receiver is for; nothing was recorded. */
  | { readonly _tag: "Unmatched" }
  /** The provider checks the URL. */
  | { readonly _tag: "Challenged"; readonly challenge: string }

export class WebhookIntake extends Context.Tag("svc/WebhookIntake")<
  WebhookIntake,
  {
    /** Fails with `NotFound` for an unknown URL, with `InvalidState` for a disabled trigger. */
    readonly find: (space: string, webhookId: string) => Effect.Effect<KnownWebhook, Failure>
    readonly receive: (webhook: KnownWebhook, delivery: WebhookDelivery) => Effect.Effect<WebhookOutcome, Failure>
  }
>() {}

const webhookNotFound = () => new NotFound({ what: "webhook" })

const problemMessage: { readonly [Problem in DeliveryProblem]: string } = {
  stale: "the request's time is more than five minutes away, or it has none",
  unsigned: "the request is not signed: configure the trigger's secret at the sender",
  malformed: "the signature cannot be read",
  mismatch: "the signature is of another secret or of another body",
  no_secret: "the trigger has no usable secret to verify with: store it, or remove verify from the trigger"
}

/** The refusal of a delivery that is not verified. */
export const refusalOf = (problem: DeliveryProblem): Failure =>
  problem === "stale"
    ? new InvalidRequest({ code: "STALE_TIMESTAMP", message: problemMessage.stale })
    : new Unauthorized({ code: "INVALID_SIGNATURE", message: problemMessage[problem] })

/** The refusal of deliveries to an organisation that is suspended. */
export const organisationRefusal = ({ status }: Pick<KnownOrganisation, "status">): Forbidden | undefined =>
  status === "active"
    ? undefined
    : new Forbidden({ code: "FORBIDDEN", message: "the organisation of this webhook is suspended" })

/** The largest body of an organisation's webhooks, in bytes. */
export const webhookBytes = ({ plan }: Pick<KnownOrganisation, "plan">): number =>
  plans[plan].eventsPerDay === null ? largeWebhookBytes : bodyBytes.webhook

/** How a delivery is read to a trigger that verifies none: a time that it sends must be fresh. */
const unsigned: WebhookVerification = { scheme: "none", maxAgeSeconds: 300 }

const accessKeyHeader = "x-svc-access-key"

/** The payload with every large integer as text, where a value of it distinguishes events. */
const exactPayload = ({ webhook }: Trigger, { parse }: WebhookDelivery, read: WebhookPayload): Json => {
  if (read.rounded === undefined || (webhook?.deduplicationKey ?? null) === null) return read.payload
  const exact = parse(everyText)
  return exact instanceof Error ? read.payload : exact.payload
}

/** The headers that the event keeps. */
const keptHeaders = ({ webhook }: Trigger, headers: WebhookDelivery["headers"]) =>
  eventHeaders(headers, webhook?.verify)

export const layer = Layer.effect(
  WebhookIntake,
  Effect.gen(function* () {
    const triggers = yield* TriggerReads
    const organisations = yield* OrganisationReads
    const customers = yield* CustomerReads
    const secrets = yield* WebhookSecrets
    const digests = yield* Digests
    const { hmac } = yield* SigningArithmetic
    const signing = { hmacBase64: digests.hmacBase64, equal: digests.equal, hmac }
    const events = yield* Events
    const askedTextsOf = yield* makeAskedTexts

    const find = Effect.fnUntraced(function* (
      space: string,
      webhookId: string
    ): Effect.fn.Return<KnownWebhook, Failure> {
      const id = triggerOfWebhook(webhookId)
      // Only compared with stored ids.
      const trigger = id === undefined ? undefined : Option.getOrUndefined(yield* triggers.byId(id as TriggerId))
      if (trigger === undefined || trigger.spaceId !== space || trigger.deletedAt !== null || trigger.webhook === null)
        return yield* webhookNotFound()
      if (trigger.status !== "active")
        return yield* new InvalidState({ state: trigger.status, message: "the trigger is disabled: enable it first" })
      const organisation = Option.getOrUndefined(yield* organisations.find(trigger.organisationId))
      if (organisation === undefined) return yield* webhookNotFound()
      const refused = organisationRefusal(organisation)
      return refused === undefined ? { trigger, limitBytes: webhookBytes(organisation) } : yield* refused
    })

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
      const verified = verifyDelivery(verification ?? unsigned, valid, { headers, body, nowMillis }, signing)
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
      const named = parseCustomer((name) => headers[name], trigger.organisationId)
      if (Either.isLeft(named)) return yield* named.left
      if (named.right === null) return null
      const found = yield* customers.find(trigger.organisationId, named.right)
      if (Option.isNone(found)) return yield* new NotFound({ what: "customer" })
      // A suspended customer's events are held; a deleted one has none.
      const refused = customerRefusal(found.value)
      return refused === undefined || found.value.status === "suspended" ? found.value.id : yield* refused
    })

    const receive = Effect.fnUntraced(function* (
      { trigger }: KnownWebhook,
      delivery: WebhookDelivery
    ): Effect.fn.Return<WebhookOutcome, Failure> {
      const refused = checkAccessKey(trigger, delivery.headers)
      if (refused !== undefined) {
        yield* events.reject(trigger, "access_key", keptHeaders(trigger, delivery.headers))
        return yield* refused
      }
      const verified = yield* verify(trigger, delivery)
      const read = delivery.parse(yield* askedTextsOf(delivery.body, [trigger]))
      if (read instanceof Error) return yield* read
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
      const ended = yield* Effect.timeoutOption(watch.ended, Duration.toMillis(webhookResultTimeout)).pipe(
        Effect.ensuring(Effect.sync(watch.forget))
      )
      const end = Option.getOrUndefined(ended)
      return end === undefined ? reception : { _tag: "Ended", eventId, end }
    })

    return WebhookIntake.of({ find, receive })
  })
)
