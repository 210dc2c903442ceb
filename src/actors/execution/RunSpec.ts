/** What is needed to drive a run, and the outcomes of driving it. */
import type { AuditEntry } from "../../domain/audit/Audit.js"
import type { RunError } from "../../domain/run/Execution.js"
import type { Json } from "../../domain/Json.js"
import type { History, StartEntry } from "../../domain/run/RunJournal.js"
import type { AppendFailure, Claim, FinishedRun, OpenRun, EventSettlement, RunChange } from "../ports/run/Journal.js"
import type { RunBeginning } from "../ports/run/NodeStarts.js"
import type { Runnable } from "../ports/run/Runnables.js"

/**
 * Whether the run's row says that its guest computes. A death of the process counts against the runs that computed, not
 * against those that waited. The mark of a start or a takeover is part of that commit; it is taken back once the run
 * waits. A run that was taken over after a death is marked again before each turn, until it has written something: other
 * runs pay nothing for their turns.
 */
export interface ComputingMark {
  isSet: boolean
  /** A process died with this run, which has written nothing since. */
  readonly isSuspected: boolean
}

/** A run to be driven. */
export interface RunSpec {
  readonly run: OpenRun
  readonly runnable: Runnable
  readonly start: StartEntry
  /** The history that a resumed run replays; `null` for one that begins. */
  readonly history: History | null
  /** The run has a row, so its appends are fenced by its epoch. */
  readonly hasRow: boolean
  /** The next free sequence number of its journal. */
  readonly nextSeq: number
  /** Bytes of its journal's rows so far. */
  readonly journalBytes: number
  /** Its guest runs in a process of its own, because the run is suspected of killing its process. */
  readonly alone?: boolean
  /** Absent: no process died while it had the run. */
  readonly mark?: ComputingMark
  /** Taken by the first commit. */
  readonly claim?: Claim
  /** The place of the node in the cluster: the first commit fails if the node has lost it (`Ownership.seat`). */
  readonly seat?: string
  /** Written by the first commit. */
  readonly audit?: AuditEntry
  /** The event that starts the run: settled by the first commit, which fails if another node has the event. */
  readonly settles?: EventSettlement
}

/** What the first change of a run has besides its rows. */
export const inFirstChange = ({
  audit,
  claim,
  seat,
  settles
}: RunSpec): Pick<RunChange, "audit" | "claim" | "seat" | "settles"> => ({
  ...(claim === undefined ? {} : { claim }),
  ...(seat === undefined ? {} : { seat }),
  ...(audit === undefined ? {} : { audit }),
  ...(settles === undefined ? {} : { settles })
})

/** How driving a run on this node ended. */
export type DriveOutcome =
  | { readonly _tag: "Ended"; readonly end: FinishedRun }
  /** The run is suspended; a sweep resumes it when it is due. */
  | { readonly _tag: "Suspended" }
  /** The run has another owner, or was ended elsewhere: this node must not touch it again. */
  | { readonly _tag: "Fenced" }
  /** Its Idempotency-Key belongs to the run `target`; this run was never committed. */
  | { readonly _tag: "Repeated"; readonly target: string; readonly hash: string | null }
  /** A change could not be committed; a sweep resumes the run later, possibly on another node. */
  | { readonly _tag: "Unwritten"; readonly reason: string; readonly refusal?: string | undefined }

/** The outcome of driving a run whose change was not committed. */
export const outcomeOfRefusedWrite = (error: AppendFailure): DriveOutcome => {
  switch (error._tag) {
    case "Fenced":
      return { _tag: "Fenced" }
    case "ClaimTaken":
      return { _tag: "Repeated", target: error.target, hash: error.hash }
    case "JournalUnavailable":
      return { _tag: "Unwritten", reason: error.reason, refusal: error.refusal }
    case "ChangeRefused":
      return { _tag: "Unwritten", reason: error.reason }
  }
}

/** An error of a run, without a step and retryable only if it is transient, unless given otherwise. */
export const runError = (error: Pick<RunError, "name" | "message" | "category"> & Partial<RunError>): RunError => ({
  step: null,
  retryable: error.category === "transient",
  ...error
})

/** The error as its record stores it. */
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

/** An Instant run to be driven at once. */
export type DirectStart = RunBeginning & { readonly runnable: Runnable }
