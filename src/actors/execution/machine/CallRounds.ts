/** The calls of a run between two turns of its guest: makes them in order, waits for them, and records their results. */
import { Duration } from "effect"
import { type RunError, tiers } from "../../../domain/run/Execution.js"
import { guest } from "../../../domain/Limits.js"
import type { GuestEvent } from "../../ports/run/Sandbox.js"
import { approvalCall } from "../calls/ApprovalCalls.js"
import { failure, type HostCall } from "../calls/HostCall.js"
import type { PendingCall } from "../PendingCall.js"
import { journalLimitError, noMemoryError, stuckError, totalCpuError } from "../RunErrors.js"
import { stepName } from "../trace/Trace.js"
import { completedCall, type Completion } from "./Completions.js"
import type { RunEnding } from "./RunEnding.js"
import { outputInquiry } from "./EarlierResults.js"
import { fireTimers, setTimers, takeStartable } from "./Launch.js"
import type { MachineState } from "./MachineState.js"
import type { StateOutcome } from "./Messages.js"
import { recordPostponement, recordResult, resultJson } from "./Recording.js"

/** The answer to a step of a resumed flow that the other run has not completed. */
const notCompleted = failure("NotCompleted", "the resumed run has not completed this step")

/** Arguments below this size cost less than the run itself. */
const smallArguments = 16 * 1024

type Planned<Tag extends HostCall["_tag"]> = readonly [
  call: PendingCall,
  plan: Extract<HostCall, { readonly _tag: Tag }>
]

export class CallRounds {
  /** Whether arguments are counted in the node's memory. */
  private holdsArguments = false
  /** An approval was decided while the call of one was made, which may not know. */
  private hasDecision = false

  constructor(
    private readonly machine: MachineState,
    private readonly ending: RunEnding
  ) {}

  goOn(): void {
    const { machine } = this
    const p = machine.progress
    const { callLimitError } = p
    for (const call of p.cancelled.takeInFlight()) machine.emit({ _tag: "AbortCall", call })
    if (p.cpuMillis > Duration.toMillis(tiers[p.run.tier].cpu)) return machine.fail(totalCpuError(p.run.tier))
    if (p.end !== undefined) return this.ending.finish(p.end)
    if (callLimitError !== undefined) return machine.fail(callLimitError)
    if (p.calls.size === 0) return machine.fail(stuckError(p.standing))
    const isLarge = p.pendingArguments >= smallArguments
    if (!isLarge && !this.holdsArguments) return this.launch()
    this.holdsArguments = isLarge
    machine.ask({ _tag: "HoldArguments", bytes: isLarge ? p.pendingArguments : 0 }, "ArgumentsHeld", ({ hasRoom }) =>
      hasRoom ? this.launch() : machine.fail(noMemoryError)
    )
  }

  /** A call has ended: its result is recorded at once if the run only waits. */
  ended(): void {
    if (!this.machine.progress.isWaiting) return
    this.machine.stopWaiting()
    this.record()
  }

  /** Makes the calls of open approvals again. */
  lookAtApprovals(): void {
    const { progress: p } = this.machine
    this.hasDecision = [...p.inFlight.values()].some(({ name }) => name === approvalCall)
    p.waitingCalls.push(...p.callTimers.takeNamed(approvalCall))
    if (!p.isWaiting) return
    this.machine.stopWaiting()
    this.wait()
  }

  // --- Launch ---

  /** `timersAt`: one time for all new timers, since the guest's clock stood still while it set them. */
  private launch(timersAt = this.machine.now): void {
    const { commits, now, progress: p } = this.machine
    p.enqueue()
    if (p.newTimers.length > 0) {
      setTimers(p, timersAt)
      if (p.newTimers.length > 0) return commits.flush(p, () => this.launch(timersAt))
    }
    const writes: Array<Planned<"Write">> = []
    const outgoing: Array<Planned<"Outside">> = []
    for (const call of takeStartable(p, now)) this.begin(call, writes, outgoing)
    this.write(writes, 0, () => this.send(outgoing))
  }

  private begin(call: PendingCall, writes: Array<Planned<"Write">>, outgoing: Array<Planned<"Outside">>): void {
    const { completions, now, parts, progress: p } = this.machine
    p.begin(call, p.timerEntries.get(call.id)?.since ?? now)
    const entry = p.earlier.find(call)
    if (entry !== undefined) {
      call.notes.reuses = entry.seq
      return this.machine.emit({ _tag: "ReuseResult", call, entry })
    }
    if (call.name === outputInquiry)
      return completions.add(completedCall(call, { ok: false, failure: notCompleted }, now))
    const plan = parts.planCall(p, call, now)
    switch (plan._tag) {
      case "Refused":
        return completions.add(completedCall(call, { ok: false, failure: plan.failure }, now))
      case "Read":
        return this.machine.emit({ _tag: "MakeCall", call, plan })
      case "Write":
        return void writes.push([call, plan])
      case "Outside":
        return void outgoing.push([call, plan])
    }
  }

