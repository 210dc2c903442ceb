/**
 * Rate limiter of one connection: a sliding window, leases for calls in flight, and the quota in the provider's headers.
 * Pure; times are Unix milliseconds. Contract: connector definition, `rateLimit`.
 */
import { Schema } from "effect"
import { longestProviderBlockMillis } from "../Limits.js"

const nullable = Schema.NullOr(Schema.Number)

/** The limits of a provider; `null`: no such limit. */
export const CallLimits = Schema.Struct({ requests: nullable, perMillis: Schema.Number, concurrency: nullable })
export type CallLimits = typeof CallLimits.Type

/** No limits. */
export const unlimited: CallLimits = { requests: null, perMillis: 1_000, concurrency: null }

/** The provider's quota by the headers of an answer; `null`: not in the headers. It refuses requests before `retryAfterAt`. */
export const ProviderQuota = Schema.Struct({
  limit: nullable,
  remaining: nullable,
  resetAt: nullable,
  retryAfterAt: nullable
})
export type ProviderQuota = typeof ProviderQuota.Type

/** The state of a limiter. */
export interface LimiterState {
  /** Granted calls by slot of time. */
  readonly slots: ReadonlyArray<{ readonly at: number; readonly count: number }>
  /** When each permit expires. */
  readonly leases: ReadonlyMap<string, number>
  /** The provider refuses calls before this time. */
  readonly blockedUntil: number
}

/** The state before any call. */
export const idleLimiter: LimiterState = { slots: [], leases: new Map(), blockedUntil: 0 }

/** A permit, or when to ask again. */
export type PermitDecision =
  | { readonly _tag: "Granted"; readonly state: LimiterState }
  | { readonly _tag: "WaitUntil"; readonly at: number; readonly state: LimiterState }

/** Slots of a window. One slot more than the window is counted, so that the limit is never exceeded. */
const slotsPerWindow = 16
/** The pause before asking again while calls are in flight, whose end is unknown. */
const pollMillis = 100

/** Takes a permit for one call. A permit that is not released expires after `leaseMillis`. */
export const takePermit = (
  limits: CallLimits,
  before: LimiterState,
  permit: string,
  now: number,
  leaseMillis: number
): PermitDecision => {
  const state = dropExpired(limits, before, now)
  if (state.blockedUntil > now) return { _tag: "WaitUntil", at: state.blockedUntil, state }
  if (limits.concurrency !== null && state.leases.size >= limits.concurrency) {
    const first = Math.min(...state.leases.values())
    return { _tag: "WaitUntil", at: Math.min(first, now + pollMillis), state }
  }
  const part = limits.perMillis / slotsPerWindow
  const used = state.slots.reduce((sum, { count }) => sum + count, 0)
  if (limits.requests !== null && used >= limits.requests) {
    const oldest = state.slots[0]
    return { _tag: "WaitUntil", at: oldest === undefined ? now + part : oldest.at + limits.perMillis + part, state }
  }
  if (limits.concurrency === null && limits.requests === null) return { _tag: "Granted", state }
  // Calls in flight are tracked only if they are limited.
  const leases = limits.concurrency === null ? state.leases : new Map(state.leases).set(permit, now + leaseMillis)
  if (limits.requests === null) return { _tag: "Granted", state: { ...state, leases } }
  const last = state.slots.at(-1)
  const slots =
    last !== undefined && now < last.at + part
      ? [...state.slots.slice(0, -1), { at: last.at, count: last.count + 1 }]
      : [...state.slots, { at: now, count: 1 }]
  return { _tag: "Granted", state: { ...state, leases, slots } }
}

/** Releases the permit of an ended call. `reading`: the quota in its answer. */
export const releasePermit = (
  before: LimiterState,
  permit: string,
  reading: ProviderQuota | null,
  now: number
): LimiterState => {
  const leases = before.leases.has(permit)
    ? new Map([...before.leases].filter(([held]) => held !== permit))
    : before.leases
  const blockedUntil = nextBlockedUntil(before.blockedUntil, reading, now)
  return leases === before.leases && blockedUntil === before.blockedUntil ? before : { ...before, leases, blockedUntil }
}

/** The time until which the provider refuses calls, after the quota in an answer. */
export const nextBlockedUntil = (until: number, reading: ProviderQuota | null, now: number): number => {
  if (reading === null) return until
  const exhausted = reading.remaining !== null && reading.remaining <= 0 ? (reading.resetAt ?? 0) : 0
  return Math.min(Math.max(until, reading.retryAfterAt ?? 0, exhausted), now + longestProviderBlockMillis)
}

/** The state without expired slots and leases. */
const dropExpired = (limits: CallLimits, state: LimiterState, now: number): LimiterState => {
  const since = now - limits.perMillis - limits.perMillis / slotsPerWindow
  const slots = state.slots.filter(({ at }) => at > since)
  const ended = [...state.leases].some(([, until]) => until <= now)
  const leases = ended ? new Map([...state.leases].filter(([, until]) => until > now)) : state.leases
  return slots.length === state.slots.length && !ended ? state : { ...state, slots, leases }
}
