/**
 * Webhooks of subscriptions: finds the subscription by the number in its address, and accepts each event of a delivery for
 * the subscription's trigger. Contract: webhook receiver.
 */
import { Effect, Option } from "effect"
import { eventDeliveryId, eventsOfKey } from "../../../domain/event/WebhookPayload.js"
import type { Failure } from "../../../domain/Failure.js"
import { bodyBytes } from "../../../domain/Limits.js"
import { subscriptionPlace } from "../../../domain/trigger/AppWebhookAddress.js"
import { ConnectionReads } from "../../ports/connection/ConnectionReads.js"
import { Connectors } from "../../ports/connection/Connectors.js"
import { WebhookSecrets } from "../../ports/delivery/WebhookSecrets.js"
import { Events } from "../../ports/event/Events.js"
import { type Subscription, Subscriptions } from "../../ports/event/Subscriptions.js"
import { TriggerReads } from "../../ports/event/Triggers.js"
import { Vault, vaultClosed } from "../../ports/Vault.js"
import { connectorArrival, type ConnectorWebhook, makeConnectorReceiver } from "./ConnectorDelivery.js"
import { type Webhook, webhookNotFound } from "./WebhookDelivery.js"

/** Makes the function that finds the webhook of a subscription by its workspace and number. */
export const makeSubscriptionWebhooks = Effect.gen(function* () {
  const subscriptions = yield* Subscriptions
  const triggers = yield* TriggerReads
  const connections = yield* ConnectionReads
  const connectors = yield* Connectors
  const webhookSecrets = yield* WebhookSecrets
  const vault = yield* Vault
  const events = yield* Events
  const receive = yield* makeConnectorReceiver

  /** The secrets that a delivery may be signed with. */
  const secretsOf = Effect.fnUntraced(function* (
    { number, organisationId, secret }: Subscription,
    { definition, webhook }: ConnectorWebhook
  ) {
    if (webhook.verify.subscriptionSecret !== true)
      return yield* webhookSecrets.ofConnector(organisationId, definition, webhook.verify)
    if (number === null || secret === null) return []
    const opened = yield* Effect.mapError(vault.open(subscriptionPlace(organisationId, number), secret), vaultClosed)
    return [opened]
  })

  return Effect.fnUntraced(function* (space: string, number: string): Effect.fn.Return<Webhook, Failure> {
    const subscription = Option.getOrUndefined(yield* subscriptions.byNumber(number))
    if (subscription === undefined) return yield* webhookNotFound()
    const { connectionId, organisationId, triggerId } = subscription
    const trigger = Option.getOrUndefined(yield* triggers.byId(triggerId))
    if (trigger === undefined || trigger.spaceId !== space || trigger.status !== "active" || trigger.deletedAt !== null)
      return yield* webhookNotFound()
    const connection = Option.getOrUndefined(yield* connections.byId(organisationId, connectionId))
    const { appEvent } = trigger
    const definition =
      appEvent === null ? undefined : Option.getOrUndefined(yield* connectors.find(organisationId, appEvent.connector))
    const event = definition?.events.find(({ id }) => id === appEvent?.event)
    const webhook = definition?.webhooks.find(({ id }) => event?.webhook === undefined || id === event.webhook)
    if (connection === undefined || definition === undefined || event === undefined || webhook === undefined)
      return yield* webhookNotFound()
    const known: ConnectorWebhook = { organisationId, definition, webhook }
    return {
      organisationId,
      limitBytes: bodyBytes.webhook,
      receive: (delivery) =>
        receive(
          known,
          {
            secrets: secretsOf(subscription, known),
            listening: Effect.succeed([trigger]),
            reject: (problem, headers) => events.reject(trigger, problem, headers),
            accept: (read) =>
              Effect.forEach(
                read.events.filter(
                  ({ key }) => key === null || eventsOfKey(definition, webhook, key).some(({ id }) => id === event.id)
                ),
                (one) =>
                  events.receive({
                    ...connectorArrival(definition, event, one, read),
                    organisationId,
                    spaceId: trigger.spaceId,
                    trigger,
                    connectionId: connection.id,
                    customerId: connection.customerId,
                    deduplication: {
                      value: null,
                      deliveryId: eventDeliveryId(read.verified.deliveryId, one.index, read.events.length),
                      signature: eventDeliveryId(read.verified.signature, one.index, read.events.length)
                    }
                  })
              )
          },
          delivery
        )
    }
  })
})
