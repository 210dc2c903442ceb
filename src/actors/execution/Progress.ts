/**
 * How far one run has come on this node: what it asked, what is not written yet, what it cost. Changed by the one fiber
 * that drives the run; everything that has to survive is in the journal.
 */
import type { Fiber } from "effect"
import { ErrorCategory, type RunError } from "../../domain/Execution.js"
import { guest } from "../../domain/Limits.js"
import { makeScrubber, type Scrubber } from "../../domain/Redaction.js"
import { boundSlug } from "../../domain/connector/Binding.js"
import type { Json } from "../../domain/Json.js"
import type { DoneEntry, JournalEntry, TimerEntry } from "../../domain/RunJournal.js"
import type { AppendFailure, LogChunk, OpenRun, RunChange, StepRow } from "../ports/Journal.js"
import type { GuestOutput, Turn } from "../ports/Sandbox.js"
import type { CallNotes } from "./HostCall.js"
import { tooManyCalls, tooMuchAsked } from "./RunErrors.js"
import type { RunSpec } from "./RunSpec.js"
import { CallTimers } from "./CallTimers.js"
import { isTimer } from "./HostCall.js"
import { type Offload, Recorded, stepName, stepRow, storable, traceValue, type TracedCall } from "./Trace.js"

/** A host call that has not ended. */
export interface PendingCall {
  readonly id: number
  readonly name: string
  /** What the trace calls it: the name, with the connector's slug however the code spells it. */
  readonly step: string
  readonly nth: number
  readonly args: ReadonlyArray<Json>
  readonly hash: string
  /** Characters of its arguments as JSON. */
  readonly size: number
  /** Its arguments were left out, because they nest too deep. */
  readonly tooDeep: boolean
  startedAt: number
  /** Its step has been written as running. */
  shown: boolean
  readonly notes: CallNotes
}

export type GuestEnd = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly error: RunError }

export interface Ports {
  readonly offload: Offload
  readonly hash: (text: string) => string
}

const nothingHidden = makeScrubber([])

/** What a run that is not opened yet keeps until it is written. */
const mostRows = 200
const mostCharacters = 256 * 1024

/** Chunks of later attempts come after all of earlier ones. */
const attemptStride = 1_000_000

export class Progress {
  run: OpenRun
  opened: boolean
  /** Calls that have not ended, by their number. */
  readonly calls = new Map<number, PendingCall>()
  /** Calls that wait for a place, in the guest's order. */
  readonly queue: Array<PendingCall> = []
  /** Timers that were asked for and not set yet; they need no place. */
  sleeps: Array<PendingCall> = []
  /** Calls that wait for a time. */
  readonly alarms = new CallTimers<PendingCall>()
  /** Calls that hold a place, by their number. */
  readonly underWay = new Map<number, PendingCall>()
  /** Calls of the guest that was lost before this one: they go on, and need not be made again. */
  carried: ReadonlyMap<number, PendingCall> = new Map()
  /** Calls that began and whose step is not written. */
  readonly unshown = new Set<PendingCall>()
  /** Characters of the arguments of all calls that have not ended. */
  pendingArguments = 0
  timers: Map<number, TimerEntry>
  reusable: Map<string, DoneEntry>
  end: GuestEnd | undefined
  asked = 0
  cpuMillis = 0
  peakMemory = 0
  succeeded = 0
  failed = 0
  slowest: { readonly step: string; readonly millis: number } | null = null
  /** Host calls that reached outside. */
  outside = 0
  scrub: Scrubber = nothingHidden
  /** A write that is under way while the guest computes; whatever is written next waits for it. */
  writing: Fiber.Fiber<void, AppendFailure> | undefined
  /** Results since the run began, while none is written: a lost guest is brought back with them. */
  unwritten: Array<DoneEntry> = []
  lastEventAt: number
  private seq: number
  private readonly secrets = new Set<string>()
  private readonly named = new Map<string, number>()
  private lines = 0
  private enqueued = 0
  private readonly hashesBefore = new Map<number, Array<string>>()
  private first = true
  private entries: Array<{ readonly seq: number; readonly entry: JournalEntry }> = []
  private steps: Array<StepRow> = []
  private logs: Array<LogChunk> = []
  private recorded = new Recorded()

  /** What its guest runs: the same for all runs of a version. */
  readonly program: string

