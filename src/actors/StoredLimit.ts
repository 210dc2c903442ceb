/**
 * The decisions on one stored limit of a provider. Each lease is stored before it is given, fenced by the row's revision,
 * so that the limit holds whoever decides, also when two do while its owner changes.
 */
import { Clock, Effect } from "effect"
import {
  extendLeases,
  leaseCalls,
  type LeaseRequest,
  type LeaseTerms,
  observeQuota,
  reportUse,
  type SharedState
} from "../domain/connection/CallLeases.js"
import type { CallLimits, ProviderQuota } from "../domain/connection/CallLimits.js"
import { Unavailable } from "../domain/Failure.js"
import type { LimitKey, ProviderWindows, StoredWindow } from "./ports/connection/ProviderWindows.js"

/** Calls that may be made before `at`, or when to ask again. */
export type LeaseAnswer =
  | { readonly _tag: "Leased"; readonly count: number; readonly at: number }
  | { readonly _tag: "WaitUntil"; readonly at: number }

/** How a lease was used that has ended. */
export interface LeaseReport {
  readonly id: string
  readonly used: number
  readonly lastAt: number
}

export interface StoredLimit {
  readonly lease: (
    limits: CallLimits,
    request: LeaseRequest,
    terms?: LeaseTerms
  ) => Effect.Effect<LeaseAnswer, Unavailable>
  /** Idempotent. */
  readonly report: (
    limits: CallLimits,
    leases: ReadonlyArray<LeaseReport>,
    reading: ProviderQuota | null
  ) => Effect.Effect<void, Unavailable>
  /** Extends leases whose calls are still in flight by `forMillis` from now. Idempotent. */
  readonly keep: (ids: ReadonlyArray<string>, forMillis: number) => Effect.Effect<void, Unavailable>
}

const maxAttempts = 3

/** The limit of this key. What is stored is kept between decisions, and read again when another owner has saved. */
export const makeStoredLimit = (windows: ProviderWindows["Type"], key: LimitKey): StoredLimit => {
  let cached: StoredWindow | undefined
  const turn = Effect.unsafeMakeSemaphore(1)

  /**
   * Decides on the stored state, and saves the result unless it is a refusal; decides again when another owner saved
   * first.
   */
  const decideAndStore = <A extends { readonly _tag: string; readonly state: SharedState }>(
    decide: (state: SharedState, now: number) => A
  ) =>
    Effect.gen(function* () {
      for (let n = 0; n < maxAttempts; n++) {
        const window = cached ?? (yield* windows.load(key))
        const decided = decide(window.state, yield* Clock.currentTimeMillis)
        cached = undefined
        // A refusal changes nothing. The next decision reads what another owner may have saved since.
        if (decided._tag === "WaitUntil") return decided
        if (!(yield* windows.save(key, { ...window, state: decided.state }))) continue
        cached = { state: decided.state, revision: window.revision + 1 }
        return decided
      }
      return yield* new Unavailable({ reason: "the limit is being changed elsewhere", retryAfterSeconds: 1 })
    }).pipe(turn.withPermits(1))

  const change = (evolve: (state: SharedState, now: number) => SharedState) =>
    Effect.asVoid(decideAndStore((state, now) => ({ _tag: "Changed", state: evolve(state, now) })))

  return {
    lease: (limits, request, terms) =>
      Effect.map(
        decideAndStore((state, now) => leaseCalls(limits, state, request, now, terms)),
        (answer) =>
          answer._tag === "Leased"
            ? { _tag: "Leased", count: answer.lease.count, at: answer.lease.at }
            : { _tag: "WaitUntil", at: answer.at }
      ),
    report: (limits, leases, reading) =>
      change((state, now) => {
        const reported = leases.reduce((all, one) => reportUse(limits, all, one, now), state)
        return reading === null ? reported : observeQuota(reported, reading, now)
      }),
    keep: (ids, forMillis) => change((state, now) => extendLeases(state, ids, now + forMillis))
  }
}
