/**
 * Use case of deliveries to the webhook of a provider's app, which has one address for all accounts. Each event is
 * accepted for every connection of its account, within the organisation that the address names, whose definition and
 * secrets verify the delivery. Contract: webhook receiver.
 */
import { Context, Effect, Layer, Metric, Option } from "effect"
import { readAppWebhookId } from "../../../domain/trigger/AppWebhookAddress.js"
import type { ConnectorDefinition } from "../../../domain/connector/Definition.js"
import type { WebhookDefinition } from "../../../domain/connector/Webhook.js"
import { eventHeaders } from "../../../domain/event/EventHeaders.js"
import { spacesFor } from "../../../domain/event/EventRouting.js"
import { type Failure, NotFound, type Unavailable } from "../../../domain/Failure.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import type { VerifiedDelivery } from "../../../domain/event/InboundWebhook.js"
import { canonicalJson } from "../../../domain/Json.js"
import { hasLongDigits } from "../../../domain/LargeIntegers.js"
import {
  accountOfConnection,
  contractOfDelivery,
  type DeliveredEvent,
  eventDeliveryId,
  eventsOfKey
} from "../../../domain/event/WebhookPayload.js"
import { type AccountConnection, ConnectionReads } from "../../ports/connection/ConnectionReads.js"
import { Connectors } from "../../ports/connection/Connectors.js"
import { Digests } from "../../ports/Digests.js"
import { type Arrival, Events } from "../../ports/event/Events.js"
import { OrganisationReads } from "../../ports/organisation/OrganisationReads.js"
import { TriggerReads } from "../../ports/event/Triggers.js"
import { WebhookSecrets } from "../../ports/delivery/WebhookSecrets.js"
import { makeAskedTexts } from "../AskedTexts.js"
import {
  connectorArrival,
  type DeliveryReading,
  makeDeliveryReader,
  receptionOf
} from "../connector/ConnectorDelivery.js"
import { organisationRefusal, webhookBytes, type WebhookDelivery, type WebhookOutcome } from "./WebhookIntake.js"

/** The webhook of a connector in an organisation. */
export interface KnownAppWebhook {
  readonly organisationId: OrganisationId
  readonly definition: ConnectorDefinition
  readonly webhook: WebhookDefinition
  /** Largest body, in bytes. */
  readonly limitBytes: number
}

export class AppWebhookIntake extends Context.Tag("svc/AppWebhookIntake")<
  AppWebhookIntake,
  {
    /** Fails with `NotFound` for an unknown address. */
    readonly find: (organisation: string, id: string) => Effect.Effect<KnownAppWebhook, Failure>
    /**
     * Accepts a few events at a time. After a failure the provider repeats the delivery; those that were accepted
     * before are recognised by its id, or by its signed time and content.
     */
    readonly receive: (webhook: KnownAppWebhook, delivery: WebhookDelivery) => Effect.Effect<WebhookOutcome, Failure>
  }
>() {}

const eventsOf = ({ events }: ConnectorDefinition, { id }: WebhookDefinition) =>
  events.filter(({ webhook }) => webhook === undefined || webhook === id)

const notFound = () => new NotFound({ what: "webhook" })

/** Nothing else is kept of them, so that a provider whose accounts are not connected costs no storage. */
const ignoredEvents = Metric.counter("svc_app_webhook_ignored_events_total", {
  description: "Events of app webhooks whose account no connection has, or that no active trigger is for.",
  incremental: true
})

const eventsAtOnce = 16
const lookUpsAtOnce = 4