  constructor(
    readonly spec: RunSpec,
    private readonly ports: Ports
  ) {
    const { contentHash, organisationId, workflowId } = spec.runnable
    this.program = `${organisationId}/${workflowId}/${contentHash}`
    this.run = spec.run
    this.opened = spec.opened
    this.seq = spec.nextSeq
    this.timers = new Map(spec.history?.timers ?? [])
    this.reusable = new Map(spec.history?.reusable ?? [])
    for (const { call, hash } of this.reusable.values()) {
      const hashes = this.hashesBefore.get(call)
      if (hashes === undefined) this.hashesBefore.set(call, [hash])
      else hashes.push(hash)
    }
    this.lastEventAt = spec.start.at
  }

  // --- What the guest says ---

  /** Takes in what one event led to. `recorded`: an earlier attempt has written these lines. */
  absorb(outputs: ReadonlyArray<GuestOutput>, at: number, recorded: boolean): void {
    const lines: Array<LogChunk["lines"][number]> = []
    const start = this.lines
    for (const output of outputs) {
      switch (output.t) {
        case "call":
          this.ask(output)
          break
        case "log":
          if (++this.lines <= guest.logLines) {
            lines.push({ at: new Date(at).toISOString(), level: output.level, message: this.text(output.m) })
            this.recorded.characters += output.m.length
          }
          break
        case "ret":
          this.end = { ok: true, value: output.v }
          break
        case "throw":
          this.end = { ok: false, error: thrown(output.e) }
          break
      }
    }
    if (lines.length > 0 && !recorded) this.logs.push({ seq: this.run.attempt * attemptStride + start, lines })
  }

  private ask({ args, id, name, tooDeep }: Extract<GuestOutput, { t: "call" }>): void {
    // A guest that was lost is replayed while its calls go on.
    if (id < this.asked) return
    this.asked = id + 1
    // The run ends when it goes on; until then nothing more is kept for it.
    if (this.asksTooMuch !== undefined) return
    const step = this.stepOf(name)
    const nth = this.named.get(step) ?? 0
    this.named.set(step, nth + 1)
    const text = JSON.stringify(args)
    const call: PendingCall = {
      id,
      name,
      step,
      nth,
      args,
      hash: this.ports.hash(`${name}\u0000${text}`),
      size: text.length,
      tooDeep: tooDeep === true,
      startedAt: 0,
      shown: false,
      notes: { made: 0, attempts: [], actionVersion: null, mocked: false }
    }
    this.calls.set(id, call)
    this.pendingArguments += call.size
  }

  private stepOf(name: string): string {
    const [root, connector, ...action] = name.split(".")
    if (root !== "connector" || connector === undefined || action.length === 0) return name
    const { bindings } = this.spec.runnable
    return ["connector", boundSlug(bindings, connector, action.join(".")), ...action].join(".")
  }

  /** Why the run may not go on with the calls that it asked for, if it may not. */
  get asksTooMuch(): RunError | undefined {
    if (this.asked > guest.calls) return tooManyCalls
    return this.pendingArguments > guest.pendingArguments ? tooMuchAsked : undefined
  }

  /** Puts the calls that were asked for since the last time where they wait for their start. */
  enqueue(): void {
    for (; this.enqueued < this.asked; this.enqueued++) {
      const call = this.calls.get(this.enqueued)
      if (call === undefined) continue
      if (isTimer(call.name)) this.sleeps.push(call)
      else this.queue.push(call)
    }
  }

  /** Notes that a call has begun. */
  begin(call: PendingCall, at: number): void {
    call.startedAt = at
    // At the end again: they stand in the order in which they began.
    this.unshown.delete(call)
    if (!call.shown) this.unshown.add(call)
  }

  /** Takes a call off that has ended. */
  settle(call: PendingCall): void {
    const own = this.calls.get(call.id)
    if (own === undefined) return
    this.calls.delete(call.id)
    this.pendingArguments -= own.size
    this.unshown.delete(own)
    this.timers.delete(call.id)
  }

  /** Whether an earlier attempt made this call with another request: then its key must be another. */
  isChanged(call: PendingCall): boolean {
    return this.hashesBefore.get(call.id)?.some((hash) => hash !== call.hash) === true
  }

  spent(turn: Turn, replay: boolean): void {
    if (!replay) this.cpuMillis += turn.cpuMillis
    this.peakMemory = Math.max(this.peakMemory, turn.memoryBytes)
  }

  /** Adds a value that must not appear in anything recorded of this run: once all steps are taken. */
  hiding(secret: string): Iterable<void> {
    if (this.secrets.has(secret)) return []
    this.secrets.add(secret)
    if (this.scrub === nothingHidden) this.scrub = makeScrubber([])
    return this.scrub.hideInSteps(secret)
  }