  /** Writes state, one value after the other, each after everything recorded before it. */
  private write(writes: ReadonlyArray<Planned<"Write">>, nth: number, next: () => void): void {
    const { machine } = this
    const write = writes[nth]
    if (write === undefined) return next()
    const p = machine.progress
    const [call, plan] = write
    machine.commits.flush(p, () => {
      const at = Math.max(machine.now, p.lastEventAt)
      machine.ask({ _tag: "WriteState", call, plan, seq: p.nextSeq(), at }, "StateWritten", ({ outcome }) => {
        if (outcome._tag === "Failed") return this.ending.refused(outcome.failure)
        machine.completions.add(writtenCall(call, outcome, at))
        this.write(writes, nth + 1, next)
      })
    })
  }

  /** Makes calls to the outside, once everything that they follow from is committed. */
  private send(outgoing: ReadonlyArray<Planned<"Outside">>): void {
    const { commits, progress: p } = this.machine
    if (outgoing.length === 0) return this.suspendOrWait()
    commits.flush(p, () => {
      p.outsideCalls += outgoing.length
      for (const [call, plan] of outgoing) this.machine.emit({ _tag: "MakeCall", call, plan })
      this.suspendOrWait()
    })
  }

  // --- Waiting ---

  private suspendOrWait(): void {
    const { commits, progress: p } = this.machine
    if (this.ending.suspend()) return
    // Commits the results so far while the run waits for the rest; a short run is committed once, at its end.
    if (p.hasUnwritten && (p.hasRow || p.hasMuchUnwritten)) commits.flush(p, () => this.wait())
    else this.wait()
  }

  /** Waits until calls have ended, or until a postponed one is due and has a free place. */
  private wait(): void {
    const { completions, now, progress: p } = this.machine
    fireTimers(p, completions, now)
    if (!completions.isEmpty) return this.record()
    if (p.waitingCalls.length > 0 && p.inFlight.size < guest.callsAtOnce) return this.launch()
    p.isWaiting = true
    p.waitingSince = now
    this.machine.ask({ _tag: "Wait", until: p.callTimers.nextDue }, "Woken", () => {
      p.isWaiting = false
      this.wait()
    })
  }

  // --- Results ---

  /** Records calls that have ended, and feeds their results to the guest in the same order. */
  private record(): void {
    const { machine } = this
    const events: Array<GuestEvent> = []
    machine.work(this.recorded(machine.completions.take(), events), (error) => {
      if (error !== undefined) machine.fail(error)
      else if (events.length === 0) this.goOn()
      else machine.feed(events)
    })
  }

  private *recorded(
    completions: ReadonlyArray<Completion>,
    events: Array<GuestEvent>
  ): Generator<void, RunError | undefined> {
    const p = this.machine.progress
    for (const [i, completion] of completions.entries()) {
      if (i > 0) yield
      const { call } = completion
      p.inFlight.delete(call.id)
      p.callsOfLostGuest.delete(call.id)
      // The guest has given the call up; or it was lost, and its replay has already settled the call.
      if (!p.calls.has(call.id)) {
        p.cancelled.ended(call)
        if (completion._tag === "Ended") completion.held?.release()
        continue
      }
      for (const secret of call.notes.hidden ?? []) yield* p.redaction.hide(secret)
      if (completion._tag === "Postponed") {
        recordPostponement(p, completion)
        if (this.hasDecision && call.name === approvalCall) this.lookAtApprovals()
        continue
      }
      p.settle(call)
      p.lastEventAt = Math.max(completion.at, p.lastEventAt)
      if (completion.secret !== undefined) yield* p.redaction.hide(completion.secret.text)
      const json = resultJson(completion)
      const isNew = call.notes.reuses === undefined
      if (isNew && p.journalBytes + json.length > tiers[p.run.tier].journalBytes)
        return journalLimitError(p.run.tier, stepName(call))
      events.push(recordResult(p, completion, json))
    }
    return undefined
  }
}

const writtenCall = (
  call: PendingCall,
  outcome: Exclude<StateOutcome, { readonly _tag: "Failed" }>,
  at: number
): Completion =>
  outcome._tag === "Written"
    ? completedCall(call, { ok: true, value: outcome.value }, at, { isWritten: true })
    : completedCall(call, { ok: false, failure: outcome.failure }, at)
