/**
 * Use case of deliveries to subscriptions: finds the subscription by the number in its address, verifies the delivery by the
 * connector's rule, and accepts each of its events for the subscription's trigger. Contract: webhook receiver.
 */
import { Clock, Context, Effect, Either, Layer, Option, Redacted } from "effect"
import type { ConnectorDefinition } from "../../domain/connector/Definition.js"
import type { EventDefinition, WebhookDefinition } from "../../domain/connector/Webhook.js"
import type { EventAction } from "../../domain/Event.js"
import { type Failure, NotFound, Unavailable } from "../../domain/Failure.js"
import { type VerifiedDelivery, verifyDelivery } from "../../domain/InboundWebhook.js"
import type { Json } from "../../domain/Json.js"
import { bodyBytes } from "../../domain/Limits.js"
import { subscriptionPlace } from "../../domain/SubscriptionAddress.js"
import { workflowHeaders } from "../../domain/Tenancy.js"
import type { Trigger } from "../../domain/Trigger.js"
import {
  bodyChallenge,
  type DeliveredEvent,
  deliveredEvents,
  eventDeliveryId,
  eventsOfKey
} from "../../domain/WebhookPayload.js"
import { Events, type Reception } from "../ports/Events.js"
import { WebhookSecrets } from "../ports/WebhookSecrets.js"
import { type CallableConnection, ConnectionReads } from "../ports/ConnectionReads.js"
import { Connectors } from "../ports/Connectors.js"
import { Digests } from "../ports/Digests.js"
import { SigningArithmetic } from "../ports/SigningArithmetic.js"
import { type Subscription, Subscriptions } from "../ports/Subscriptions.js"
import { TriggerReads } from "../ports/Triggers.js"
import { Vault } from "../ports/Vault.js"
import { refusalOf, type WebhookDelivery, type WebhookOutcome } from "./WebhookIntake.js"

/** A subscription that takes deliveries. */
export interface KnownSubscription {
  readonly subscription: Subscription
  readonly trigger: Trigger
  readonly connection: CallableConnection
  readonly definition: ConnectorDefinition
  readonly event: EventDefinition
  readonly webhook: WebhookDefinition
  /** Largest body, in bytes. */
  readonly limitBytes: number
}

export class SubscriptionIntake extends Context.Tag("svc/SubscriptionIntake")<
  SubscriptionIntake,
  {
    /** Fails with `NotFound` for a number that no subscription has, or that one had before. */
    readonly find: (space: string, number: string) => Effect.Effect<KnownSubscription, Failure>
    readonly receive: (known: KnownSubscription, delivery: WebhookDelivery) => Effect.Effect<WebhookOutcome, Failure>
  }
>() {}

const notFound = () => new NotFound({ what: "webhook" })

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

/** What the sender is told of several events: that of the first which starts something. */
const outcomeOf = (receptions: ReadonlyArray<Reception>): Reception | undefined =>
  receptions.find(({ _tag }) => _tag === "Accepted") ?? receptions.find(({ _tag }) => _tag === "Held") ?? receptions[0]

