/**
 * Subscribes, renews and unsubscribes at providers, through the connector's actions. Each attempt to subscribe commits a
 * new number before its call; the address that the provider gets has that number, so that a subscription which a crash
 * orphaned starts nothing. Contract: trigger record and states.
 */
import { Clock, Duration, Effect, Encoding, Option, Redacted } from "effect"
import { valueAt } from "../../domain/expression/Path.js"
import { renderAll } from "../../domain/expression/Template.js"
import type { ConnectorDefinition } from "../../domain/connector/Definition.js"
import type { EventDefinition, WebhookDefinition } from "../../domain/connector/Webhook.js"
import type { Json, JsonObject } from "../../domain/Json.js"
import { outwardPlaces } from "../../domain/Limits.js"
import {
  expiryOf,
  isFinalRefusal,
  renewalTime,
  scrubRefusal,
  subscriptionPause
} from "../../domain/trigger/Subscription.js"
import type { Trigger } from "../../domain/trigger/Trigger.js"
import { subscriptionFailedEvent } from "../../domain/trigger/TriggerChanges.js"
import { subscriptionAddress, subscriptionPlace } from "../../domain/trigger/AppWebhookAddress.js"
import { accountText } from "../../domain/event/WebhookPayload.js"
import { leasedTask, type SweepTools } from "../LeasedWork.js"
import { makeServiceCalls } from "./ServiceCalls.js"
import { disablingOf } from "./TriggerDisabling.js"
import { type CallableConnection, ConnectionReads } from "../ports/connection/ConnectionReads.js"
import { Connectors } from "../ports/connection/Connectors.js"
import { holdAnswers, HeldBytes } from "../ports/HeldBytes.js"
import { Identifiers } from "../ports/Identifiers.js"
import { Origin } from "../ports/Origin.js"
import { type DueSubscription, type SubscriptionChange, Subscriptions } from "../ports/event/Subscriptions.js"
import { TriggerReads } from "../ports/event/Triggers.js"
import { Vault, vaultClosed } from "../ports/Vault.js"
import { ShareOwners } from "../ports/organisation/ShareOwners.js"

const sweepInterval = Duration.seconds(2)
const numberLength = 32
/** After so many failures a subscription that is not wanted is forgotten: the provider's deliveries are refused. */
const maxUnsubscribes = 10
/** Bytes of the secret of a subscription. */
const secretBytes = 32

/** A subscription with what its calls need. */
interface Subject {
  readonly due: DueSubscription
  readonly trigger: Trigger
  readonly connection: CallableConnection
  readonly definition: ConnectorDefinition
  readonly event: EventDefinition
  readonly webhook: WebhookDefinition
}

/** The state after a subscription or renewal that the provider confirmed. */
const subscribedUntil = (expiresAt: number | null, { renew }: WebhookDefinition, now: number): SubscriptionChange => ({
  state: "subscribed",
  attempts: 0,
  lastError: null,
  expiresAt,
  nextAt: expiresAt === null ? null : renew === undefined ? expiresAt : renewalTime(expiresAt, renew.beforeSeconds, now)
})

/** The provider may still deliver to the address, but its number is forgotten. */
const ended: SubscriptionChange = {
  state: "unsubscribed",
  nextAt: null,
  number: null,
  externalId: null,
  secret: null,
  expiresAt: null,
  attempts: 0
}

const maxErrorLength = 500

