/**
 * Use case of deliveries to subscriptions: finds the subscription by the number in its address, verifies the delivery by the
 * connector's rule, and accepts each of its events for the subscription's trigger. Contract: webhook receiver.
 */
import { Context, Effect, Layer, Option } from "effect"
import type { ConnectorDefinition } from "../../../domain/connector/Definition.js"
import type { EventDefinition, WebhookDefinition } from "../../../domain/connector/Webhook.js"
import { eventHeaders } from "../../../domain/event/EventHeaders.js"
import { type Failure, NotFound, Unavailable } from "../../../domain/Failure.js"
import { bodyBytes } from "../../../domain/Limits.js"
import { subscriptionPlace } from "../../../domain/trigger/SubscriptionAddress.js"
import type { Trigger } from "../../../domain/trigger/Trigger.js"
import { contractOfDelivery, eventDeliveryId, eventsOfKey } from "../../../domain/event/WebhookPayload.js"
import { Events } from "../../ports/event/Events.js"
import { WebhookSecrets } from "../../ports/delivery/WebhookSecrets.js"
import { type CallableConnection, ConnectionReads } from "../../ports/connection/ConnectionReads.js"
import { Connectors } from "../../ports/connection/Connectors.js"
import { type Subscription, Subscriptions } from "../../ports/event/Subscriptions.js"
import { TriggerReads } from "../../ports/event/Triggers.js"
import { Vault } from "../../ports/Vault.js"
import { makeAskedTexts } from "../AskedTexts.js"
import { connectorArrival, makeDeliveryReader, receptionOf } from "../connector/ConnectorDelivery.js"
import { type WebhookDelivery, type WebhookOutcome } from "./WebhookIntake.js"

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

export const layer = Layer.effect(
  SubscriptionIntake,
  Effect.gen(function* () {
    const subscriptions = yield* Subscriptions
    const triggers = yield* TriggerReads
    const connections = yield* ConnectionReads
    const connectors = yield* Connectors
    const webhookSecrets = yield* WebhookSecrets
    const vault = yield* Vault
    const readDelivery = yield* makeDeliveryReader
    const askedTextsOf = yield* makeAskedTexts
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

    const receive = Effect.fnUntraced(function* (
      known: KnownSubscription,
      delivery: WebhookDelivery
    ): Effect.fn.Return<WebhookOutcome, Failure> {
      const { connection, definition, event, trigger, webhook } = known
      const headers = eventHeaders(delivery.headers, webhook.verify)
      const reading = yield* readDelivery(
        trigger.organisationId,
        webhook,
        yield* secretsOf(known),
        delivery,
        askedTextsOf(delivery.body, [trigger], (contract) => contractOfDelivery(webhook, contract))
      )
      if (reading._tag === "Challenged") return reading
      if (reading._tag === "Refused") {
        if (reading.problem !== undefined) yield* events.reject(trigger, reading.problem, headers)
        return yield* reading.failure
      }
      const { events: all, verified } = reading
      const own = all.filter(
        ({ key }) => key === null || eventsOfKey(definition, webhook, key).some(({ id }) => id === event.id)
      )
      const receptions = yield* Effect.forEach(own, (one) =>
        events.receive({
          ...connectorArrival(definition, event, one, verified, headers),
          organisationId: trigger.organisationId,
          spaceId: trigger.spaceId,
          trigger,
          connectionId: connection.id,
          customerId: connection.customerId,
          deduplication: {
            value: null,
            deliveryId: eventDeliveryId(verified.deliveryId, one.index, all.length),
            signature: eventDeliveryId(verified.signature, one.index, all.length)
          }
        })
      )
      return receptionOf(receptions) ?? { _tag: "Unmatched" }
    })

    return SubscriptionIntake.of({ find, receive })
  })
)
