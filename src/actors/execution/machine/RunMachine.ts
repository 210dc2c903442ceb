/**
 * A run as a machine without I/O: what happens goes in as events, what is to be done comes out as commands. It decides the
 * order of turns, calls and commits: nothing leaves the run before everything that it follows from is committed, completed
 * calls are never made again, and after a refused commit or the loss of the run nothing more is asked for.
 */
import type { RunError } from "../../../domain/run/Execution.js"
import type { GuestEvent } from "../../ports/run/Sandbox.js"
import type { RunSpec } from "../RunSpec.js"
import { CallRounds } from "./CallRounds.js"
import { completionOf } from "./Completions.js"
import { GuestTurns } from "./GuestTurns.js"
import { type MachineParts, MachineState } from "./MachineState.js"
import type { MachineCommand, MachineEvent } from "./Messages.js"
import { RunEnding } from "./RunEnding.js"

const nothing: ReadonlyArray<never> = []

export class RunMachine extends MachineState {
  private readonly guests = new GuestTurns(this)
  private readonly ending = new RunEnding(this)
  private readonly calls = new CallRounds(this, this.ending)

  constructor(spec: RunSpec, parts: MachineParts) {
    super(spec, parts)
    this.on("Begun", () => this.guests.open())
  }

  /** Takes an event. `now`: Unix milliseconds. Returns what is to be done, in this order. */
  step(event: MachineEvent, now: number): ReadonlyArray<MachineCommand> {
    if (this.isOver) return nothing
    this.now = now
    this.take(event)
    const { commands } = this
    this.commands = []
    return commands
  }

  goOn(): void {
    this.calls.goOn()
  }

  feed(events: ReadonlyArray<GuestEvent>): void {
    this.guests.feed(events)
  }

  reopen(spec: RunSpec): void {
    this.guests.reopen(spec)
  }

  fail(error: RunError): void {
    this.ending.fail(error)
  }

  private take(event: MachineEvent): void {
    switch (event._tag) {
      case "CallEnded":
        this.completions.add(completionOf(event.call, event.end, this.now, event.held))
        return this.calls.ended()
      case "Committed":
        if (event.failure !== undefined) return this.ending.refused(event.failure)
        this.progress.recordCommit()
        return this.commits.done()
      case "StartOverdue":
        return this.progress.hasRow ? undefined : this.commits.commitAhead(this.progress)
      case "DeadlinePassed":
        return this.ending.timeOut()
      case "ApprovalDecided":
        return this.calls.lookAtApprovals()
      case "Stopped":
        this.abandon()
        this.isOver = true
        return undefined
      default:
        return this.answer(event)
    }
  }

  private answer(event: Exclude<MachineEvent, { readonly _tag: "CallEnded" | "Committed" }>): void {
    const { awaited } = this
    // The answer to something that was given up.
    if (awaited === undefined || (awaited.tag !== event._tag && event._tag !== "Unavailable")) return undefined
    this.awaited = undefined
    if (event._tag === "Unavailable") return this.ending.refused(event.failure)
    // `on` has paired the tag with its function.
    const next = awaited.next as (answer: MachineEvent) => void
    return next(event)
  }
}
