/**
 * How many calls a provider takes over one connection: a window that slides, calls in flight as leases, and what the
 * provider's headers tell. Pure; times are Unix milliseconds. Contract: connector definition, rateLimit.
 */
import { longestProviderBlockMillis } from "../Limits.js"

/** `null`: not limited that way. */
export interface Limits {
  readonly requests: number | null
  readonly perMillis: number
  readonly concurrency: number | null
}

export const unlimited: Limits = { requests: null, perMillis: 1_000, concurrency: null }

/** What an answer told of the provider's own count; `null` where it told nothing. */
export interface ProviderQuota {
  readonly limit: number | null
  readonly remaining: number | null
  readonly resetAt: number | null
  readonly retryAfterAt: number | null
}

export interface LimiterState {
  /** Calls granted, by the slot of time in which they were. */
  readonly slots: ReadonlyArray<{ readonly at: number; readonly count: number }>
  /** When each permit ends by itself. */
  readonly leases: ReadonlyMap<string, number>
  /** The provider wants no call before. */
  readonly blockedUntil: number
}

export const idle: LimiterState = { slots: [], leases: new Map(), blockedUntil: 0 }

export type Taken =
  | { readonly _tag: "Granted"; readonly state: LimiterState }
  | { readonly _tag: "WaitUntil"; readonly at: number; readonly state: LimiterState }

/** A window is remembered in so many parts; a whole one more than the window has is counted, so that none is exceeded. */
const parts = 16
/** When nothing tells when a call in flight ends. */
const askAgainMillis = 100

/** Asks for one call. A permit that is not given back ends after `leaseMillis`. */
export const take = (limits: Limits, before: LimiterState, permit: string, now: number, leaseMillis: number): Taken => {
  const state = current(limits, before, now)
  if (state.blockedUntil > now) return { _tag: "WaitUntil", at: state.blockedUntil, state }
  if (limits.concurrency !== null && state.leases.size >= limits.concurrency) {
    const first = Math.min(...state.leases.values())
    return { _tag: "WaitUntil", at: Math.min(first, now + askAgainMillis), state }
  }
  const part = limits.perMillis / parts
  const used = state.slots.reduce((sum, { count }) => sum + count, 0)
  if (limits.requests !== null && used >= limits.requests) {
    const oldest = state.slots[0]
    return { _tag: "WaitUntil", at: oldest === undefined ? now + part : oldest.at + limits.perMillis + part, state }
  }
  if (limits.concurrency === null && limits.requests === null) return { _tag: "Granted", state }
  // Where nobody counts calls in flight they are not remembered.
  const leases = limits.concurrency === null ? state.leases : new Map(state.leases).set(permit, now + leaseMillis)
  if (limits.requests === null) return { _tag: "Granted", state: { ...state, leases } }
  const last = state.slots.at(-1)
  const slots =
    last !== undefined && now < last.at + part
      ? [...state.slots.slice(0, -1), { at: last.at, count: last.count + 1 }]
      : [...state.slots, { at: now, count: 1 }]
  return { _tag: "Granted", state: { ...state, leases, slots } }
}

/** The call is over, with what its answer told. */
export const give = (
  before: LimiterState,
  permit: string,
  reading: ProviderQuota | null,
  now: number
): LimiterState => {
  const leases = before.leases.has(permit)
    ? new Map([...before.leases].filter(([held]) => held !== permit))
    : before.leases
  const blockedUntil = blockedBy(before.blockedUntil, reading, now)
  return leases === before.leases && blockedUntil === before.blockedUntil ? before : { ...before, leases, blockedUntil }
}

/** Until when the provider wants no call, after what an answer told. */
export const blockedBy = (until: number, reading: ProviderQuota | null, now: number): number => {
  if (reading === null) return until
  const exhausted = reading.remaining !== null && reading.remaining <= 0 ? (reading.resetAt ?? 0) : 0
  return Math.min(Math.max(until, reading.retryAfterAt ?? 0, exhausted), now + longestProviderBlockMillis)
}

/** Without what is over. */
const current = (limits: Limits, state: LimiterState, now: number): LimiterState => {
  const since = now - limits.perMillis - limits.perMillis / parts
  const slots = state.slots.filter(({ at }) => at > since)
  const ended = [...state.leases].some(([, until]) => until <= now)
  const leases = ended ? new Map([...state.leases].filter(([, until]) => until > now)) : state.leases
  return slots.length === state.slots.length && !ended ? state : { ...state, slots, leases }
}
