/**
 * How many calls a provider takes over all connections of a connector in an organisation. Nodes lease calls for a
 * moment and report what they used: what is not reported counts as used at the latest moment, so a node that dies can
 * only cost calls, never exceed the limit. Pure and storable; times are Unix milliseconds. Contract: connector
 * definition, rateLimit.
 */
import type { Limits, ProviderQuota } from "./RateLimiter.js"
import { blockedBy } from "./RateLimiter.js"

/** Calls that a node may make until `at`; where calls in flight are limited it holds its place until `ends`. */
export interface CallLease {
  readonly id: string
  readonly count: number
  readonly at: number
  readonly ends: number
}

export interface SharedState {
  /** Calls that were made, none of them later than `at`. */
  readonly used: ReadonlyArray<{ readonly at: number; readonly count: number }>
  readonly leases: ReadonlyArray<CallLease>
  /** The provider wants no call before. */
  readonly blockedUntil: number
}

export const untouched: SharedState = { used: [], leases: [], blockedUntil: 0 }

/** How long leased calls may be made. */
export const leaseMillis = 250
/** A window is remembered in so many parts. */
const parts = 16
/** A lease takes at most this share of what is left, so that other nodes get some too. */
const share = 4

export type Leased =
  | { readonly _tag: "Leased"; readonly lease: CallLease; readonly state: SharedState }
  | { readonly _tag: "WaitUntil"; readonly at: number; readonly state: SharedState }

export interface LeaseRequest {
  readonly id: string
  /** How many calls wait for it. */
  readonly wanted: number
  /** How long one of them may take. */
  readonly timeoutMillis: number
}

/** Leases at least one call and at most those that are wanted, or says when to ask again. */
export const lease = (limits: Limits, before: SharedState, asked: LeaseRequest, now: number): Leased => {
  const state = current(limits, before, now)
  if (state.blockedUntil > now) return { _tag: "WaitUntil", at: state.blockedUntil, state }
  const left = Math.min(callsLeft(limits, state), placesLeft(limits, state))
  if (left < 1) return { _tag: "WaitUntil", at: nextChance(limits, state, now), state }
  // A place in flight is given back by the one call that has it.
  const most = limits.concurrency === null ? Math.max(1, Math.floor(left / share)) : 1
  const made: CallLease = {
    id: asked.id,
    count: Math.max(1, Math.min(asked.wanted, most)),
    at: now + leaseMillis,
    ends: now + leaseMillis + (limits.concurrency === null ? 0 : asked.timeoutMillis)
  }
  return { _tag: "Leased", lease: made, state: { ...state, leases: [...state.leases, made] } }
}

/** What became of a lease: the calls made, the last of them at `lastAt`, all of them over. */
export const report = (
  limits: Limits,
  before: SharedState,
  { id, lastAt, used }: { readonly id: string; readonly used: number; readonly lastAt: number },
  now: number
): SharedState => {
  const found = before.leases.find((one) => one.id === id)
  if (found === undefined) return before
  const state = { ...before, leases: before.leases.filter((one) => one !== found) }
  const count = Math.min(used, found.count)
  return current(limits, count > 0 ? withUsed(limits, state, Math.min(lastAt, found.at), count) : state, now)
}

/** Calls under these leases go on: each holds its place until `ends`. Of a lease that is over: nothing. */
export const keep = (state: SharedState, ids: ReadonlyArray<string>, ends: number): SharedState => ({
  ...state,
  leases: state.leases.map((one) => (ids.includes(one.id) ? { ...one, ends: Math.max(one.ends, ends) } : one))
})

/** What an answer of the provider told. */
export const observe = (state: SharedState, reading: ProviderQuota, now: number): SharedState => ({
  ...state,
  blockedUntil: blockedBy(state.blockedUntil, reading, now)
})

// --- Private ---

const sum = (all: ReadonlyArray<{ readonly count: number }>) => all.reduce((total, { count }) => total + count, 0)

const callsLeft = ({ requests }: Limits, { leases, used }: SharedState) =>
  requests === null ? Number.MAX_SAFE_INTEGER : requests - sum(used) - sum(leases)
const placesLeft = ({ concurrency }: Limits, { leases }: SharedState) =>
  concurrency === null ? Number.MAX_SAFE_INTEGER : concurrency - sum(leases)

/** Something of a lease may come back at any time; calls that were made leave the window one after the other. */
const nextChance = ({ perMillis }: Limits, { leases, used }: SharedState, now: number): number =>
  Math.max(
    now + 1,
    Math.min(...used.map(({ at }) => at + perMillis), ...leases.map(() => now + leaseMillis), now + perMillis)
  )

/** Beside what was used in the same part of the window, at the later of both times. */
const withUsed = ({ perMillis }: Limits, state: SharedState, at: number, count: number): SharedState => {
  const partOf = (time: number) => Math.floor((time * parts) / perMillis)
  const same = state.used.find((one) => partOf(one.at) === partOf(at))
  return same === undefined
    ? { ...state, used: [...state.used, { at, count }] }
    : {
        ...state,
        used: state.used.map((one) => (one === same ? { at: Math.max(one.at, at), count: one.count + count } : one))
      }
}

/** Without what has left the window; a lease that nobody reported counts as used, and as late as it may have been. */
const current = (limits: Limits, state: SharedState, now: number): SharedState => {
  const ended = state.leases.filter(({ ends }) => ends + unreportedMillis <= now)
  const leases = state.leases.filter((one) => !ended.includes(one))
  const all = ended.reduce<SharedState>((made, { at, count }) => withUsed(limits, made, at, count), {
    ...state,
    leases
  })
  return { ...all, used: all.used.filter(({ at }) => at > now - limits.perMillis) }
}

/** A report may be on its way for so long. */
const unreportedMillis = 5_000
