/**
 * The state of one run in memory: its pending calls, the rows not yet committed, its metrics. Only the fiber that drives
 * the run changes it; the journal has everything that must survive the process.
 */
import { BriefMap } from "../../domain/BriefMap.js"
import type { RunError } from "../../domain/run/Execution.js"
import { guest } from "../../domain/Limits.js"
import { RunRedaction } from "./RunRedaction.js"
import type { Json } from "../../domain/Json.js"
import type { JournalEntry, StartEntry, TimerEntry } from "../../domain/run/RunJournal.js"
import type { LogChunk, OpenRun, RunChange, StepRow } from "../ports/run/Journal.js"
import type { GuestOutput, StepOutput, Turn } from "../ports/run/Sandbox.js"
import { thrownError, tooManyCallsError, tooManyArgumentsError } from "./RunErrors.js"
import { inFirstChange, type RunSpec } from "./RunSpec.js"
import { CallTimers } from "./calls/CallTimers.js"
import { isTimer } from "./calls/HostCall.js"
import { type GuestEnd, type PendingCall, pendingCall, tracedName } from "./PendingCall.js"
import { CancelledCalls } from "./machine/CancelledCalls.js"
import { EarlierResults, outputInquiry } from "./machine/EarlierResults.js"
import { putStepRow, reportedStepRow } from "./trace/StepTrace.js"
import { type Offload, Recorded, shownName, shownValue, stepRow, type TracedCall } from "./trace/Trace.js"

/** What a progress needs of the world: ids, hashes, and the idempotency keys of calls. */
export interface ProgressPorts {
  readonly offload: Offload
  readonly hash: (text: string) => string
  readonly keyOf: (p: Progress, call: PendingCall) => string
}

/** An entry after the start. */
type RunEntry = Exclude<JournalEntry, StartEntry>
/** What a run without a row collects before it is committed. */
const maxRows = 200
const maxCharacters = 256 * 1024

/** Distance of the log sequence numbers of two attempts: later attempts sort after earlier ones. */
const attemptStride = 1_000_000

/** The state of one run while this node drives it. */
export class Progress {
  /** The run's row as it was read or last committed. */
  run: OpenRun
  /** Whether the run has a row, so that its changes are fenced by its epoch. */
  hasRow: boolean
  /** Calls that have not ended, by their number. */
  readonly calls = new BriefMap<number, PendingCall>()
  /** Calls that wait until fewer than `guest.callsAtOnce` are in flight, in the guest's order. */
  readonly waitingCalls: Array<PendingCall> = []
  /** Timers that the guest made and that are not yet set. */
  newTimers: Array<PendingCall> = []
  /** Set timers and postponed calls. */
  readonly callTimers = new CallTimers<PendingCall>()
  /** Calls that are being made, by their number; at most `guest.callsAtOnce`. */
  readonly inFlight = new BriefMap<number, PendingCall>()
  /** Calls in flight of guests that were lost before this one: they go on, and are not made again. */
  readonly callsOfLostGuest = new BriefMap<number, PendingCall>()
  /** Calls that began and whose step is not yet written, by their number, in the order in which they began. */
  readonly unshownCalls = new BriefMap<number, PendingCall>()
  readonly cancelled = new CancelledCalls((call) => this.ports.keyOf(this, call))
  /** Characters of the arguments of all calls that have not ended. */
  pendingArguments = 0
  /** Journaled timers and postponements of pending calls, by call number. */
  timerEntries: Map<number, TimerEntry>
  /** What earlier attempts, and the run that this one resumes, have left. */
  readonly earlier: EarlierResults
  /** What the workflow returned or threw; `undefined` until then. */
  end: GuestEnd | undefined
  /** Calls that the guest has made so far; also the number of the next one. */
  callCount = 0
  cpuMillis = 0
  peakMemoryBytes = 0
  /** One more than the last row that has ended. */
  private stepCount = 0
  succeeded = 0
  failed = 0
  skipped = 0
  /** The status of the answer, if the flow says one. */
  answerStatus: number | undefined
  slowest: { readonly step: string; readonly millis: number } | null = null
  /** Calls by which steps of a resumed flow ask for their outputs: they are no rows of the trace. */
  private inquiries = 0
  /** Number of calls to the outside. */
  outsideCalls = 0
  /** Knows the secrets that the run has used. */
  readonly redaction = new RunRedaction()
  /** Give back what the fed answers take of the node's memory; called when they are committed. */
  unwrittenAnswers: Array<() => void> = []
  /** Bytes of the run's journal so far, about. */
  journalBytes: number
  /** The guest's clock: the time of the last event that was fed, in Unix milliseconds. */
  lastEventAt: number
  /** Whether the run waits for its calls and timers, and needs no processor meanwhile. */
  isWaiting = false
  /** Since when, in Unix milliseconds. */
  waitingSince = 0
  private seq: number
  private readonly callsPerStep = new Map<string, number>()
  private logLines = 0
  private enqueuedCount = 0
  /** The first change of a run also takes its claim, writes its audit entry, settles its event and needs its seat. */
  private isFirstChange: boolean
  /** Whether a change of this run was committed since it was activated. */
  private hasCommitted = false
  /** The step in whose code the guest stands, if it told. */
  standing: string | undefined
  private entries: Array<{ readonly seq: number; readonly entry: RunEntry }> = []
  private steps: Array<StepRow> = []
  private logs: Array<LogChunk> = []
  private recorded = new Recorded()
  /** Identifies the code that the guest runs, the same for all runs of a version. */
  readonly program: string

