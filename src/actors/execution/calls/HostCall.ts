/**
 * A host call: what the workflow requested, and how the call is made safe to repeat. `Read` is journaled with its result,
 * `Write` commits together with its journal row, `Outside` is made only after everything before it is committed.
 */
import { Data, type Effect, Redacted } from "effect"
import { isObject, type Json } from "../../../domain/Json.js"
import type { RoundedIntegers } from "../../../domain/LargeIntegers.js"
import type { CallFailure, PostponementReason, JournalEntry } from "../../../domain/run/RunJournal.js"
import type { Attempt } from "../../ports/connection/ConnectedCalls.js"
import type { AnswerHolding, Holding } from "../../ports/HeldBytes.js"
import type { Fenced, JournalPlace, JournalUnavailable } from "../../ports/run/Journal.js"
import type { SecretReference } from "../../ports/run/RunReads.js"
import type { RunSpec } from "../RunSpec.js"

export interface HostRequest {
  readonly spec: RunSpec
  readonly name: string
  readonly args: ReadonlyArray<Json>
  /** Characters of the arguments as JSON. */
  readonly size: number
  /** The number of earlier calls of this name in the run, at every repetition the same. */
  readonly nth: number
  /** The path of its step, `sync[3].send`, with its number there, `|0`, unless the call is the step itself. */
  readonly place: string | undefined
  /** The call's idempotency key, the same at every repetition; sent to receivers that accept one. */
  readonly key: string
  readonly notes: CallNotes
}

/** Metadata of a host call for the trace, written while the call is made. */
export interface CallNotes {
  /** Attempts of earlier activations of the run. */
  readonly earlierAttempts: number
  readonly attempts: Array<{
    readonly startedAt: number
    readonly finishedAt: number
    readonly error: CallFailure | null
  }>
  actionVersion: number | null
  /** The key that the receiver got, to recognise a repetition. */
  idempotencyKey?: string
  /** The action that a call of records made, which its name does not say. */
  called?: { readonly connector: string; readonly action: string }
  /** Short secrets that the result may contain: the run's records hide them. */
  hidden?: ReadonlyArray<string>
  /** Integers of the result that are not those that the provider sent. */
  rounded?: RoundedIntegers
  /** Answered by a mock. */
  isMocked: boolean
  /** What the trace shows instead of large arguments, and the members of the result that it shows. */
  shown?: { readonly args: ReadonlyArray<Json>; readonly result: ReadonlyArray<string> }
  /** The place in the journal of the result that it reuses. */
  reuses?: number
}

/** Notes an attempt at a connector's call, and the secrets that its answer may contain. */
export const noteAttempt = (
  notes: CallNotes,
  { finishedAt, shortSecrets, startedAt }: Attempt,
  error: CallFailure | null
) => {
  notes.attempts.push({ startedAt, finishedAt, error })
  if (shortSecrets.length > 0)
    notes.hidden = [...new Set([...(notes.hidden ?? []), ...shortSecrets.map((secret) => Redacted.value(secret))])]
}

/** The call cannot be made before `at` (Unix milliseconds); until then the run may be suspended. */
export interface Postponement {
  readonly _tag: "Postponement"
  readonly at: number
  readonly why: PostponementReason
  /** Attempts so far, over all activations. */
  readonly attempts: number
}

/** A result; for a secret also its text, to be redacted, and the reference that the journal keeps instead. */
export interface HostCallResult {
  readonly value: Json
  readonly secret?: SecretReference & { readonly text: string }
}

/** How a host call ended, or that it has to be made later. */
export type CallEnd =
  | { readonly _tag: "Succeeded"; readonly result: HostCallResult }
  | { readonly _tag: "Failed"; readonly failure: CallFailure }
  | Postponement

/** A call to the outside. Its answer is counted in a holding of the run. */
export type OutsideCall =
  | Effect.Effect<HostCallResult, CallFailure | Postponement, AnswerHolding>
  /** For speed without an effect: calls `done` once, unless the function that it returns has given the call up. */
  | ((holding: Holding, done: (end: CallEnd) => void) => () => void)

/** Nothing was written: the call fails. */
export class WriteRefused extends Data.TaggedError("WriteRefused")<{ readonly failure: CallFailure }> {}

/**
 * Writes, and adds the row that `entry` makes of the result to the journal, in one transaction. `shown`: a value as records
 * show it, without secrets of the run.
 */
export type WriteCall = (
  place: JournalPlace,
  entry: (result: Json) => JournalEntry,
  shown: (value: Json) => Json
) => Effect.Effect<Json, WriteRefused | Fenced | JournalUnavailable>

export type HostCall =
  | { readonly _tag: "Read"; readonly run: Effect.Effect<HostCallResult, CallFailure> }
  | { readonly _tag: "Write"; readonly commit: WriteCall }
  | { readonly _tag: "Outside"; readonly run: OutsideCall }
  | { readonly _tag: "Refused"; readonly failure: CallFailure }

/** The failure of a call as the guest gets it; of category `code` unless another is given. */
export const failure = (
  name: string,
  message: string,
  category: CallFailure["category"] = "code",
  more: Partial<CallFailure> = {}
): CallFailure => ({ name, message, category, ...more })

/** The service's own storage could not be read or written. */
export const unavailableFailure = (error: { readonly reason: string }): CallFailure =>
  failure("Unavailable", `the service cannot read its database: ${error.reason}`, "transient")

/** The node has no memory for the arguments or the answers of a call. */
export const noMemoryFailure = (what: string): CallFailure =>
  failure(
    "MemoryBusy",
    `${what}: the service holds too many bytes for its size now, or your organisation more than its share; ask for less at once, or try again`,
    "transient",
    { code: "MEMORY_BUSY" }
  )

/** A call that is not made. */
export const refusedCall = (failure: CallFailure): HostCall => ({ _tag: "Refused", failure })

/** Whether the call is a timer. Timers do not count towards the calls in flight. */
export const isTimer = (name: string): boolean => name === "timer.sleep"

/** A member of an argument; `undefined` when the argument is no object or lacks it. */
export const memberOf = (value: Json | undefined, name: string): Json | undefined =>
  isObject(value) ? value[name] : undefined
