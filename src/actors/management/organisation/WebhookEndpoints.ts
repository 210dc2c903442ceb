/**
 * Use cases of the endpoints that receive an organisation's events: create, change, rotate the secret, test, and send a
 * delivery again. Contract: outbound events.
 */
import { Effect, Encoding, Option, Redacted, Schema } from "effect"
import {
  type Failure,
  InvalidState,
  NotFound,
  PlanLimitReached,
  refuseUrl,
  type ValidationFailed
} from "../../../domain/Failure.js"
import { resendLimits, webhookEndpointLimits } from "../../../domain/Limits.js"
import { outboundBody, testEventType } from "../../../domain/delivery/OutboundEvent.js"
import {
  changedEndpoint,
  type CreateWebhookEndpoint,
  DeliveryAttempt,
  endpointSecretPlace,
  type ResendDeliveries,
  newDelivery,
  type UpdateWebhookEndpoint,
  WebhookEndpoint,
  attemptOutcomes
} from "../../../domain/delivery/WebhookEndpoint.js"
import { nextVersion } from "../../../domain/Record.js"
import { Egress } from "../../ports/Egress.js"
import { Identifiers } from "../../ports/Identifiers.js"
import type { Tx } from "../../ports/Records.js"
import { Vault, vaultClosed } from "../../ports/Vault.js"
import { Wakeups } from "../../ports/run/Wakeups.js"
import { type CallContext, checkVersion } from "../CallContext.js"
import { Changes } from "../Changes.js"
import { listQuery, type PageRequest, Pages } from "../Pages.js"
import { pickChanges } from "../ReadOnly.js"
import { currentTimestamp } from "../Timestamp.js"
import { findReached } from "../ReachedRecord.js"

export const AttemptList = listQuery({ outcome: Schema.optional(Schema.Literal(...attemptOutcomes)) })
type AttemptList = typeof AttemptList.Type

const secretBytes = 32

const resourceOf = ({ id, url }: WebhookEndpoint) => ({ id, name: url })

// --- Found and checked ---

/** The endpoint of this id. Endpoints belong to no customer. */
const findEndpoint = (tx: Tx, { caller }: CallContext, id: string, lock = false) =>
  findReached(tx.webhookEndpoints, caller, "webhook endpoint", { id: id as WebhookEndpoint["id"] }, lock) // unchecked text from the request

/** Exact, because a lock serialises creations in one organisation. */
const checkCount = Effect.fnUntraced(function* (tx: Tx): Effect.fn.Return<void, Failure> {
  yield* tx.lockKey("webhook_endpoints")
  const used = yield* tx.webhookEndpoints.count({})
  const limit = webhookEndpointLimits.endpoints
  if (used >= limit) return yield* new PlanLimitReached({ dimension: "webhook_endpoints", limit, used })
})

const checkActive = ({ status }: WebhookEndpoint): Effect.Effect<void, InvalidState> =>
  status === "active"
    ? Effect.void
    : new InvalidState({ state: status, message: "the endpoint is disabled: enable it first" })

const withSecret = (endpoint: WebhookEndpoint, secret: Redacted.Redacted) => ({
  ...WebhookEndpoint.show(endpoint),
  secret: Redacted.value(secret)
})

const findDelivery = Effect.fnUntraced(function* (tx: Tx, endpoint: WebhookEndpoint, attempt: string) {
  const found = yield* tx.deliveryAttempts.find({
    id: attempt as DeliveryAttempt["id"], // unchecked text from the request
    endpointId: endpoint.id
  })
  if (Option.isNone(found)) return yield* new NotFound({ what: "attempt" })
  const delivery = yield* tx.deliveries.lock({ id: found.value.deliveryId })
  return yield* Option.match(delivery, { onNone: () => new NotFound({ what: "delivery" }), onSome: Effect.succeed })
})

/** The status of finished deliveries by the outcome of their last attempt. */
const finishedStatus = { skipped: "undelivered", failed: "exhausted" } as const