  constructor(
    readonly spec: RunSpec,
    readonly ports: ProgressPorts
  ) {
    const { contentHash, organisationId, workflowId } = spec.runnable
    this.program = `${organisationId}/${workflowId}/${contentHash}`
    this.run = spec.run
    this.hasRow = spec.hasRow
    this.isFirstChange = !spec.hasRow
    this.seq = spec.nextSeq
    this.timerEntries = new Map(spec.history?.timers ?? [])
    this.earlier = new EarlierResults(spec.history)
    this.lastEventAt = spec.start.at
    this.journalBytes = spec.journalBytes
  }

  // --- Outputs of the guest ---

  /**
   * Adds the outputs of one event. `recorded`: an earlier attempt has written their log lines. `stepsWritten`: the states
   * of steps are committed, since a later result is.
   */
  absorb(outputs: ReadonlyArray<GuestOutput>, at: number, recorded: boolean, stepsWritten = false): void {
    const lines: Array<LogChunk["lines"][number]> = []
    const start = this.logLines
    for (const output of outputs) {
      switch (output.t) {
        case "call":
          this.addCall(output)
          break
        case "log":
          if (++this.logLines <= guest.logLines) {
            lines.push({ at: new Date(at).toISOString(), level: output.level, message: this.redaction.text(output.m) })
            this.recorded.characters += output.m.length
          }
          break
        case "cancel":
          for (const id of output.ids) this.cancelled.cancel(this, id, at, stepsWritten)
          break
        case "step":
          this.addStep(output, at, stepsWritten)
          break
        case "at":
          this.standing = output.p
          break
        case "ret":
          this.end = { ok: true, value: output.v, status: output.status, continued: output.continued === true }
          break
        case "throw":
          this.end = { ok: false, error: thrownError(output.e), reply: output.reply }
          break
      }
    }
    if (lines.length > 0 && !recorded) this.logs.push({ seq: this.run.attempt * attemptStride + start, lines })
  }

  private addCall(output: Extract<GuestOutput, { t: "call" }>): void {
    const { id } = output
    // The replay of a lost guest repeats calls that are already pending.
    if (id < this.callCount) return
    this.callCount = id + 1
    // The run will fail at its next step; it must not use more memory until then.
    if (this.callLimitError !== undefined) return
    if (output.name === outputInquiry) this.inquiries++
    const step = tracedName(output.name, this.spec.runnable.bindings)
    const nth = this.callsPerStep.get(step) ?? 0
    this.callsPerStep.set(step, nth + 1)
    const call = pendingCall(output, step, nth, this.ports.hash)
    this.calls.set(id, call)
    this.pendingArguments += call.size
  }

