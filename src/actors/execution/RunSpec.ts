/** What a run is given and what comes of it. */
import { Effect } from "effect"
import type { AuditEntry } from "../../domain/Audit.js"
import type { RunError } from "../../domain/Execution.js"
import type { Json } from "../../domain/Json.js"
import type { History, StartEntry } from "../../domain/RunJournal.js"
import type { AppendFailure, Claim, FinishedRun, OpenRun } from "../ports/Journal.js"
import type { Runnable } from "../ports/Runnables.js"

export interface RunSpec {
  readonly run: OpenRun
  readonly runnable: Runnable
  readonly start: StartEntry
  /** What a resumed run remembers; `null` for one that begins. */
  readonly history: History | null
  /** The run has a row, so its appends are fenced by its epoch. */
  readonly opened: boolean
  /** The next free place in its journal. */
  readonly nextSeq: number
  /** Its guest runs in a process of its own: the run is suspected of ending the one that it runs in. */
  readonly alone?: boolean
  /** Taken and written by the first commit. */
  readonly claim?: Claim
  readonly audit?: AuditEntry
}

export type DriveOutcome =
  | { readonly _tag: "Ended"; readonly end: FinishedRun }
  /** It waits without computing; a sweep brings it back when it is due. */
  | { readonly _tag: "Suspended" }
  /** Nothing may be done here any more: another owner, or the run was ended from outside. */
  | { readonly _tag: "Fenced" }
  /** Its Idempotency-Key belongs to another run; this one was never seen by anyone. */
  | { readonly _tag: "Repeated"; readonly target: string; readonly hash: string | null }
  /** Postgres could not be written; the run goes on later, elsewhere if need be. */
  | { readonly _tag: "Unwritten"; readonly reason: string }

/** The failure of a run as a whole, or the end of this incarnation of it. */
export type Stop = { readonly _tag: "Failed"; readonly error: RunError } | AppendFailure

export const failRun = (error: RunError): Effect.Effect<never, Stop> => Effect.fail({ _tag: "Failed", error })

/** What a write that was refused means for the run on this node. */
export const outcomeOfRefusedWrite = (error: AppendFailure): DriveOutcome => {
  switch (error._tag) {
    case "Fenced":
      return { _tag: "Fenced" }
    case "ClaimTaken":
      return { _tag: "Repeated", target: error.target, hash: error.hash }
    case "JournalUnavailable":
      return { _tag: "Unwritten", reason: error.reason }
    case "ChangeRefused":
      return { _tag: "Unwritten", reason: error.reason }
  }
}

export const runError = (error: Pick<RunError, "name" | "message" | "category"> & Partial<RunError>): RunError => ({
  step: null,
  retryable: error.category === "transient",
  ...error
})

/** An error as the record holds it. */
export const errorJson = (error: RunError): Json => ({
  name: error.name,
  message: error.message,
  category: error.category,
  step: error.step,
  retryable: error.retryable,
  ...(error.code === undefined ? {} : { code: error.code }),
  ...(error.stack === undefined ? {} : { stack: error.stack }),
  ...(error.details === undefined ? {} : { details: error.details })
})