const make = Effect.gen(function* () {
  const { change, read } = yield* Changes
  const pages = yield* Pages
  const identifiers = yield* Identifiers
  const vault = yield* Vault
  const egress = yield* Egress
  const wakeups = yield* Wakeups

  const checkUrl = (url: string | undefined): Effect.Effect<void, ValidationFailed> =>
    url === undefined ? Effect.void : Effect.mapError(egress.checkTarget(url), ({ reason }) => refuseUrl("url", reason))

  // --- Secrets ---

  const newSecret = () => Redacted.make(`whsec_${Encoding.encodeBase64(identifiers.bytes(secretBytes))}`)

  const seal = (
    endpoint: Pick<WebhookEndpoint, "id" | "organisationId">,
    column: "secret" | "secret_before",
    secret: Redacted.Redacted
  ) => Effect.mapError(vault.seal(endpointSecretPlace(endpoint, column), secret), vaultClosed)

  // --- Use cases ---

  /** Also returns the endpoint's secret, which no other call shows. */
  const create = Effect.fnUntraced(function* (context: CallContext, input: CreateWebhookEndpoint) {
    const { id: callerId, organisationId, spaceId } = context.caller
    yield* checkUrl(input.url)
    return yield* change(context, function* (tx) {
      yield* checkCount(tx)
      const now = yield* currentTimestamp
      const id = identifiers.next("whe")
      const secret = newSecret()
      const sealed = yield* seal({ id, organisationId }, "secret", secret)
      const written = { id, organisationId, spaceId, secret: sealed, createdBy: callerId }
      const endpoint = WebhookEndpoint.create(input, written, now)
      yield* tx.webhookEndpoints.insert(endpoint)
      const after = WebhookEndpoint.show(endpoint)
      return { value: withSecret(endpoint, secret), resource: resourceOf(endpoint), after }
    })
  })

  /** Deliveries that are not yet made follow a new URL. */
  const update = Effect.fnUntraced(function* (context: CallContext, id: string, input: UpdateWebhookEndpoint) {
    yield* checkUrl(input.url)
    return yield* change(context, function* (tx) {
      const before = yield* findEndpoint(tx, context, id, true)
      yield* checkVersion(context, input.version, before.version)
      const view = WebhookEndpoint.show(before)
      const changes = yield* pickChanges(WebhookEndpoint.Update, input, view, ["failingSince"])
      const endpoint = changedEndpoint(before, changes, yield* currentTimestamp)
      yield* tx.webhookEndpoints.update(endpoint)
      const after = WebhookEndpoint.show(endpoint)
      return { value: after, resource: resourceOf(endpoint), before: view, after }
    })
  })

  /** Replaces the secret; deliveries are also signed with the previous one for the overlap. */
  const rotateSecret = (context: CallContext, id: string) =>
    change(context, function* (tx) {
      const before = yield* findEndpoint(tx, context, id, true)
      yield* checkVersion(context, undefined, before.version)
      const secret = newSecret()
      const previous = yield* Effect.mapError(
        vault.open(endpointSecretPlace(before, "secret"), before.secret),
        vaultClosed
      )
      const now = yield* currentTimestamp
      const endpoint: WebhookEndpoint = {
        ...before,
        secret: yield* seal(before, "secret", secret),
        secretBefore: yield* seal(before, "secret_before", previous),
        rotatedAt: now,
        ...nextVersion(before, now)
      }
      yield* tx.webhookEndpoints.update(endpoint)
      const [old, after] = [WebhookEndpoint.show(before), WebhookEndpoint.show(endpoint)]
      return { value: withSecret(endpoint, secret), resource: resourceOf(endpoint), before: old, after }
    })

  const remove = (context: CallContext, id: string) =>
    change(context, function* (tx) {
      const before = yield* findEndpoint(tx, context, id, true)
      yield* checkVersion(context, undefined, before.version)
      yield* tx.webhookEndpoints.remove({ id: before.id })
      return { value: undefined, resource: resourceOf(before), before: WebhookEndpoint.show(before), after: null }
    })

  const test = (context: CallContext, id: string) =>
    change(context, function* (tx) {
      const endpoint = yield* findEndpoint(tx, context, id)
      yield* checkActive(endpoint)
      const now = yield* currentTimestamp
      const deliveryId = identifiers.next("dlv")
      const { id: endpointId, organisationId, spaceId, url } = endpoint
      const payload = outboundBody(testEventType, now, { webhookEndpointId: endpointId })
      const known = { id: deliveryId, organisationId, spaceId, kind: "outbound", url, endpointId, payload }
      yield* tx.deliveries.insert(newDelivery({ ...known, eventType: testEventType }, now))
      return { value: { deliveryId, type: testEventType }, resource: resourceOf(endpoint) }
    })

  /** The attempts of the last 30 days, newest first. */
  const attempts = (context: CallContext, id: string, params: AttemptList) =>
    read(context, function* (tx) {
      const endpoint = yield* findEndpoint(tx, context, id)
      const query = { where: { endpointId: endpoint.id }, filters: { outcome: params.outcome } }
      return yield* pages.views(tx.deliveryAttempts, params, query, (one) => DeliveryAttempt.show(one))
    })

  const resend = (context: CallContext, id: string, attempt: string) =>
    change(context, function* (tx) {
      const endpoint = yield* findEndpoint(tx, context, id)
      yield* checkActive(endpoint)
      const delivery = yield* findDelivery(tx, endpoint, attempt)
      const isPending = delivery.status === "pending"
      yield* tx.deliveries.update({
        ...delivery,
        status: "pending",
        // A delivery that waits for its next attempt keeps its schedule, and the attempt is made now.
        attemptsBefore: isPending ? delivery.attemptsBefore : delivery.attempts,
        nextAt: yield* currentTimestamp,
        finishedAt: null
      })
      return { value: { deliveryId: delivery.id, type: delivery.eventType }, resource: resourceOf(endpoint) }
    })

  const resendMany = (
    context: CallContext,
    id: string,
    { from, limit = resendLimits.usual, outcome, ratePerSecond = resendLimits.usualPerSecond, to }: ResendDeliveries
  ) =>
    change(context, function* (tx) {
      const endpoint = yield* findEndpoint(tx, context, id)
      yield* checkActive(endpoint)
      const value = yield* tx.resendDeliveries({
        endpointId: endpoint.id,
        statuses: outcome === undefined ? Object.values(finishedStatus) : [finishedStatus[outcome]],
        ...(from === undefined ? {} : { from }),
        ...(to === undefined ? {} : { to }),
        limit,
        perSecond: ratePerSecond
      })
      return { value, resource: resourceOf(endpoint), before: null, after: value }
    })

  const wakeAfter = <A, E>(change: Effect.Effect<A, E>) =>
    Effect.zipLeft(
      change,
      Effect.sync(() => wakeups.signalDelivery())
    )

  return {
    /** Newest first. */
    list: (context: CallContext, params: PageRequest) =>
      read(context, (tx) => pages.views(tx.webhookEndpoints, params, {}, (one) => WebhookEndpoint.show(one))),
    create,
    get: (context: CallContext, id: string) =>
      read(context, (tx) => Effect.map(findEndpoint(tx, context, id), (one) => WebhookEndpoint.show(one))),
    update,
    remove,
    rotateSecret,
    /** Sends an event of the type `webhook_endpoint.test` to the endpoint. */
    test: (context: CallContext, id: string) => wakeAfter(test(context, id)),
    attempts,
    /** Sends the delivery of an attempt again, on a new schedule. */
    resend: (context: CallContext, id: string, attempt: string) => wakeAfter(resend(context, id, attempt)),
    /** Sends what the endpoint missed again at a rate, the oldest first, on new schedules. */
    resendMany: (context: CallContext, id: string, input: ResendDeliveries) => wakeAfter(resendMany(context, id, input))
  }
})

export class WebhookEndpoints extends Effect.Service<WebhookEndpoints>()("svc/WebhookEndpoints", { effect: make }) {}