  /** Counts a step that has ended, and adds its state to the next change. */
  private addStep(output: StepOutput, at: number, isWritten: boolean): void {
    if (output.s === "completed") this.succeeded++
    else if (output.s === "failed") this.failed++
    else if (output.s === "skipped") this.skipped++
    this.countRow(output.r)
    if (isWritten) return
    if (output.keep === true && output.v !== undefined) this.keepOutput(output.p, output.v, at)
    const before = this.recorded.characters
    putStepRow(this.steps, reportedStepRow(output, at, this.redaction.scrub, this.ports.offload, this.recorded))
    // What steps show is bounded together with the results of calls.
    this.journalBytes += this.recorded.characters - before
  }

  /** Journals the output of a step, for runs that resume this one. */
  private keepOutput(place: string, value: Json, at: number): void {
    if (this.earlier.keepOutput(place))
      this.record({ kind: "output", place, at, ok: true, json: JSON.stringify(value) })
  }

  /** Counts a row of the trace. */
  countRow(row: number): void {
    this.stepCount = Math.max(this.stepCount, row + 1)
  }

  /** Rows of the trace so far: host calls, and steps. */
  get rowCount(): number {
    return Math.max(this.callCount, this.stepCount) - this.inquiries
  }

  /** The error of a run that made too many calls or calls with too large arguments. */
  get callLimitError(): RunError | undefined {
    if (this.callCount - this.inquiries > guest.calls) return tooManyCallsError
    return this.pendingArguments > guest.pendingArguments ? tooManyArgumentsError : undefined
  }

  /** Moves calls that the guest has made to `newTimers` or, with the timers of earlier runs, to `waitingCalls`. */
  enqueue(): void {
    for (; this.enqueuedCount < this.callCount; this.enqueuedCount++) {
      const call = this.calls.get(this.enqueuedCount)
      if (call === undefined) continue
      if (isTimer(call.name) && this.earlier.find(call) === undefined) this.newTimers.push(call)
      else this.waitingCalls.push(call)
    }
  }

  /** Records that a call has begun. */
  begin(call: PendingCall, at: number): void {
    call.startedAt = at
    // Deleted first, so that the call moves to the end: the map is in the order in which calls began.
    this.unshownCalls.delete(call.id)
    if (!call.isShown) this.unshownCalls.set(call.id, call)
  }

  /** Removes a call that has ended. */
  settle(call: PendingCall): void {
    const own = this.calls.get(call.id)
    if (own === undefined) return
    this.calls.delete(call.id)
    this.pendingArguments -= own.size
    this.unshownCalls.delete(own.id)
    this.timerEntries.delete(call.id)
  }

  /** Adds the cost of a turn to the metrics; computing during a replay does not count. */
  addUsage(turn: Turn, replay: boolean): void {
    if (!replay) this.cpuMillis += turn.cpuMillis
    this.peakMemoryBytes = Math.max(this.peakMemoryBytes, turn.memoryBytes)
  }

  // --- Rows for the next change ---

  nextSeq(): number {
    return this.seq++
  }

  /** Adds an entry to the journal with the next change. */
  record(entry: RunEntry): void {
    this.entries.push({ seq: this.nextSeq(), entry })
  }

  /** Counts an ended call and adds its step to the next change. */
  trace(call: TracedCall): void {
    if (call.name === outputInquiry) return
    const { finishedAt, result, startedAt } = call
    if (result !== null && finishedAt !== null) {
      if (result.ok) this.succeeded++
      else this.failed++
      const millis = Math.max(0, finishedAt - startedAt)
      if (this.slowest === null || millis > this.slowest.millis) this.slowest = { step: shownName(call), millis }
    }
    this.countRow(call.row)
    const row = stepRow(call, this.redaction.scrub, this.ports.offload, this.recorded)
    if (call.inStep === undefined) this.steps.push(row)
    else putStepRow(this.steps, row)
  }

