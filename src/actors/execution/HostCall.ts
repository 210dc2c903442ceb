/** What a host call is: what a workflow asked, and how that is made safe to repeat. */
import type { Effect } from "effect"
import type { Json } from "../../domain/Json.js"
import type { CallFailure } from "../../domain/RunJournal.js"
import type { StateWrite, Store } from "../ports/KeyValues.js"
import type { SecretReference } from "../ports/RunReads.js"
import type { RunSpec } from "./RunSpec.js"

export interface HostRequest {
  readonly spec: RunSpec
  readonly name: string
  readonly args: ReadonlyArray<Json>
  /** The same at every repetition of this call: sent on wherever the other side has a place for it. */
  readonly key: string
  readonly notes: CallNotes
}

/** What there is to tell of a call beside its result. Written by whoever makes it. */
export interface CallNotes {
  /** Attempts of earlier activations of the run. */
  readonly made: number
  readonly attempts: Array<{
    readonly startedAt: number
    readonly finishedAt: number
    readonly error: CallFailure | null
  }>
  actionVersion: number | null
  /** Answered by a mock. */
  mocked: boolean
}

/** The call cannot be made before `at` (Unix milliseconds); meanwhile the run needs nothing. */
export interface Postponement {
  readonly _tag: "Postponement"
  readonly at: number
  readonly why: "rate_limit" | "connection"
  /** Attempts so far. */
  readonly attempts: number
}

/** A result and, for a secret, what the journal keeps instead of it. */
export interface HostCallResult {
  readonly value: Json
  readonly secret?: SecretReference & { readonly text: string }
}

export type HostCall =
  | { readonly _tag: "Read"; readonly run: Effect.Effect<HostCallResult, CallFailure> }
  | { readonly _tag: "Write"; readonly store: Store; readonly write: StateWrite }
  | { readonly _tag: "Outside"; readonly run: Effect.Effect<HostCallResult, CallFailure | Postponement> }
  | { readonly _tag: "Refused"; readonly failure: CallFailure }

export const failure = (
  name: string,
  message: string,
  category: CallFailure["category"] = "code",
  more: Partial<CallFailure> = {}
): CallFailure => ({ name, message, category, ...more })

export const refusedCall = (failure: CallFailure): HostCall => ({ _tag: "Refused", failure })

/** A call that only waits: it holds no place among those that are under way. */
export const isTimer = (name: string): boolean => name === "timer.sleep"
