/**
 * Decides when an access token is refreshed, what a failed refresh means, and how a new owner recovers a refresh that its
 * predecessor began. Times are Unix milliseconds. Contract: connection states; design: the actor is the lock.
 */
import { Duration } from "effect"
import { tokenRefresh } from "../Limits.js"

/** The remaining lifetime that a token needs for a call. */
const minimumCallMillis = Duration.toMillis("30 seconds")
/** A connection whose refreshes fail for this time becomes `expired`. */
export const giveUpAfterMillis = Duration.toMillis(tokenRefresh.giveUpAfter)
/** The longest time of a request to the token endpoint. */
export const tokenTimeout = Duration.seconds(20)
/** If more monotonic time passes between the intent's commit and the request, the request is not sent: another owner may have taken over. */
export const latestSendMillis = 2_000
/**
 * The time after an intent at which its request is surely over, also that of a node which has lost the connection: sent as
 * late as may be, it took its whole time. One second more, since nodes' clocks differ, and an answer takes time to commit.
 */
const recoverAfterMillis = latestSendMillis + Duration.toMillis(tokenTimeout) + 1_000
/** An unused connection is refreshed at this interval, so that the provider does not end its grant. */
const idleIntervalMillis = Duration.toMillis(tokenRefresh.idleInterval)
const largestShareOfLifetime = 0.2

/** The lifetime of a token. */
export interface Lifetime {
  readonly issuedAt: number
  readonly expiresAt: number | null
}

/** The time before expiry at which a token is refreshed, so that a call in flight never has an expired one; at most a fifth of its lifetime. */
export const marginMillis = (marginSeconds: number, { expiresAt, issuedAt }: Lifetime): number =>
  expiresAt === null ? 0 : Math.min(marginSeconds * 1000, Math.max(0, expiresAt - issuedAt) * largestShareOfLifetime)

/** Whether the token should be refreshed before it is used. */
export const isDue = (lifetime: Lifetime, marginSeconds: number, now: number): boolean =>
  lifetime.expiresAt !== null && lifetime.expiresAt - now < marginMillis(marginSeconds, lifetime)

/** Whether a call may use the token while its refresh is in progress or fails. */
export const isUsable = ({ expiresAt }: Lifetime, now: number): boolean =>
  expiresAt === null || expiresAt - now >= minimumCallMillis

/** A younger token that the provider refuses is not refused because of its age. */
const justIssuedMillis = Duration.toMillis("1 minute")

/** Whether the token is valid and was just issued: within a fifth of its lifetime, at most a minute ago. */
export const isJustIssued = (lifetime: Lifetime, now: number): boolean => {
  const { expiresAt, issuedAt } = lifetime
  const share = expiresAt === null ? justIssuedMillis : Math.max(0, expiresAt - issuedAt) * largestShareOfLifetime
  return isAlive(lifetime, now) && now - issuedAt <= Math.min(justIssuedMillis, share)
}

/** Whether an unused connection must be refreshed to keep its grant alive. */
export const needsKeepAlive = ({ issuedAt }: Lifetime, now: number): boolean => now - issuedAt >= idleIntervalMillis

/** Whether the token has not expired. */
export const isAlive = ({ expiresAt }: Lifetime, now: number): boolean => expiresAt === null || expiresAt > now

const pauses = [30_000, 120_000, 600_000, 1_800_000] as const

/** The back-off after a number of consecutive failures. */
export const coolDownMillis = (failures: number): number =>
  pauses[Math.max(0, Math.min(failures, pauses.length) - 1)] ?? 1_800_000

/**
 * When the sweep checks a connection again: before its token expires if it is used, else daily. A token that cannot be
 * refreshed is checked when it expires; `null`: never.
 */
export const nextCheckAt = (
  token: Lifetime & { readonly renewable: boolean },
  marginSeconds: number,
  isUsed: boolean,
  now: number
): number | null => {
  if (!token.renewable) return token.expiresAt
  const daily = now + idleIntervalMillis
  if (!isUsed || token.expiresAt === null) return daily
  return Math.min(daily, token.expiresAt - marginMillis(marginSeconds, token))
}

/** A failed request to the token endpoint. `status`: `null` without a valid HTTP answer. */
export interface TokenFailure {
  readonly status: number | null
  /** The error codes of the answer, the most general one first. */
  readonly codes: ReadonlyArray<string>
  readonly message: string
}

/** Of RFC 6749, and of GitHub, HubSpot and Slack; in lower case. */
const lostCodes: ReadonlySet<string> = new Set([
  "invalid_grant",
  "unauthorized_client",
  "access_denied",
  "bad_refresh_token",
  "invalid_refresh_token"
])

/**
 * Whether the provider has ended the grant, so that the customer must reconnect; other failures may be transient.
 * `ownLostCodes`: further codes that the connector's definition names.
 */
export const isGrantLost = ({ codes, status }: TokenFailure, ownLostCodes: ReadonlyArray<string>): boolean =>
  status !== null &&
  ((isRefusal(status) && codes.some((code) => lostCodes.has(code.toLowerCase()))) ||
    (status >= 400 && status < 500 && codes.some((code) => ownLostCodes.includes(code))))

const isRefusal = (status: number) => status === 400 || status === 401 || status === 403

/** Committed before the request to the token endpoint, removed with its result. */
export interface RefreshIntent {
  readonly refreshSeq: number
  /** The hash of the refresh token. */
  readonly tokenHash: string
  /** How many requests were sent with this token, that of the intent included; 0: it was given back before it was sent. */
  readonly attempt: number
  /** The process that has the refresh in hand until it has committed its end; `null`: it was given back. */
  readonly process: string | null
  readonly at: number
}

/** Whether both are of the same request. */
export const isSameRequest = (one: RefreshIntent, other: RefreshIntent): boolean =>
  one.refreshSeq === other.refreshSeq &&
  one.tokenHash === other.tokenHash &&
  one.attempt === other.attempt &&
  one.process === other.process

/** How a new owner handles an intent. */
export type Recovery =
  /** The previous owner's request may still be in flight, or its answer in hand. */
  | { readonly _tag: "Wait" }
  | { readonly _tag: "Retry" }
  /** A third request could invalidate the grant. */
  | { readonly _tag: "GiveUp"; readonly reason: string }
  /** The credential was replaced since, so the intent is obsolete. */
  | { readonly _tag: "Forget" }

/**
 * Decides about an intent without a result: at most one more request, never a loop. `isInHand`: a process that may still run
 * has the refresh in hand, and commits its end as soon as it can.
 */
export const decideRecovery = (
  intent: RefreshIntent,
  current: { readonly refreshSeq: number; readonly tokenHash: string },
  { isInHand, now }: { readonly isInHand: boolean; readonly now: number }
): Recovery => {
  if (intent.refreshSeq !== current.refreshSeq + 1 || intent.tokenHash !== current.tokenHash) return { _tag: "Forget" }
  if (isInHand) return { _tag: "Wait" }
  if (intent.attempt === 0) return { _tag: "Retry" }
  if (now < intent.at + recoverAfterMillis) return { _tag: "Wait" }
  return intent.attempt < 2
    ? { _tag: "Retry" }
    : {
        _tag: "GiveUp",
        reason: "the service stopped twice while it refreshed the token, so the provider may have ended the grant"
      }
}