  /** The value as the record shows it. */
  show(value: Json): Json {
    return shownValue(value, this.redaction.scrub, this.ports.offload, this.recorded)
  }

  /** Whether the run got a journal row since it was activated, committed or not. */
  get hasAdvanced(): boolean {
    return this.seq > this.spec.nextSeq
  }

  get hasUnwritten(): boolean {
    return this.unwrittenRows > 0 || this.cancelled.hasWithdrawn
  }

  /** Whether so much is unwritten that it must be committed now: the changes of a run are bounded in size. */
  get hasMuchUnwritten(): boolean {
    return this.unwrittenRows >= maxRows || this.recorded.characters >= maxCharacters
  }

  private get unwrittenRows(): number {
    return this.entries.length + this.steps.length + this.logs.length
  }

  /** Whether the run must be marked as computing before its guest gets something. */
  get needsMark(): boolean {
    const { mark } = this.spec
    return mark !== undefined && mark.isSuspected && !mark.isSet && !this.hasCommitted
  }

  /** Records that a change was committed. */
  recordCommit(): void {
    this.hasCommitted = true
  }

  /** Whether its row is committed; `hasRow` is true as soon as that was asked for. */
  get isStored(): boolean {
    return this.spec.hasRow || this.hasCommitted
  }

  /** Postgres refused a change. If it was the run's first one, the next change is the first again. */
  forgetRefusedChange(): void {
    if (this.hasCommitted) return
    this.hasRow = this.spec.hasRow
    this.isFirstChange = !this.spec.hasRow
  }

  /** Entries of the journal that are not yet written: all after the start, if the run has no row. */
  get unwrittenEntries(): ReadonlyArray<RunEntry> {
    return this.entries.map(({ entry }) => entry)
  }

  /** Takes over the unwritten results of a lost guest. The replay produces its log lines again. */
  adopt(lost: Progress): void {
    this.seq = lost.seq
    this.entries = lost.entries
    this.steps = lost.steps
    this.recorded = lost.recorded
    this.unwrittenAnswers = lost.unwrittenAnswers
  }

  /** Takes the functions that give the memory of fed answers back, to be called when the next change is committed. */
  takeReleases(): ReadonlyArray<() => void> {
    const releases = this.unwrittenAnswers
    if (releases.length > 0) this.unwrittenAnswers = []
    return releases
  }

  /**
   * Takes all rows not yet written, with `additions`, as one change; the caller must commit it. The first change of a run
   * without a row creates the row, unless the same change ends the run.
   */
  takeChange(additions: Pick<RunChange, "end" | "patch" | "deliveries" | "deadLetters">): RunChange {
    const { run, spec } = this
    const opens = !this.hasRow && additions.end === undefined
    // A run that ends in its first change needs no journal, unless its record has a redacted input.
    const isJournaled = this.hasRow || opens || additions.end?.run.input !== spec.start.input
    const journal = !isJournaled ? [] : this.hasRow ? this.entries : [{ seq: 0, entry: spec.start }, ...this.entries]
    const withdrawn = this.cancelled.takeWithdrawn()
    const change: RunChange = {
      id: run.id,
      organisationId: run.organisationId,
      spaceId: run.spaceId,
      retention: run.retention,
      epoch: this.hasRow ? run.epoch : null,
      ...(opens ? { open: run } : {}),
      ...(this.isFirstChange ? inFirstChange(spec) : {}),
      ...(journal.length > 0 ? { journal } : {}),
      ...(this.steps.length > 0 ? { steps: this.steps } : {}),
      ...(this.logs.length > 0 ? { logs: this.logs } : {}),
      ...(withdrawn.length > 0 ? { withdrawn } : {}),
      ...(this.recorded.blobs.length > 0 ? { blobs: this.recorded.blobs } : {}),
      ...additions
    }
    this.isFirstChange = false
    this.hasRow = true
    this.entries = []
    this.steps = []
    this.logs = []
    this.recorded = new Recorded()
    return change
  }
}
