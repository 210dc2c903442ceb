/**
 * Limiter of the calls to a provider, through one connection or all of a connector's. Owners lease calls for a moment and
 * report their use; unreported calls count as used at the latest possible time, so that the limit holds when one dies.
 * Pure and storable; times are Unix milliseconds. Contract: connector definition, `rateLimit`.
 */
import { Schema } from "effect"
import { type CallLimits, type ProviderQuota, nextBlockedUntil } from "./CallLimits.js"

const calls = { at: Schema.Number, count: Schema.Number }

/** Calls that a node may make until `at`. If calls in flight are limited, the lease holds its place until `ends`. */
const CallLease = Schema.Struct({ id: Schema.String, ...calls, ends: Schema.Number })
export type CallLease = typeof CallLease.Type

/**
 * The state of the limiter, as it is stored. `used`: calls that were made at `at` or before. The provider refuses calls
 * before `blockedUntil`.
 */
export const SharedState = Schema.Struct({
  used: Schema.Array(Schema.Struct(calls)),
  leases: Schema.Array(CallLease),
  blockedUntil: Schema.Number
})
export type SharedState = typeof SharedState.Type

/** The state before any call. */
export const unusedState: SharedState = { used: [], leases: [], blockedUntil: 0 }

/** How leases are given: for how long, and at most one part in so many of the calls that are left. */
export interface LeaseTerms {
  /** The time in which leased calls must be made. */
  readonly millis: number
  readonly parts: number
}

/** The resolution at which calls of a window are stored. */
const partsPerWindow = 16
/** Short, and of a part only, so that other nodes get some calls too. */
export const sharedTerms: LeaseTerms = { millis: 250, parts: 4 }
/** The longest lease of one who alone has leases. */
const longestSoleMillis = 5_000
/** Of one who alone has leases: as long as the resolution of the window, so that few are stored. */
export const soleTerms = ({ perMillis }: CallLimits): LeaseTerms => ({
  millis: Math.min(longestSoleMillis, Math.max(sharedTerms.millis, perMillis / partsPerWindow)),
  parts: 1
})

/** A lease, or when to ask again. */
export type LeaseDecision =
  | { readonly _tag: "Leased"; readonly lease: CallLease; readonly state: SharedState }
  | { readonly _tag: "WaitUntil"; readonly at: number; readonly state: SharedState }

/** A node's request for calls. */
export interface LeaseRequest {
  readonly id: string
  /** The number of calls that wait for the lease. */
  readonly wanted: number
  /** The longest time of one call. */
  readonly timeoutMillis: number
}

/** Leases from one to `wanted` calls, or says when to ask again. */
export const leaseCalls = (
  limits: CallLimits,
  before: SharedState,
  request: LeaseRequest,
  now: number,
  { millis, parts }: LeaseTerms = sharedTerms
): LeaseDecision => {
  const state = dropExpired(limits, before, now)
  if (state.blockedUntil > now) return { _tag: "WaitUntil", at: state.blockedUntil, state }
  const left = Math.min(callsLeft(limits, state), placesLeft(limits, state))
  if (left < 1) return { _tag: "WaitUntil", at: nextChance(limits, state, now), state }
  // With limited calls in flight, a lease is for one call, which returns its place.
  const most = limits.concurrency === null ? Math.max(1, Math.floor(left / parts)) : 1
  const callLease: CallLease = {
    id: request.id,
    count: Math.max(1, Math.min(request.wanted, most)),
    at: now + millis,
    ends: now + millis + (limits.concurrency === null ? 0 : request.timeoutMillis)
  }
  return { _tag: "Leased", lease: callLease, state: { ...state, leases: [...state.leases, callLease] } }
}

/** Ends a lease whose `used` calls have ended, the last of them made at `lastAt`. */
export const reportUse = (
  limits: CallLimits,
  before: SharedState,
  { id, lastAt, used }: { readonly id: string; readonly used: number; readonly lastAt: number },
  now: number
): SharedState => {
  const found = before.leases.find((one) => one.id === id)
  if (found === undefined) return before
  const state = { ...before, leases: before.leases.filter((one) => one !== found) }
  const count = Math.min(used, found.count)
  return dropExpired(limits, count > 0 ? addUsed(limits, state, Math.min(lastAt, found.at), count) : state, now)
}

/** Extends leases whose calls are still in flight until `ends`; ended leases are ignored. */
export const extendLeases = (state: SharedState, ids: ReadonlyArray<string>, ends: number): SharedState => ({
  ...state,
  leases: state.leases.map((one) => (ids.includes(one.id) ? { ...one, ends: Math.max(one.ends, ends) } : one))
})

/** Applies the quota in a provider's answer. */
export const observeQuota = (state: SharedState, reading: ProviderQuota, now: number): SharedState => ({
  ...state,
  blockedUntil: nextBlockedUntil(state.blockedUntil, reading, now)
})

// --- Arithmetic of a window ---

const sum = (all: ReadonlyArray<{ readonly count: number }>) => all.reduce((total, { count }) => total + count, 0)

const callsLeft = ({ requests }: CallLimits, { leases, used }: SharedState) =>
  requests === null ? Number.MAX_SAFE_INTEGER : requests - sum(used) - sum(leases)
const placesLeft = ({ concurrency }: CallLimits, { leases }: SharedState) =>
  concurrency === null ? Number.MAX_SAFE_INTEGER : concurrency - sum(leases)

/** The pause before asking again while leases are given, since one can be returned at any time. */
const pollMillis = 100

/** When calls may be left again: a lease is returned, or used calls leave the window, one by one. */
const nextChance = ({ perMillis }: CallLimits, { leases, used }: SharedState, now: number): number =>
  Math.max(
    now + 1,
    Math.min(...used.map(({ at }) => at + perMillis), ...leases.map(() => now + pollMillis), now + perMillis)
  )

/** Adds calls to those in the same part of the window, at the later of both times. */
const addUsed = ({ perMillis }: CallLimits, state: SharedState, at: number, count: number): SharedState => {
  const partOf = (time: number) => Math.floor((time * partsPerWindow) / perMillis)
  const same = state.used.find((one) => partOf(one.at) === partOf(at))
  return same === undefined
    ? { ...state, used: [...state.used, { at, count }] }
    : {
        ...state,
        used: state.used.map((one) => (one === same ? { at: Math.max(one.at, at), count: one.count + count } : one))
      }
}

/** The state without calls that have left the window. An unreported lease counts as used at the latest possible time. */
const dropExpired = (limits: CallLimits, state: SharedState, now: number): SharedState => {
  const ended = state.leases.filter(({ ends }) => ends + reportGraceMillis <= now)
  const leases = state.leases.filter((one) => !ended.includes(one))
  const all = ended.reduce<SharedState>((result, { at, count }) => addUsed(limits, result, at, count), {
    ...state,
    leases
  })
  return { ...all, used: all.used.filter(({ at }) => at > now - limits.perMillis) }
}

/** The time that a report may take to arrive. */
const reportGraceMillis = 5_000
