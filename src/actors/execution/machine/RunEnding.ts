/** How a run leaves its node: it ends, is suspended until a time, waits for its next attempt, or has lost its place. */
import { Duration } from "effect"
import {
  backoff,
  decide,
  evolve,
  isEnd,
  type RunEnd,
  type RunError,
  type RunEvent,
  type RunRefused,
  type WaitingUntil
} from "../../../domain/run/Execution.js"
import { findUnstorable, type Json, unstorableMessage } from "../../../domain/Json.js"
import { guest } from "../../../domain/Limits.js"
import { buildHistory, type History, type JournalIndex, transientCalls } from "../../../domain/run/RunJournal.js"
import type { AppendFailure, OpenRun } from "../../ports/run/Journal.js"
import type { GuestEnd } from "../PendingCall.js"
import type { Progress } from "../Progress.js"
import { notRecordableError, notStorableError, timedOutError } from "../RunErrors.js"
import { finishedRun } from "../RunResult.js"
import { outcomeOfRefusedWrite } from "../RunSpec.js"
import { stepName } from "../trace/Trace.js"
import { shortTimerMillis } from "./Launch.js"
import type { MachineState } from "./MachineState.js"

export class RunEnding {
  /** What the caller of a flow is answered if the run fails now. */
  private reply: { readonly status: number; readonly body: Json } | undefined

  constructor(private readonly machine: MachineState) {}

  // --- The end ---

  /** Ends the run with what the guest returned or threw, once the output satisfies its contract. */
  finish(end: GuestEnd): void {
    const { machine } = this
    const p = machine.progress
    if (!end.ok) {
      if (end.reply !== undefined) this.reply = end.reply
      return machine.fail(end.error)
    }
    const { continued = false, status, value } = end
    if (status !== undefined) p.answerStatus = status
    const bad = findUnstorable(value)
    if (bad !== undefined) return machine.fail(notStorableError(bad.path, unstorableMessage[bad.reason]))
    const complete = (): void => this.end(decide(p.run, { _tag: "Succeed", continued }), value, null)
    if (p.spec.runnable.outputContract === null) return complete()
    machine.ask({ _tag: "CheckOutput", value }, "OutputChecked", ({ violation }) =>
      violation === undefined ? complete() : machine.fail(violation)
    )
  }

  /** Ends the run with a failure, or schedules its next attempt if its retry policy and the error's category allow it. */
  fail(error: RunError): void {
    const p = this.machine.progress
    const event = decide(p.run, { _tag: "Fail", error })
    if (event._tag === "RetryScheduled") this.retry(evolve(p.run, event))
    else {
      const { reply } = this
      if (reply !== undefined) p.answerStatus = reply.status
      this.end(event, reply?.body ?? null, p.redaction.error(error))
    }
  }

  timeOut(): void {
    const { machine } = this
    if (machine.isEnding) return
    machine.abandon()
    this.end(decide(machine.progress.run, { _tag: "PassDeadline" }), null, timedOutError)
  }

  /** A change was not committed: the run has another owner, is repeated, cannot be stored, or goes on later. */
  refused(failure: AppendFailure): void {
    const { machine } = this
    machine.commits.drop()
    if (failure._tag !== "ChangeRefused" || machine.isEnding) return machine.settle(outcomeOfRefusedWrite(failure))
    // Nothing else of the change is recorded.
    machine.progress.forgetRefusedChange()
    machine.abandon()
    const error = notRecordableError(failure.reason)
    this.end(decide(machine.progress.run, { _tag: "Fail", error }), null, error)
  }

  /** Commits the end with what tells of it. The run is fenced when it may no longer end in this way. */
  private end(event: RunEvent | RunRefused, output: Json, error: RunError | null): void {
    const { machine } = this
    const p = machine.progress
    if (!isEnd(event)) return machine.settle({ _tag: "Fenced" })
    machine.isEnding = true
    machine.work(p.redaction.stepsLeft, () => this.commitEnd(event, output, error))
  }

