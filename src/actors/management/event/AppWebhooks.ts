/**
 * Webhooks of providers' apps, which have one address for all accounts. Each event is
 * accepted for every connection of its account, within the organisation that the address names, whose definition and
 * secrets verify the delivery. Contract: webhook receiver.
 */
import { Effect, Metric, Option } from "effect"
import type { ConnectorDefinition } from "../../../domain/connector/Definition.js"
import type { WebhookDefinition } from "../../../domain/connector/Webhook.js"
import { spacesFor } from "../../../domain/event/EventRouting.js"
import type { DeliveryProblem, VerifiedDelivery } from "../../../domain/event/InboundWebhook.js"
import {
  accountOfConnection,
  type DeliveredEvent,
  eventDeliveryId,
  eventsOfKey
} from "../../../domain/event/WebhookPayload.js"
import { type Failure, type Unavailable, refuseWith } from "../../../domain/Failure.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import { canonicalJson } from "../../../domain/Json.js"
import { readAppWebhookId } from "../../../domain/trigger/AppWebhookAddress.js"
import { type AccountConnection, ConnectionReads } from "../../ports/connection/ConnectionReads.js"
import { Connectors } from "../../ports/connection/Connectors.js"
import { WebhookSecrets } from "../../ports/delivery/WebhookSecrets.js"
import { Digests } from "../../ports/Digests.js"
import { type Arrival, Events } from "../../ports/event/Events.js"
import { TriggerReads } from "../../ports/event/Triggers.js"
import { OrganisationReads } from "../../ports/organisation/OrganisationReads.js"
import {
  connectorArrival,
  type ConnectorWebhook,
  makeConnectorReceiver,
  type ReadDelivery
} from "./ConnectorDelivery.js"
import { organisationRefusal, type Webhook, webhookBytes, webhookNotFound } from "./WebhookDelivery.js"

const eventsOf = ({ events }: ConnectorDefinition, { id }: WebhookDefinition) =>
  events.filter(({ webhook }) => webhook === undefined || webhook === id)

/** Nothing else is kept of them, so that a provider whose accounts are not connected costs no storage. */
const ignoredEvents = Metric.counter("svc_app_webhook_ignored_events_total", {
  description: "Events of app webhooks whose account no connection has, or that no active trigger is for.",
  incremental: true
})

const eventsAtOnce = 16
const lookUpsAtOnce = 4