  /** The error as it may be recorded: whatever the guest put into it is the guest's. */
  scrubbed(error: RunError): RunError {
    return {
      ...error,
      name: this.text(error.name),
      message: this.text(error.message),
      ...(error.code === undefined ? {} : { code: this.text(error.code) }),
      ...(error.stack === undefined ? {} : { stack: this.text(error.stack) }),
      ...(error.details === undefined ? {} : { details: storable(this.scrub.scrubJson(error.details)) })
    }
  }

  private text(value: string): string {
    return String(storable(this.scrub.scrubText(value)))
  }

  // --- What is to be written ---

  nextSeq(): number {
    return this.seq++
  }

  record(entry: JournalEntry): void {
    this.entries.push({ seq: this.nextSeq(), entry })
  }

  /** Counts an ended call and keeps its step for the next write. */
  trace(call: TracedCall): void {
    const { finishedAt, result, startedAt } = call
    if (result !== null && finishedAt !== null) {
      if (result.ok) this.succeeded++
      else this.failed++
      const millis = Math.max(0, finishedAt - startedAt)
      if (this.slowest === null || millis > this.slowest.millis) this.slowest = { step: stepName(call), millis }
    }
    this.steps.push(stepRow(call, this.scrub, this.ports.offload, this.recorded))
  }

  /** The value as the record shows it. */
  show(value: Json): Json {
    return traceValue(value, this.scrub, this.ports.offload, this.recorded)
  }

  /** A row has gone to the journal, or is about to. */
  get hasAdvanced(): boolean {
    return this.seq > this.spec.nextSeq
  }

  get hasUnwritten(): boolean {
    return this.unwrittenRows > 0
  }

  /** So much that it is written now: one change of a run is bounded, in rows and in characters. */
  get hasMuchUnwritten(): boolean {
    return this.unwrittenRows >= mostRows || this.recorded.characters >= mostCharacters
  }

  private get unwrittenRows(): number {
    return this.entries.length + this.steps.length + this.logs.length
  }

  /** Calls in flight as running steps; a change of its own, because nothing is lost when it fails. */
  slowSteps(calls: ReadonlyArray<PendingCall>): RunChange {
    const { id, organisationId, retention, spaceId } = this.run
    const recorded = new Recorded()
    const steps = calls.map((call) => {
      call.shown = true
      this.unshown.delete(call)
      return stepRow(
        { ...call, attempts: [], finishedAt: null, result: null },
        this.scrub,
        this.ports.offload,
        recorded
      )
    })
    return { id, organisationId, spaceId, retention, epoch: this.run.epoch, steps, blobs: recorded.blobs }
  }

  /** Everything not written yet as one change, and forgets it. A run's first change opens it unless it also ends it. */
  take(more: Pick<RunChange, "end" | "patch" | "deliveries">): RunChange {
    const { run, spec } = this
    const opens = !this.opened && more.end === undefined
    // A run that ends in its first change needs no journal, unless its record lacks a part of its input.
    const isJournaled = this.opened || opens || more.end?.run.input !== spec.start.input
    const journal = !isJournaled ? [] : this.opened ? this.entries : [{ seq: 0, entry: spec.start }, ...this.entries]
    const change: RunChange = {
      id: run.id,
      organisationId: run.organisationId,
      spaceId: run.spaceId,
      retention: run.retention,
      epoch: this.opened ? run.epoch : null,
      ...(opens ? { open: run } : {}),
      ...(this.first && spec.claim !== undefined ? { claim: spec.claim } : {}),
      ...(this.first && spec.audit !== undefined ? { audit: spec.audit } : {}),
      ...(journal.length > 0 ? { journal } : {}),
      ...(this.steps.length > 0 ? { steps: this.steps } : {}),
      ...(this.logs.length > 0 ? { logs: this.logs } : {}),
      ...(this.recorded.blobs.length > 0 ? { blobs: this.recorded.blobs } : {}),
      ...more
    }
    this.first = false
    this.opened = true
    this.entries = []
    this.steps = []
    this.logs = []
    this.recorded = new Recorded()
    return change
  }
}

/** What the workflow threw; a failed host call that it let through keeps its category and step. */
const thrown = (e: Extract<GuestOutput, { t: "throw" }>["e"]): RunError => {
  const data =
    typeof e.data === "object" && e.data !== null && !Array.isArray(e.data)
      ? (e.data as { readonly [member: string]: Json })
      : {}
  const category = ErrorCategory.literals.find((known) => known === data["category"]) ?? "code"
  return {
    name: e.name,
    message: e.message,
    category,
    step: typeof data["step"] === "string" ? data["step"] : null,
    retryable: category === "transient",
    ...(e.code === undefined ? {} : { code: e.code }),
    ...(e.stack === undefined ? {} : { stack: e.stack })
  }
}
