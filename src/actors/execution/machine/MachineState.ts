/** What the parts of a run's machine share: its progress, its commits, the time, and what it waits for. */
import type { RunError } from "../../../domain/run/Execution.js"
import type { GuestEvent } from "../../ports/run/Sandbox.js"
import type { CallPrediction } from "../calls/CallPrediction.js"
import { Progress, type ProgressPorts } from "../Progress.js"
import type { DriveOutcome, RunSpec } from "../RunSpec.js"
import { CommitOrder } from "./CommitOrder.js"
import { Completions } from "./Completions.js"
import type { CallPlanner } from "./Launch.js"
import type { MachineCommand, MachineEvent } from "./Messages.js"

/** Functions of a node that the machines of all its runs share. Pure, but for new ids and the prediction. */
export interface MachineParts {
  readonly progress: ProgressPorts
  readonly planCall: CallPlanner
  readonly startEvent: (spec: RunSpec) => GuestEvent
  readonly prediction: CallPrediction
  /** From [0, 1). */
  readonly random: () => number
}

/** Events that answer a command. The others come at any time. */
export type AnswerTag = Exclude<
  MachineEvent["_tag"],
  "CallEnded" | "Committed" | "StartOverdue" | "DeadlinePassed" | "ApprovalDecided" | "Stopped" | "Unavailable"
>
export type EventOf<Tag extends MachineEvent["_tag"]> = Extract<MachineEvent, { readonly _tag: Tag }>

export abstract class MachineState {
  progress: Progress
  completions = new Completions()
  readonly commits = new CommitOrder((command) => this.emit(command))
  /** Unix milliseconds. */
  now = 0
  /** The run's end is decided, and is being committed. */
  isEnding = false
  /** Nothing more is asked for. */
  isOver = false
  protected commands: Array<MachineCommand> = []
  /** What the machine waits for, and how it goes on; `undefined` while it waits for a commit. */
  protected awaited: { readonly tag: AnswerTag; readonly next: (event: never) => void } | undefined

  constructor(
    spec: RunSpec,
    readonly parts: MachineParts
  ) {
    this.progress = new Progress(spec, parts.progress)
  }

  // --- Transitions that lead from one part to another ---

  /** The guest waits, or has ended: ends the run, or makes the guest's calls. */
  abstract goOn(): void
  /** Gives the guest the results of calls. */
  abstract feed(events: ReadonlyArray<GuestEvent>): void
  /** Replaces the guest by a new one that replays the history of `spec`. */
  abstract reopen(spec: RunSpec): void
  /** Ends the run with a failure, or schedules its next attempt. */
  abstract fail(error: RunError): void

  // --- Commands and their answers ---

  emit(command: MachineCommand): void {
    this.commands.push(command)
  }

  /** Goes on with `next` when the event comes. */
  on<Tag extends AnswerTag>(tag: Tag, next: (event: EventOf<Tag>) => void): void {
    this.awaited = { tag, next }
  }

  ask<Tag extends AnswerTag>(command: MachineCommand, tag: Tag, next: (event: EventOf<Tag>) => void): void {
    this.emit(command)
    this.on(tag, next)
  }

  /** Works in steps between which other runs may come first; then goes on with the result. */
  work<A>(steps: Iterator<void, A>, next: (result: A) => void): void {
    const step = steps.next()
    if (step.done === true) return next(step.value)
    this.ask({ _tag: "Continue" }, "Continued", () => this.work(steps, next))
  }

  /** Commits while the guest computes where the previous run of the program made another call here. */
  commitAhead(): void {
    const { parts, progress } = this
    if (parts.prediction.expectsCall(progress.program, progress.outsideCalls)) this.commits.commitAhead(progress)
  }

  /** Does not go on with what it waits for. */
  stopWaiting(): void {
    this.awaited = undefined
    this.progress.isWaiting = false
  }

  /** Gives up what the run waits for and has outside of itself. Commits go on. */
  abandon(): void {
    this.stopWaiting()
    this.commits.forget()
    if (!this.completions.isEmpty) this.completions = new Completions()
    this.emit({ _tag: "AbortCalls" })
    this.emit({ _tag: "CloseGuest" })
  }

  settle(outcome: DriveOutcome): void {
    this.abandon()
    this.isOver = true
    this.emit({ _tag: "Settle", outcome })
  }
}