  private commitEnd({ status, statusReason }: RunEnd, output: Json, error: RunError | null): void {
    const { machine } = this
    const p = machine.progress
    const result = { status, statusReason, output: p.show(output), error, at: machine.now }
    const end = finishedRun(p.run, result, p, guest.memoryBytes)
    machine.ask({ _tag: "FindMessages", end }, "MessagesFound", ({ messages }) => {
      machine.parts.prediction.learn(p.program, p.outsideCalls)
      machine.commits.commit(p, { end, ...messages }, () => machine.settle({ _tag: "Ended", end: { ...end, output } }))
    })
  }

  // --- Suspension and retry ---

  /** Suspends the run until its next timer, if all pending calls are durable timers that are not due soon. */
  suspend(): boolean {
    const { machine } = this
    const p = machine.progress
    const until = suspensionEnd(p, machine.now)
    if (until === undefined) return false
    const call = [...p.calls.values()].find(({ id }) => p.timerEntries.get(id)?.due === until)
    const kind = (call === undefined ? undefined : p.timerEntries.get(call.id)?.held?.why) ?? "wait"
    const waiting: WaitingUntil = {
      kind,
      step: call === undefined ? null : (call.inStep?.path ?? stepName(call)),
      until
    }
    this.commitSuspension(p.run, waiting, () => machine.settle({ _tag: "Suspended" }))
    return true
  }

  /** Commits the suspension with everything not yet written. `run`: the state to suspend; for a retry that of the next attempt. */
  private commitSuspension(run: OpenRun, waiting: WaitingUntil, next: (suspended: OpenRun) => void): void {
    const { machine } = this
    const p = machine.progress
    const event = decide(run, { _tag: "Suspend", at: machine.now, waiting })
    if (event._tag !== "Suspended") return machine.settle({ _tag: "Fenced" })
    const { deadlineAt, wakeAt } = event
    const attempt = run.attempt === p.run.attempt ? {} : { attempt: run.attempt }
    const suspended = evolve(run, event)
    machine.commits.commit(p, { patch: { wakeAt, deadlineAt, waiting, ...attempt } }, () => next(suspended))
  }

  /** Suspends the run until the back-off of its next attempt is over; an Instant run waits in memory instead. */
  private retry(failed: OpenRun): void {
    this.reply = undefined
    const { machine } = this
    const { parts, progress: p } = machine
    const delay = backoff(p.spec.runnable.retry, failed.attempt, parts.random())
    const until = machine.now + Duration.toMillis(delay)
    machine.abandon()
    this.readHistory(({ history }) => {
      const { attempt } = failed
      p.record({ kind: "attempt", attempt, at: machine.now, afresh: transientCalls(history.replay) })
      this.commitSuspension(failed, { kind: "retry", step: null, until }, (suspended) => {
        if (p.run.tier !== "instant") machine.settle({ _tag: "Suspended" })
        else machine.ask({ _tag: "Pause", until }, "Woken", () => this.beginAttempt(suspended))
      })
    })
  }

  private beginAttempt(suspended: OpenRun): void {
    const { machine } = this
    const resumed = decide(suspended, { _tag: "Resume", at: machine.now })
    if (resumed._tag !== "Resumed") return machine.settle({ _tag: "Fenced" })
    this.readHistory(({ history, index }) =>
      machine.reopen({
        ...machine.progress.spec,
        run: evolve(suspended, resumed),
        hasRow: true,
        history,
        nextSeq: index.rest.length + 1,
        journalBytes: index.bytes
      })
    )
  }

  /** Reads the run's journal once everything so far is committed. */
  private readHistory(next: (read: { readonly index: JournalIndex; readonly history: History }) => void): void {
    const { commits, progress: p } = this.machine
    commits.flush(p, () =>
      this.machine.ask({ _tag: "ReadIndex" }, "IndexRead", ({ index }) =>
        next({ index, history: buildHistory(p.spec.start, index.rest) })
      )
    )
  }
}

/** When a suspension would end; `undefined` unless all pending calls are durable timers that are not due soon. */
const suspensionEnd = (p: Progress, now: number): number | undefined => {
  const { nextDue, size } = p.callTimers
  const isBusy = size < p.calls.size || p.inFlight.size > 0
  if (p.run.tier === "instant" || nextDue === undefined || isBusy) return undefined
  return nextDue - now > shortTimerMillis ? nextDue : undefined
}