export const layer = Layer.effect(
  AppWebhookIntake,
  Effect.gen(function* () {
    const organisations = yield* OrganisationReads
    const connectors = yield* Connectors
    const connections = yield* ConnectionReads
    const triggers = yield* TriggerReads
    const webhookSecrets = yield* WebhookSecrets
    const readDelivery = yield* makeDeliveryReader
    const askedTextsOf = yield* makeAskedTexts
    const events = yield* Events
    const { sha256Hex } = yield* Digests

    const find = Effect.fnUntraced(function* (
      organisation: string,
      id: string
    ): Effect.fn.Return<KnownAppWebhook, Failure> {
      const named = readAppWebhookId(id)
      if (named === undefined) return yield* notFound()
      const found = Option.getOrUndefined(yield* organisations.find(organisation as OrganisationId)) // only compared
      if (found === undefined) return yield* notFound()
      const definition = Option.getOrUndefined(yield* connectors.find(found.id, named.connector))
      const webhook = definition?.webhooks.find((one) => one.id === named.webhook && one.type === "app")
      if (definition === undefined || webhook === undefined) return yield* notFound()
      const refused = organisationRefusal(found)
      if (refused !== undefined) return yield* refused
      return { organisationId: found.id, definition, webhook, limitBytes: webhookBytes(found) }
    })

    /** Records a refused delivery with the first trigger that would have got its events; without one, nothing. */
    const reject = Effect.fnUntraced(function* (
      { definition, organisationId, webhook }: KnownAppWebhook,
      reason: string,
      headers: Arrival["headers"]
    ) {
      for (const { id } of eventsOf(definition, webhook)) {
        const [first] = yield* triggers.ofConnector(organisationId, definition.slug, id)
        if (first !== undefined) return yield* events.reject(first, reason, headers)
      }
    })

    /** The connections of the accounts that the events name, by account. */
    const connectionsOf = Effect.fnUntraced(function* (
      { definition, organisationId, webhook }: KnownAppWebhook,
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
      { definition, organisationId, webhook }: KnownAppWebhook,
      delivered: DeliveredEvent,
      found: ReadonlyArray<AccountConnection>,
      { events: all, verified }: Extract<DeliveryReading, { _tag: "Events" }>,
      headers: Arrival["headers"]
    ): Effect.fn.Return<ReadonlyArray<Arrival>, Unavailable> {
      const arrivals: Array<Arrival> = []
      const identity = identityOf(delivered, verified, all.length)
      const signature = eventDeliveryId(verified.signature, delivered.index, all.length)
      for (const event of eventsOfKey(definition, webhook, delivered.key)) {
        const listening = yield* triggers.ofConnector(organisationId, definition.slug, event.id)
        for (const { customerId, id: connectionId } of found)
          for (const spaceId of spacesFor({ connectionId, customerId }, listening))
            arrivals.push({
              ...connectorArrival(definition, event, delivered, verified, headers),
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

    /** Where the workflows of triggers on the webhook's events ask for large integers as text. */
    const askedBy = Effect.fnUntraced(function* (
      { definition, organisationId, webhook }: KnownAppWebhook,
      { body }: WebhookDelivery
    ) {
      if (!hasLongDigits(body)) return undefined
      const listening = yield* Effect.forEach(eventsOf(definition, webhook), ({ id }) =>
        triggers.ofConnector(organisationId, definition.slug, id)
      )
      return yield* askedTextsOf(body, listening.flat(), (contract) => contractOfDelivery(webhook, contract))
    })

    const receive = Effect.fnUntraced(function* (
      known: KnownAppWebhook,
      delivery: WebhookDelivery
    ): Effect.fn.Return<WebhookOutcome, Failure> {
      const { definition, organisationId, webhook } = known
      const headers = eventHeaders(delivery.headers, webhook.verify)
      const secrets = yield* webhookSecrets.ofConnector(organisationId, definition, webhook.verify)
      const reading = yield* readDelivery(organisationId, webhook, secrets, delivery, askedBy(known, delivery))
      if (reading._tag === "Challenged") return reading
      if (reading._tag === "Refused") {
        if (reading.problem !== undefined) yield* reject(known, reading.problem, headers)
        return yield* reading.failure
      }
      const ofAccount = yield* connectionsOf(known, reading.events)
      const accept = Effect.fnUntraced(function* (one: DeliveredEvent) {
        const found = one.account === null ? [] : (ofAccount.get(one.account) ?? [])
        const arrivals = yield* arrivalsOf(known, one, found, reading, headers)
        if (arrivals.length === 0) yield* Metric.increment(ignoredEvents)
        return yield* Effect.forEach(arrivals, (arrival) => events.receive(arrival))
      })
      // The arrivals of few events are held at a time: each may have as many as the account has connections.
      const receptions = yield* Effect.forEach(reading.events, accept, { concurrency: eventsAtOnce })
      return receptionOf(receptions.flat()) ?? { _tag: "Unmatched" }
    })

    return AppWebhookIntake.of({ find, receive })
  })
)
