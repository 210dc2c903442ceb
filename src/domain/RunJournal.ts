/**
 * What a run remembers: its start, the result of every host call, its timers and its attempts.
 * Replaying these in order brings a guest back to where it was. Contract: retry and resume against the journal.
 */
import type { ConnectionId, CustomerId, InstallationId, SecretId } from "./Ids.js"
import type { Mocking } from "./connector/Mocking.js"
import type { ErrorCategory } from "./Execution.js"
import type { Json } from "./Json.js"

/** A connection that the caller of a run named for it. */
export interface ChosenConnection {
  readonly connector: string
  readonly alias: string | null
  readonly id: ConnectionId
}

/** The connectors (by slug), connections and secrets that a run may use; a kind that is absent is not narrowed. */
export interface RunReach {
  readonly connectors?: ReadonlyArray<string>
  readonly connections?: ReadonlyArray<string>
  readonly secrets?: ReadonlyArray<string>
}

/** Everything that the guest is given at its start; exact, never redacted. Times are Unix milliseconds. */
export interface StartEntry {
  readonly kind: "start"
  readonly at: number
  readonly input: Json
  readonly headers: { readonly [name: string]: string }
  readonly customer: { readonly id: CustomerId; readonly ref: string | null } | null
  /** `id` is `null` where the caller gave the values of an installation and named none. */
  readonly installation: { readonly id: InstallationId | null; readonly config: Json } | null
  /** The only connections that the run may use; `null` when the caller set no limit. */
  readonly connections: ReadonlyArray<ChosenConnection> | null
  /** What the key that asked for the run is narrowed to; absent: to nothing. */
  readonly reach?: RunReach
  /** Where the run takes the answers of connectors from; absent: from their providers. */
  readonly mocking?: Mocking
  /** A draft's script: unlike a published version it may change under the run. */
  readonly script: string | null
}

/** A host call's failure as it was fed to the guest. */
export interface CallFailure {
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly data?: Json
  readonly category: ErrorCategory
}

export type CallResult =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly failure: CallFailure }

/** A host call that ended. `hash` identifies the request: name and arguments. */
export interface DoneEntry {
  readonly kind: "done"
  readonly call: number
  readonly hash: string
  readonly at: number
  readonly result: CallResult
  /** The result was this version of a secret; its value is not in the journal. */
  readonly secret?: { readonly secretId: SecretId; readonly number: number }
}

/**
 * A durable timer: when it is due does not depend on who waits for it. It is the workflow's own, or holds a call back
 * that its provider does not take yet.
 */
export interface TimerEntry {
  readonly kind: "timer"
  readonly call: number
  readonly hash: string
  readonly due: number
  /** When the call was made first, in Unix milliseconds. */
  readonly since?: number
  /** Why a call is held back, and after how many attempts; absent for the workflow's own timer. */
  readonly held?: { readonly why: "rate_limit" | "connection"; readonly attempts: number }
}

/** From here on the rows belong to a later attempt. `afresh`: calls of earlier attempts to make anew. */
export interface AttemptEntry {
  readonly kind: "attempt"
  readonly attempt: number
  readonly at: number
  readonly afresh: ReadonlyArray<number>
}

export type JournalEntry = StartEntry | DoneEntry | TimerEntry | AttemptEntry

/** What a replay needs of a journal. */
export interface History {
  readonly start: StartEntry
  readonly attempt: number
  /** Results to feed, in this order; the guest must ask for each, with this hash. */
  readonly replay: ReadonlyArray<DoneEntry>
  /** How many of `replay` were recorded by earlier attempts: what the guest logs during these is recorded already. */
  readonly inherited: number
  /** When timers that have not fired are due, by call. */
  readonly timers: ReadonlyMap<number, TimerEntry>
  /** Successes of earlier attempts that may be used again when call and hash match. */
  readonly reusable: ReadonlyMap<string, DoneEntry>
}

export const reuseKey = (call: number, hash: string): string => `${call}|${hash}`

const isTransient = (entry: DoneEntry): boolean => !entry.result.ok && entry.result.failure.category === "transient"

/** Calls of `entries` that the next attempt makes anew: the transient failures. */
export const transientCalls = (entries: ReadonlyArray<DoneEntry>): ReadonlyArray<number> =>
  entries.filter(isTransient).map((entry) => entry.call)

/** The journal as a replay sees it. The first entry is the start. */
export const history = (start: StartEntry, rest: ReadonlyArray<JournalEntry>): History => {
  let attempt = 1
  let replay: Array<DoneEntry> = []
  let inherited = 0
  const timers = new Map<number, TimerEntry>()
  const reusable = new Map<string, DoneEntry>()
  for (const entry of rest) {
    if (entry.kind === "done") replay.push(entry)
    if (entry.kind === "timer") timers.set(entry.call, entry)
    if (entry.kind === "attempt") {
      const afresh = new Set(entry.afresh)
      const cut = replay.findIndex((done) => afresh.has(done.call))
      if (cut >= 0) {
        for (const done of replay.slice(cut)) {
          if (done.result.ok) reusable.set(reuseKey(done.call, done.hash), done)
        }
        replay = replay.slice(0, cut)
      }
      attempt = entry.attempt
      inherited = replay.length
    }
  }
  for (const done of replay) timers.delete(done.call)
  return { start, attempt, replay, inherited, timers, reusable }
}