const make = Effect.fnUntraced(function* ({ placed }: SweepTools<"subscriptions">) {
  const ledger = yield* HeldBytes
  const shareOwners = yield* ShareOwners
  const subscriptions = yield* Subscriptions
  const connectors = yield* Connectors
  const connections = yield* ConnectionReads
  const triggers = yield* TriggerReads
  const identifiers = yield* Identifiers
  const vault = yield* Vault
  const origin = yield* Origin
  const call = yield* makeServiceCalls

  const findSubject = Effect.fnUntraced(function* (due: DueSubscription) {
    const { connectionId, organisationId, triggerId } = due
    const trigger = Option.getOrUndefined(yield* triggers.byId(triggerId))
    const connection = Option.getOrUndefined(yield* connections.byId(organisationId, connectionId))
    if (trigger?.appEvent === undefined || trigger.appEvent === null || connection === undefined) return undefined
    const { connector, event: eventId } = trigger.appEvent
    const definition = Option.getOrUndefined(yield* connectors.find(organisationId, connector))
    const event = definition?.events.find(({ id }) => id === eventId)
    const webhook = definition?.webhooks.find(({ id }) => event?.webhook === undefined || id === event.webhook)
    return definition === undefined || event === undefined || webhook === undefined
      ? undefined
      : { due, trigger, connection, definition, event, webhook }
  })

  /** The scope of the templates of a subscription's calls. */
  const scopeOf = (
    { connection, event, trigger }: Subject,
    subscription: { readonly number: string; readonly secret: string | null; readonly externalId: string | null }
  ): JsonObject => ({
    args: trigger.appEvent?.args ?? {},
    connection: { config: connection.config },
    event: { id: event.id, key: event.key ?? event.id },
    webhook: {
      url: `${origin}${subscriptionAddress(trigger.spaceId, subscription.number)}`,
      secret: subscription.secret
    },
    subscription: { id: subscription.externalId }
  })

  /** Calls an action of the subscription. `secret`: that of the subscription, which a provider may repeat in a refusal. */
  const callAction = (
    { connection, definition, due }: Subject,
    { action, args }: { readonly action: string; readonly args?: JsonObject },
    scope: JsonObject,
    secret: string | null,
    idempotencyKey: string
  ) =>
    call({
      organisationId: due.organisationId,
      connection,
      definition,
      action,
      args: renderAll(args ?? {}, scope),
      idempotencyKey
    }).pipe(
      Effect.mapError((error) => {
        if (error._tag !== "ProviderRefused" || secret === null) return error
        return { ...error, failure: { ...error.failure, message: scrubRefusal(error.failure.message, secret) } }
      })
    )

  const subscribe = Effect.fnUntraced(function* (subject: Subject) {
    const { due, webhook } = subject
    const number = `whs_${identifiers.token(numberLength)}`
    const secret = `whsec_${Encoding.encodeBase64(identifiers.bytes(secretBytes))}`
    const seal = (text: string) =>
      Effect.mapError(vault.seal(subscriptionPlace(due.organisationId, number), Redacted.make(text)), vaultClosed)
    yield* subscriptions.save(due, {
      state: "pending",
      number,
      secret: yield* seal(secret),
      externalId: null,
      nextAt: yield* Clock.currentTimeMillis,
      keepsLease: true
    })
    const rule = webhook.subscribe
    const now = yield* Clock.currentTimeMillis
    // The provider's app delivers without a subscription.
    if (rule === undefined) return yield* subscriptions.save(due, subscribedUntil(null, webhook, now))
    const scope = scopeOf(subject, { number, secret, externalId: null })
    const { exact, result } = yield* callAction(subject, rule, scope, secret, `subscribe|${number}`)
    const at = (path: string | undefined, value = exact): Json | undefined =>
      path === undefined ? undefined : valueAt(value, path)
    const own = at(rule.secretFrom)
    yield* subscriptions.save(due, {
      ...subscribedUntil(expiryOf(at(rule.expiresFrom, result)), webhook, yield* Clock.currentTimeMillis),
      externalId: accountText(at(rule.idFrom)),
      ...(typeof own === "string" ? { secret: yield* seal(own) } : {})
    })
  })

  const openSecret = ({ number, organisationId, secret }: DueSubscription) =>
    number === null || secret === null
      ? Effect.succeed(null)
      : Effect.mapBoth(vault.open(subscriptionPlace(organisationId, number), secret), {
          onFailure: vaultClosed,
          onSuccess: Redacted.value
        })

  const renew = Effect.fnUntraced(function* (subject: Subject) {
    const { due, webhook } = subject
    const rule = webhook.renew
    if (rule === undefined || due.number === null) return yield* subscribe(subject)
    const now = yield* Clock.currentTimeMillis
    yield* subscriptions.save(due, { state: "renewing", nextAt: now, keepsLease: true })
    const secret = yield* openSecret(due)
    const scope = scopeOf(subject, { ...due, number: due.number, secret })
    const key = `renew|${due.number}|${due.expiresAt}`
    yield* callAction(subject, rule, scope, secret, key).pipe(
      Effect.flatMap(({ result }) => {
        const path = webhook.subscribe?.expiresFrom
        const expiresAt = path === undefined ? null : expiryOf(valueAt(result, path))
        return subscriptions.save(due, subscribedUntil(expiresAt, webhook, now))
      }),
      // The provider does not have it any more.
      Effect.catchIf(
        (error) => error._tag === "ProviderRefused" && (error.failure.status === 404 || error.failure.status === 410),
        () => subscribe(subject)
      )
    )
  })

  /** Ends a subscription. That the provider does not have it any more is as good; other failures are tried again. */
  const unsubscribe = Effect.fnUntraced(function* (subject: Subject) {
    const { due, webhook } = subject
    const rule = webhook.unsubscribe
    if (rule !== undefined && due.number !== null && due.externalId !== null && due.isOpen) {
      const secret = yield* openSecret(due)
      const scope = scopeOf(subject, { ...due, number: due.number, secret })
      yield* callAction(subject, rule, scope, secret, `unsubscribe|${due.number}`).pipe(
        Effect.catchIf(
          (error) =>
            error._tag === "ProviderRefused" && (error.failure.status ?? 0) >= 400 && (error.failure.status ?? 0) < 500,
          () => Effect.void
        )
      )
    }
    yield* subscriptions.save(due, ended)
  })

  const act = (subject: Subject) => {
    const { due } = subject
    if (!due.isWanted) return unsubscribe(subject)
    switch (due.state) {
      case "subscribed":
      case "renewing":
        return renew(subject)
      case "suspended":
      case "unsubscribed":
      case "pending":
      case "failed":
        return subscribe(subject)
    }
  }

  const failedEvent = (
    trigger: Trigger,
    { connectionId }: DueSubscription,
    message: string,
    isRetried: boolean,
    now: number
  ) =>
    subscriptionFailedEvent(
      identifiers.next("evt"),
      trigger,
      { connectionId, error: message.slice(0, maxErrorLength), isRetried },
      new Date(now).toISOString()
    )

  /** The provider refuses what no repetition can mend: the subscription is given up, and with the last one the trigger. */
  const giveUp = ({ due, trigger }: Subject, message: string) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const at = new Date(now).toISOString()
      return subscriptions.refuse(due, {
        lastError: message.slice(0, maxErrorLength),
        event: failedEvent(trigger, due, message, false, now),
        disabling: disablingOf(identifiers, trigger, "subscription_refused", message, at)
      })
    })

  /** Notes a failed attempt; after the last one the subscription stays as it is until a person retries it. */
  const noteFailure = ({ due, trigger }: Pick<Subject, "due"> & Partial<Pick<Subject, "trigger">>, message: string) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const attempts = due.attempts + 1
      if (!due.isWanted && attempts >= maxUnsubscribes) return subscriptions.save(due, ended)
      const pause = subscriptionPause(attempts)
      return subscriptions.save(due, {
        state: due.isWanted ? "failed" : due.state,
        attempts,
        lastError: message.slice(0, maxErrorLength),
        nextAt: pause === null ? null : now + pause * 1_000,
        // Told of when it begins to fail, and when it is given up.
        ...(trigger === undefined || !due.isWanted || (attempts > 1 && pause !== null)
          ? {}
          : { events: [failedEvent(trigger, due, message, pause !== null, now)] }),
        // Unsubscribing has no retry time: the lease is its pause.
        keepsLease: !due.isWanted
      })
    })

  const handle = Effect.fnUntraced(function* (due: DueSubscription) {
    if (due.isWanted && !due.isOpen) return yield* subscriptions.save(due, { state: "suspended", nextAt: null })
    const subject = yield* findSubject(due)
    if (subject === undefined)
      return due.isWanted
        ? yield* noteFailure({ due }, "the connector has no such event any more")
        : yield* subscriptions.save(due, ended)
    // The connection was away, and the provider still has the subscription.
    const isStillThere =
      due.isWanted &&
      due.state === "suspended" &&
      due.number !== null &&
      (due.externalId !== null || subject.webhook.subscribe === undefined)
    if (isStillThere) {
      const now = yield* Clock.currentTimeMillis
      if (due.expiresAt === null || due.expiresAt > now)
        return yield* subscriptions.save(due, subscribedUntil(due.expiresAt, subject.webhook, now))
    }
    yield* act(subject).pipe(
      Effect.catchTags({
        Postponed: ({ at }) => subscriptions.save(due, { state: due.state, nextAt: at }),
        ProviderRefused: ({ failure }) =>
          due.isWanted && isFinalRefusal(failure)
            ? giveUp(subject, failure.message)
            : noteFailure(subject, failure.message),
        ConnectionNotActive: () => subscriptions.save(due, { state: "suspended", nextAt: null }),
        NotFound: () => noteFailure(subject, "the connection was removed"),
        UnusableAction: ({ message }) => noteFailure(subject, message)
      })
    )
  })

  const pass = yield* placed("subscriptions", {
    work: subscriptions,
    run: (due: DueSubscription) =>
      Effect.flatMap(shareOwners.of(due.organisationId), (owner) => holdAnswers(ledger, owner, handle(due)))
  })
  return { pass, reconcile: subscriptions.reconcile }
})

export const task = leasedTask(
  { name: "events.subscribe", interval: sweepInterval, places: { subscriptions: outwardPlaces.subscriptions } },
  make
)
