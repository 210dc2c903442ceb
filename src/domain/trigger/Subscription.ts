/** Subscriptions of triggers at providers: their states, and when they are tried again. Pure. Contract: trigger states. */
import { Schema } from "effect"
import { makeScrubber } from "../access/Redaction.js"
import { redacted } from "../access/SecretNames.js"
import type { ProviderFailure } from "../connector/request/ProviderAnswer.js"
import { ConnectionId, CustomerId, OrganisationId, TriggerId } from "../Ids.js"
import { NullableText } from "../Scalars.js"
import { AnsweredTime, NullableTime, isStorableTime, parseProviderTime } from "../Time.js"
import { type SubscriptionState, subscriptionStates } from "./Trigger.js"

/** The members of a subscription that the API shows or changes. */
export const SubscriptionStatus = Schema.Struct({
  triggerId: TriggerId,
  connectionId: ConnectionId,
  organisationId: OrganisationId,
  state: Schema.Literal(...subscriptionStates.filter((state) => state !== "none")),
  attempts: Schema.Number,
  /** Of the last failed attempt. */
  lastError: NullableText,
  /** `null`: nothing is due. */
  nextAt: Schema.NullOr(AnsweredTime),
  expiresAt: Schema.NullOr(AnsweredTime)
})
export type SubscriptionStatus = typeof SubscriptionStatus.Type

/** A subscription of a trigger at its provider, as the API shows it. */
export const ListedSubscription = Schema.Struct({
  connectionId: ConnectionId,
  customerId: CustomerId,
  state: SubscriptionStatus.fields.state,
  attempts: Schema.Number.annotations({ description: "attempts that have failed since the last one that succeeded" }),
  error: NullableText.annotations({ description: "what the provider said to the last attempt, while it has failed" }),
  nextAt: NullableTime.annotations({ description: "when it is tried again or renewed; null: not by itself" }),
  expiresAt: NullableTime.annotations({ description: "when it ends at the provider; null: never, or it has none" })
}).annotations({ identifier: "TriggerSubscription" })
export type ListedSubscription = typeof ListedSubscription.Type

/** `customerId`: of its connection. */
export const listedSubscription = (
  { attempts, connectionId, expiresAt, lastError, nextAt, state }: SubscriptionStatus,
  customerId: CustomerId
): ListedSubscription => ({
  connectionId,
  customerId,
  state,
  attempts,
  error: state === "failed" || attempts > 0 ? lastError : null,
  nextAt,
  expiresAt
})

/** The pauses after failed attempts to subscribe, in seconds; after the last one the subscription stays failed. */
const retrySeconds = [60, 300, 1_800, 7_200]

/** The pause before the next attempt after `attempts` failed ones; `null`: no further attempt. */
export const subscriptionPause = (attempts: number): number | null => retrySeconds[attempts - 1] ?? null

/**
 * Whether a provider's refusal is final: a repetition of the request cannot mend it. A refused credential is not, since the
 * customer can connect again.
 */
export const isFinalRefusal = ({
  category,
  isFinal,
  status
}: Pick<ProviderFailure, "category" | "isFinal" | "status">): boolean =>
  isFinal === true ||
  (category === "provider" &&
    status !== null &&
    status >= 400 &&
    status < 500 &&
    ![401, 408, 425, 429].includes(status))

/** Longest first: what a person must know of several subscriptions of a trigger. */
const gravest = ["failed", "pending", "renewing", "suspended", "subscribed", "unsubscribed"] as const

/** Those that a person must know of first. */
export const gravestFirst = (all: ReadonlyArray<SubscriptionStatus>): ReadonlyArray<SubscriptionStatus> =>
  all.toSorted((one, other) => gravest.indexOf(one.state) - gravest.indexOf(other.state))

/** The state that a trigger shows for its subscriptions; `none` without any. */
export const shownState = (states: ReadonlyArray<SubscriptionState>): SubscriptionState =>
  gravest.find((state) => states.includes(state)) ?? "none"

/** When a subscription is renewed, in Unix milliseconds: before its expiry, but not before a tenth of its time has passed. */
export const renewalTime = (expiresAt: number, beforeSeconds: number, now: number): number =>
  Math.max(expiresAt - beforeSeconds * 1_000, now + Math.max(0, (expiresAt - now) / 10))

/** The time of an expiry that a provider gives: RFC 3339, Unix seconds or milliseconds; `null` for anything else. */
export const expiryOf = (value: unknown): number | null => {
  const number = typeof value === "string" && /^\d{9,14}$/.test(value) ? Number(value) : value
  if (typeof number !== "number") return typeof number === "string" ? (parseProviderTime(number) ?? null) : null
  const at = Math.floor(number > 100_000_000_000 ? number : number * 1_000)
  return isStorableTime(at) ? at : null
}

/** Characters at the end of a message that may be the beginning of a secret and are not replaced. */
const maxBeginning = 8

/**
 * The message of a provider's refusal without the secret of the subscription, which it may repeat. A long message has been
 * cut, perhaps within the secret.
 */
export const scrubRefusal = (message: string, secret: string): string => {
  const { pending, safe } = makeScrubber([secret]).scrubChunk(message)
  return pending.length <= maxBeginning ? `${safe}${pending}` : `${safe}${redacted}`
}
