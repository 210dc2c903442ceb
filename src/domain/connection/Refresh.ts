/**
 * When an access token is renewed, what a failed renewal means, and what a new owner may do about one that its
 * predecessor began. Times are Unix milliseconds. Contract: connection states; design: the actor is the lock.
 */
import { Duration } from "effect"
import { tokenRefresh } from "../Limits.js"

/** A token that lives this long yet is good for a call. */
const enoughForACall = Duration.toMillis("30 seconds")
/** Degraded refreshes end in `expired` after this time. */
export const giveUpAfterMillis = Duration.toMillis(tokenRefresh.giveUpAfter)
/** How long the token endpoint may take. */
export const tokenTimeout = Duration.seconds(20)
/** More monotonic time than this between the intent's commit and the request: another owner may be at it by now. */
export const latestSendMillis = 2_000
/** A connection that nobody uses is refreshed this often, so that its grant stays alive. */
const idleIntervalMillis = Duration.toMillis(tokenRefresh.idleInterval)
const largestShareOfLifetime = 0.2

/** What of a token decides. */
export interface Lifetime {
  readonly issuedAt: number
  readonly expiresAt: number | null
}

/** Refreshed at most this long before the end: a call in flight never carries a token about to lapse. */
export const marginMillis = (marginSeconds: number, { expiresAt, issuedAt }: Lifetime): number =>
  expiresAt === null ? 0 : Math.min(marginSeconds * 1000, Math.max(0, expiresAt - issuedAt) * largestShareOfLifetime)

/** Whether the token should be renewed before it is used. */
export const isDue = (lifetime: Lifetime, marginSeconds: number, now: number): boolean =>
  lifetime.expiresAt !== null && lifetime.expiresAt - now < marginMillis(marginSeconds, lifetime)

/** Whether a call may still carry the token, while a new one is on its way or cannot be had. */
export const isUsable = ({ expiresAt }: Lifetime, now: number): boolean =>
  expiresAt === null || expiresAt - now >= enoughForACall

/** Younger than this, a token that the provider refuses is not refused for its age. */
const justIssuedMillis = Duration.toMillis("1 minute")

/** Whether the token is valid and was issued a moment ago: a fifth of its lifetime at most. */
export const isJustIssued = (lifetime: Lifetime, now: number): boolean => {
  const { expiresAt, issuedAt } = lifetime
  const share = expiresAt === null ? justIssuedMillis : Math.max(0, expiresAt - issuedAt) * largestShareOfLifetime
  return isAlive(lifetime, now) && now - issuedAt <= Math.min(justIssuedMillis, share)
}

/** Whether an idle connection's token was issued so long ago that its grant needs a sign of life. */
export const isIdleLong = ({ issuedAt }: Lifetime, now: number): boolean => now - issuedAt >= idleIntervalMillis

/** Whether the token is still valid at all. */
export const isAlive = ({ expiresAt }: Lifetime, now: number): boolean => expiresAt === null || expiresAt > now

const pauses = [30_000, 120_000, 600_000, 1_800_000] as const

/** The cool-down after so many failures in a row. */
export const coolDownMillis = (failures: number): number =>
  pauses[Math.max(0, Math.min(failures, pauses.length) - 1)] ?? 1_800_000

/**
 * When the sweep looks at a connection again: before the end of its token while it is in use, daily while it is not,
 * and not at all where there is nothing to renew.
 */
export const nextLook = (
  token: Lifetime & { readonly renewable: boolean },
  marginSeconds: number,
  used: boolean,
  now: number
): number | null => {
  if (!token.renewable) return token.expiresAt
  const daily = now + idleIntervalMillis
  if (!used || token.expiresAt === null) return daily
  return Math.min(daily, token.expiresAt - marginMillis(marginSeconds, token))
}

/** What the token endpoint said when it gave no token. `status`: `null` when nobody answered properly. */
export interface TokenFailure {
  readonly status: number | null
  /** The `error` of the answer. */
  readonly code: string | null
  readonly message: string
}

const lostCodes: ReadonlySet<string> = new Set(["invalid_grant", "unauthorized_client", "access_denied"])

/** Whether the grant is gone, so that only the customer can repair it; everything else may pass. */
export const isGrantLost = ({ code, status }: TokenFailure): boolean =>
  (status === 400 || status === 401 || status === 403) && code !== null && lostCodes.has(code)

/** Written before the token endpoint is asked, gone with its result. `attempt`: how many owners have asked. */
export interface RefreshIntent {
  readonly refreshSeq: number
  /** The refresh token, hashed. */
  readonly tokenHash: string
  readonly attempt: number
  readonly at: number
}

export type Recovery =
  /** Whoever wrote it may still be waiting for an answer. */
  | { readonly _tag: "Wait"; readonly until: number }
  | { readonly _tag: "Retry" }
  /** Asking a third time could only do harm. */
  | { readonly _tag: "GiveUp"; readonly reason: string }
  /** The credential was replaced since: the intent means nothing any more. */
  | { readonly _tag: "Forget" }

/** What a new owner does about an intent without a result: at most one more request, never a loop. */
export const recover = (
  intent: RefreshIntent,
  held: { readonly refreshSeq: number; readonly tokenHash: string },
  now: number
): Recovery => {
  if (intent.refreshSeq !== held.refreshSeq + 1 || intent.tokenHash !== held.tokenHash) return { _tag: "Forget" }
  const until = intent.at + Duration.toMillis(tokenTimeout)
  if (now < until) return { _tag: "Wait", until }
  return intent.attempt < 2
    ? { _tag: "Retry" }
    : {
        _tag: "GiveUp",
        reason: "the service ended twice while it renewed the token, and the provider may have ended the grant since"
      }
}