export const layer = Layer.effect(
  SubscriptionIntake,
  Effect.gen(function* () {
    const subscriptions = yield* Subscriptions
    const triggers = yield* TriggerReads
    const connections = yield* ConnectionReads
    const connectors = yield* Connectors
    const webhookSecrets = yield* WebhookSecrets
    const vault = yield* Vault
    const { equal, hmacBase64 } = yield* Digests
    const { hmac } = yield* SigningArithmetic
    const digests = { equal, hmac, hmacBase64 }
    const events = yield* Events

    const find = Effect.fnUntraced(function* (
      space: string,
      number: string
    ): Effect.fn.Return<KnownSubscription, Failure> {
      const subscription = Option.getOrUndefined(yield* subscriptions.byNumber(number))
      if (subscription === undefined) return yield* notFound()
      const { connectionId, organisationId, triggerId } = subscription
      const trigger = Option.getOrUndefined(yield* triggers.byId(triggerId))
      if (
        trigger === undefined ||
        trigger.spaceId !== space ||
        trigger.status !== "active" ||
        trigger.deletedAt !== null
      )
        return yield* notFound()
      const connection = Option.getOrUndefined(yield* connections.byId(organisationId, connectionId))
      const { appEvent } = trigger
      const definition =
        appEvent === null
          ? undefined
          : Option.getOrUndefined(yield* connectors.find(organisationId, appEvent.connector))
      const event = definition?.events.find(({ id }) => id === appEvent?.event)
      const webhook = definition?.webhooks.find(({ id }) => event?.webhook === undefined || id === event.webhook)
      return connection === undefined || definition === undefined || event === undefined || webhook === undefined
        ? yield* notFound()
        : { subscription, trigger, connection, definition, event, webhook, limitBytes: bodyBytes.webhook }
    })

    /** The secrets that the delivery may be signed with. */
    const secretsOf = Effect.fnUntraced(function* ({ definition, subscription, webhook }: KnownSubscription) {
      const { number, organisationId, secret } = subscription
      if (webhook.verify.subscriptionSecret !== true)
        return yield* webhookSecrets.ofConnector(organisationId, definition, webhook.verify)
      if (number === null || secret === null) return []
      const opened = yield* Effect.mapError(
        vault.open(subscriptionPlace(organisationId, number), secret),
        () => new Unavailable({ reason: "the vault cannot be opened", retryAfterSeconds: 5 })
      )
      return [opened]
    })

    const accept = (
      { connection, definition, event, trigger }: KnownSubscription,
      delivered: DeliveredEvent,
      verified: VerifiedDelivery,
      headers: WebhookDelivery["headers"],
      count: number
    ) =>
      events.receive({
        organisationId: trigger.organisationId,
        spaceId: trigger.spaceId,
        source: "app_event",
        trigger,
        connector: definition.slug,
        connectorEvent: event.id,
        connectionId: connection.id,
        customerId: connection.customerId,
        type: `${definition.slug}.${event.id}`,
        entity: event.entity ?? null,
        action: actionOf(event.id),
        occurredAt: verified.occurredAt,
        payload: delivered.payload,
        headers,
        deduplication: { value: null, deliveryId: eventDeliveryId(verified.deliveryId, delivered.index, count) },
        traceparent: headers["traceparent"] ?? null
      })

    const challengeOf = ({ webhook }: KnownSubscription, payload: Json) => bodyChallenge(webhook.challenge, payload)

    const receive = Effect.fnUntraced(function* (
      known: KnownSubscription,
      delivery: WebhookDelivery
    ): Effect.fn.Return<WebhookOutcome, Failure> {
      const { definition, event, trigger, webhook } = known
      const { body, headers } = delivery
      const secrets = (yield* secretsOf(known)).map(Redacted.value)
      const nowMillis = yield* Clock.currentTimeMillis
      const verified = verifyDelivery(webhook.verify, secrets, { headers, body, nowMillis }, digests)
      const isUnsigned = Either.isLeft(verified) && verified.left === "unsigned"
      // Providers challenge an address before they sign anything.
      if (Either.isLeft(verified) && !(isUnsigned && webhook.challenge !== undefined)) {
        yield* events.reject(trigger, verified.left, workflowHeaders(headers))
        return yield* refusalOf(verified.left)
      }
      const payload = delivery.parse()
      if (payload instanceof Error) return yield* payload
      const challenge = challengeOf(known, payload)
      if (challenge !== undefined) return { _tag: "Challenged", challenge }
      if (Either.isLeft(verified)) return yield* refusalOf(verified.left)
      const shown = workflowHeaders(headers)
      const all = deliveredEvents(webhook, payload, headers)
      const own = all.filter(
        ({ key }) => key === null || eventsOfKey(definition, webhook, key).some(({ id }) => id === event.id)
      )
      const receptions = yield* Effect.forEach(own, (one) => accept(known, one, verified.right, shown, all.length))
      return outcomeOf(receptions) ?? { _tag: "Unmatched" }
    })

    return SubscriptionIntake.of({ find, receive })
  })
)