/** Makes the function that finds the webhook of an organisation's connector by its id. */
export const makeAppWebhooks = Effect.gen(function* () {
  const organisations = yield* OrganisationReads
  const connectors = yield* Connectors
  const connections = yield* ConnectionReads
  const triggers = yield* TriggerReads
  const webhookSecrets = yield* WebhookSecrets
  const events = yield* Events
  const { sha256Hex } = yield* Digests
  const receive = yield* makeConnectorReceiver

  /** Records a refused delivery with the first trigger that would have got its events; without one, nothing. */
  const reject = Effect.fnUntraced(function* (
    { definition, organisationId, webhook }: ConnectorWebhook,
    reason: DeliveryProblem,
    headers: Arrival["headers"]
  ) {
    for (const { id } of eventsOf(definition, webhook)) {
      const [first] = yield* triggers.ofConnector(organisationId, definition.slug, id)
      if (first !== undefined) return yield* events.reject(first, reason, headers)
    }
  })

  /** The connections of the accounts that the events name, by account. */
  const connectionsOf = Effect.fnUntraced(function* (
    { definition, organisationId, webhook }: ConnectorWebhook,
    delivered: ReadonlyArray<DeliveredEvent>
  ): Effect.fn.Return<ReadonlyMap<string, ReadonlyArray<AccountConnection>>, Unavailable> {
    const accounts = [...new Set(delivered.flatMap(({ account }) => (account === null ? [] : [account])))]
    const found = yield* Effect.forEach(
      accounts,
      (account) =>
        Effect.map(
          connections.withAccount(organisationId, definition.slug, account),
          (all) => [account, all.filter((one) => accountOfConnection(webhook, one) === account)] as const
        ),
      { concurrency: lookUpsAtOnce }
    )
    return new Map(found)
  })

  /** What recognises a repetition: the delivery's id, else its signed time and content; `null`: nothing. */
  const identityOf = (
    { index, payload }: DeliveredEvent,
    { deliveryId, occurredAt }: VerifiedDelivery,
    count: number
  ): string | null => {
    if (deliveryId !== null || occurredAt === null) return eventDeliveryId(deliveryId, index, count)
    return `${occurredAt}#${index}#${sha256Hex(canonicalJson(payload))}`
  }

  /** The arrivals of one event: one for each connection of its account, and workspace with triggers on it. */
  const arrivalsOf = Effect.fnUntraced(function* (
    { definition, organisationId, webhook }: ConnectorWebhook,
    delivered: DeliveredEvent,
    found: ReadonlyArray<AccountConnection>,
    read: ReadDelivery
  ): Effect.fn.Return<ReadonlyArray<Arrival>, Unavailable> {
    const { events: all, verified } = read
    const arrivals: Array<Arrival> = []
    const identity = identityOf(delivered, verified, all.length)
    const signature = eventDeliveryId(verified.signature, delivered.index, all.length)
    for (const event of eventsOfKey(definition, webhook, delivered.key)) {
      const listening = yield* triggers.ofConnector(organisationId, definition.slug, event.id)
      for (const { customerId, id: connectionId } of found)
        for (const spaceId of spacesFor({ connectionId, customerId }, listening))
          arrivals.push({
            ...connectorArrival(definition, event, delivered, read),
            organisationId,
            spaceId,
            trigger: null,
            connectionId,
            customerId,
            // Two connections of one customer are two receivers of the same event.
            deduplication: {
              value: null,
              deliveryId: identity === null ? null : [identity, event.id, connectionId, spaceId].join("|"),
              signature: signature === null ? null : [signature, event.id, connectionId, spaceId].join("|")
            }
          })
    }
    return arrivals
  })

  /** Accepts the events of a delivery. */
  const accept = Effect.fnUntraced(function* (known: ConnectorWebhook, read: ReadDelivery) {
    const ofAccount = yield* connectionsOf(known, read.events)
    const acceptOne = Effect.fnUntraced(function* (one: DeliveredEvent) {
      const found = one.account === null ? [] : (ofAccount.get(one.account) ?? [])
      const arrivals = yield* arrivalsOf(known, one, found, read)
      if (arrivals.length === 0) yield* Metric.increment(ignoredEvents)
      return yield* Effect.forEach(arrivals, (arrival) => events.receive(arrival))
    })
    // The arrivals of few events are held at a time: each may have as many as the account has connections.
    const receptions = yield* Effect.forEach(read.events, acceptOne, { concurrency: eventsAtOnce })
    return receptions.flat()
  })

  return Effect.fnUntraced(function* (organisation: string, id: string): Effect.fn.Return<Webhook, Failure> {
    const named = readAppWebhookId(id)
    if (named === undefined) return yield* webhookNotFound()
    const found = Option.getOrUndefined(yield* organisations.find(organisation as OrganisationId)) // only compared
    if (found === undefined) return yield* webhookNotFound()
    const definition = Option.getOrUndefined(yield* connectors.find(found.id, named.connector))
    const webhook = definition?.webhooks.find((one) => one.id === named.webhook && one.type === "app")
    if (definition === undefined || webhook === undefined) return yield* webhookNotFound()
    yield* refuseWith(organisationRefusal(found))
    const { id: organisationId } = found
    const known: ConnectorWebhook = { organisationId, definition, webhook }
    return {
      organisationId,
      limitBytes: webhookBytes(found),
      receive: (delivery) =>
        receive(
          known,
          {
            secrets: webhookSecrets.ofConnector(organisationId, definition, webhook.verify),
            listening: Effect.map(
              Effect.forEach(eventsOf(definition, webhook), ({ id: event }) =>
                triggers.ofConnector(organisationId, definition.slug, event)
              ),
              (all) => all.flat()
            ),
            reject: (problem, headers) => reject(known, problem, headers),
            accept: (read) => accept(known, read)
          },
          delivery
        )
    }
  })
})
