/**
 * What a run's machine is told, and what it asks for. The machine has no clock, no port and no effect: `RunDriver` tells it
 * what happened, with the time, and does what it asks.
 */
import type { RunError } from "../../../domain/run/Execution.js"
import type {
  CallFailure,
  IndexedCall,
  IndexedResult,
  JournalIndex,
  RecordedResult
} from "../../../domain/run/RunJournal.js"
import type { Json } from "../../../domain/Json.js"
import type { AppendFailure, FinishedRun, JournalUnavailable, RunChange } from "../../ports/run/Journal.js"
import type { GuestEvent, Program, TurnAnswer } from "../../ports/run/Sandbox.js"
import type { CallEnd, HostCall, HostCallResult } from "../calls/HostCall.js"
import type { EndMessages } from "../EndMessages.js"
import type { PendingCall } from "../PendingCall.js"
import type { DriveOutcome } from "../RunSpec.js"

/** What an answer takes of the node's memory. */
export interface HeldAnswer {
  readonly bytes: number
  readonly release: () => void
}

/** A result of the journal. `secret`: what the reference in it leads to; `null` if that is gone. */
export interface ReplayedResult {
  readonly result: RecordedResult
  readonly secret?: HostCallResult | null
}

/** A state write that the journal cannot take back: its row is written with it, or it is refused. */
export type StateOutcome =
  | { readonly _tag: "Written"; readonly value: Json }
  | { readonly _tag: "Refused"; readonly failure: CallFailure }
  | { readonly _tag: "Failed"; readonly failure: AppendFailure }

/** What happened. Answers come once for the command that asks. */
export type MachineEvent =
  | { readonly _tag: "Begun" }
  /** The guest has computed. */
  | { readonly _tag: "Turned"; readonly answer: TurnAnswer }
  | {
      readonly _tag: "CallEnded"
      readonly call: PendingCall
      readonly end: CallEnd
      readonly held?: HeldAnswer | undefined
    }
  | { readonly _tag: "StateWritten"; readonly outcome: StateOutcome }
  | { readonly _tag: "Committed"; readonly failure: AppendFailure | undefined }
  | { readonly _tag: "PageRead"; readonly results: ReadonlyArray<ReplayedResult> }
  | { readonly _tag: "IndexRead"; readonly index: JournalIndex }
  /** What was asked of the database could not be read or written. */
  | { readonly _tag: "Unavailable"; readonly failure: JournalUnavailable }
  | { readonly _tag: "Marked" }
  | { readonly _tag: "ArgumentsHeld"; readonly hasRoom: boolean }
  | { readonly _tag: "OutputChecked"; readonly violation: RunError | undefined }
  | { readonly _tag: "MessagesFound"; readonly messages: EndMessages }
  | { readonly _tag: "StepsTakenOver" }
  /** The time that the machine waited for has come. */
  | { readonly _tag: "Woken" }
  /** The run may use the main thread for another slice. */
  | { readonly _tag: "Continued" }
  /** The start has waited for its commit long enough. */
  | { readonly _tag: "StartOverdue" }
  | { readonly _tag: "DeadlinePassed" }
  /** Someone decided about an approval of the run. */
  | { readonly _tag: "ApprovalDecided" }
  /** The run was ended elsewhere, has another owner, or the node leaves. */
  | { readonly _tag: "Stopped" }

/** What is to be done. */
export type MachineCommand =
  /** Each of the two is answered by `Turned`. */
  | { readonly _tag: "StartGuest"; readonly program: Program; readonly events: ReadonlyArray<GuestEvent> }
  | { readonly _tag: "Feed"; readonly events: ReadonlyArray<GuestEvent> }
  | { readonly _tag: "CloseGuest" }
  /** Answered by `Committed`. `releases`: what is called once it is committed. */
  | { readonly _tag: "Commit"; readonly change: RunChange; readonly releases: ReadonlyArray<() => void> }
  /** Answered by `CallEnded`, each of the two. */
  | {
      readonly _tag: "MakeCall"
      readonly call: PendingCall
      readonly plan: Extract<HostCall, { readonly _tag: "Read" | "Outside" }>
    }
  | { readonly _tag: "ReuseResult"; readonly call: PendingCall; readonly entry: IndexedResult }
  /** Answered by `StateWritten`. `at`: the time of the entry. */
  | {
      readonly _tag: "WriteState"
      readonly call: PendingCall
      readonly plan: Extract<HostCall, { readonly _tag: "Write" }>
      readonly seq: number
      readonly at: number
    }
  /** Answered by `PageRead`, whose results are held until the guest has taken them. `next`: the page that will be asked for then. */
  | {
      readonly _tag: "ReadPage"
      readonly page: ReadonlyArray<IndexedCall>
      readonly next: ReadonlyArray<IndexedCall> | undefined
    }
  | { readonly _tag: "ReadIndex" }
  /** Copies the first rows of the parent's trace, but for the open ones. Answered by `StepsTakenOver`. */
  | { readonly _tag: "TakeOverSteps"; readonly rows: number; readonly open: ReadonlyArray<number> }
  | { readonly _tag: "MarkComputing" }
  /** Counts the arguments of the calls that have not ended. Answered by `ArgumentsHeld`. */
  | { readonly _tag: "HoldArguments"; readonly bytes: number }
  | { readonly _tag: "CheckOutput"; readonly value: Json }
  | { readonly _tag: "FindMessages"; readonly end: FinishedRun }
  /** The run needs no processor until a call ends or, if it is given, this time has come. */
  | { readonly _tag: "Wait"; readonly until: number | undefined }
  /** Nothing is done until this time, Unix milliseconds. */
  | { readonly _tag: "Pause"; readonly until: number }
  /** There is more to compute; other runs may come first. Answered by `Continued`. */
  | { readonly _tag: "Continue" }
  /** Gives up one call, which gives no answer any more. */
  | { readonly _tag: "AbortCall"; readonly call: PendingCall }
  | { readonly _tag: "AbortCalls" }
  /** The last command. */
  | { readonly _tag: "Settle"; readonly outcome: DriveOutcome }
