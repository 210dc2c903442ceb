/**
 * A world for the machine of a run, in virtual time: its journal, its guest and its calls, whose answers come in an order that
 * a seed draws, with lost guests, refused commits and deaths of the process. A program is a list of rounds; each makes some
 * calls and waits for all of them, or until one that halts has ended: then it gives up the others.
 */
import { assert } from "vitest"
import { CallPrediction } from "../../src/actors/execution/calls/CallPrediction.js"
import type { CallEnd, HostCall } from "../../src/actors/execution/calls/HostCall.js"
import type { MachineParts } from "../../src/actors/execution/machine/MachineState.js"
import type { MachineCommand, MachineEvent } from "../../src/actors/execution/machine/Messages.js"
import { RunMachine } from "../../src/actors/execution/machine/RunMachine.js"
import type { PendingCall } from "../../src/actors/execution/PendingCall.js"
import type { DriveOutcome, RunSpec } from "../../src/actors/execution/RunSpec.js"
import { Fenced, type FinishedRun, type OpenRun, type RunChange } from "../../src/actors/ports/run/Journal.js"
import { type GuestEvent, type GuestOutput, SessionLost } from "../../src/actors/ports/run/Sandbox.js"
import type { BlobId } from "../../src/domain/Ids.js"
import type { Json } from "../../src/domain/Json.js"
import { buildHistory, type IndexedCall, indexEntries, type JournalEntry } from "../../src/domain/run/RunJournal.js"
import { openRun } from "./journal.js"
import { runnable, startEntry } from "./runWorld.js"

/** An assertion without the library's, which costs as much as a step of a machine. */
function check(holds: boolean, what: string): asserts holds {
  if (!holds) assert.fail(what)
}

/** What a call of a program does: its kind is its name. */
export type CallName =
  | "fetch"
  | "read"
  | "write"
  | "refused"
  | "fails"
  | "later"
  | "timer.sleep"
  | "halts"
  | "approval.request"
export type Program = ReadonlyArray<ReadonlyArray<CallName>>

/** A generator of numbers from [0, 1), the same for a seed. */
export const numbersOf = (seed: number): (() => number) => {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

/** What the guest gets for a call, by its kind and number. */
const valueOf = (name: CallName, id: number): Json =>
  name === "timer.sleep" ? null : name === "refused" || name === "fails" ? `error of ${name}` : `${name} ${id}`

/** What the guest has of a call that it has given up. */
const givenUp = "given up"

/**
 * The slow reference: the program's result, call by call, without anything that may happen in between. Which calls of a round
 * that halts were given up depends on the order of their ends: these are taken from `output`.
 */
export const resultOf = (program: Program, output: Json): Json => {
  const values: Array<Json> = []
  const found: ReadonlyArray<Json> = Array.isArray(output) ? output : []
  for (const round of program) {
    const before = values.length
    for (const name of round) {
      const isGivenUp = round.includes("halts") && found[values.length] === givenUp
      values.push(isGivenUp ? givenUp : valueOf(name, values.length))
    }
    // One of those that halt has ended.
    if (round.includes("halts") && !values.slice(before).some((value) => String(value).startsWith("halts")))
      values.push("no call has halted the round")
  }
  return values
}

/** A guest that runs the program; it begins anew for each incarnation. */
class Guest {
  /** Every call before this one was fed when the guest made it. */
  readonly follows = new Map<number, number>()
  /** Calls that it has given up. */
  readonly givenUp = new Set<number>()
  private readonly values: Array<Json | undefined> = []
  private round = 0
  private open = 0

  constructor(private readonly program: Program) {}

  take(event: GuestEvent): ReadonlyArray<GuestOutput> {
    const outputs: Array<GuestOutput> = []
    if (event.t === "done") {
      if (this.givenUp.has(event.id)) return []
      const settled = "json" in event ? JSON.parse(String(event.json)) : "v" in event ? event.v : event.e
      this.values[event.id] = event.ok ? settled : `error of ${settled.message}`
      this.open--
      const current = this.program[this.round - 1] ?? []
      const ids = [...this.values.keys()].filter((id) => this.values[id] === undefined)
      if (this.open > 0 && current[event.id - this.values.length + current.length] !== "halts") return []
      if (ids.length > 0) outputs.push({ t: "cancel", ids })
      for (const id of ids) {
        this.givenUp.add(id)
        this.values[id] = givenUp
      }
    }
    const calls = this.program[this.round++]
    if (calls === undefined) return [...outputs, { t: "ret", v: this.values.map((value) => value ?? null) }]
    this.open = calls.length
    const before = this.values.length
    calls.forEach((_, nth) => this.follows.set(before + nth, before))
    const made = calls.map((name): GuestOutput => {
      const id = this.values.push(undefined) - 1
      return { t: "call", id, name, args: name === "timer.sleep" ? [id % 2 === 0 ? 10 : 5_000] : [id] }
    })
    return [...outputs, ...made]
  }
}

const planOf = (name: string): HostCall => {
  switch (name) {
    case "fetch":
    case "later":
    case "halts":
    case "approval.request":
      return { _tag: "Outside", run: () => () => undefined }
    case "write":
      return { _tag: "Write", commit: undefined as never }
    case "refused":
      return { _tag: "Refused", failure: { name: "TypeError", message: name, category: "code" } }
    default:
      return { _tag: "Read", run: undefined as never }
  }
}

export const machineParts = (random: () => number, prediction = new CallPrediction()): MachineParts => ({
  progress: {
    offload: { id: () => "blob" as BlobId, sha256: String },
    hash: String,
    keyOf: (_, call) => String(call.id)
  },
  planCall: (p, call) => {
    const held = p.timerEntries.get(call.id)?.held
    if (held !== undefined) Object.assign(call.notes, { earlierAttempts: held.attempts })
    return planOf(call.name)
  },
  startEvent: () => ({ t: "start", now: 0, seed: [0, 0, 0, 0], ctx: null }),
  prediction,
  random
})

/** A run that begins. */
export const startingSpec = (more: Partial<RunSpec> = {}): RunSpec => ({
  run: openRun({ tier: "standard", status: "running", epoch: 1, deadlineAt: 1e12 }),
  runnable: runnable(),
  start: startEntry(0),
  history: null,
  hasRow: false,
  nextSeq: 1,
  journalBytes: 0,
  ...more
})

interface Answer {
  readonly event: MachineEvent
  /** Called when it comes: what happened in the world meanwhile. */
  readonly happen?: () => void
}

export interface Trouble {
  /** The probability that a turn loses its guest, that the process dies at an event, and that a commit is fenced. */
  readonly loss: number
  readonly death: number
  readonly fenced: number
}

/** Runs a program to its end, in an order of events that `random` draws. Returns how it ended. */
export class MachineWorld {
  /** The committed journal. */
  private readonly journal: Array<JournalEntry> = []
  private row: OpenRun | undefined
  outcome: DriveOutcome | undefined
  /** The run's end, as it was committed. */
  private end: FinishedRun | undefined
  /** How often each call to the outside was made. */
  readonly made = new Map<number, number>()
  /** Calls whose approvals are open. */
  private readonly approvals = new Set<number>()
  /** The calls that the last guest had given up when it was closed. */
  givenUp: ReadonlySet<number> = new Set()
  events = 0
  deaths = 0
  private now = 1
  private machine: RunMachine
  private guest: Guest | undefined
  private pending: Array<Answer> = []
  private readonly parts: MachineParts

  constructor(
    private readonly program: Program,
    private readonly random: () => number,
    private readonly trouble: Trouble
  ) {
    this.parts = machineParts(random)
    this.machine = new RunMachine(startingSpec(), this.parts)
  }

  run(): DriveOutcome {
    this.tell({ event: { _tag: "Begun" } })
    while (this.outcome === undefined || this.outcome._tag === "Suspended") {
      check(this.events < 5_000, "the run comes to an end")
      if (this.outcome !== undefined) this.resume()
      else if (this.random() < this.trouble.death) this.die()
      else {
        const [answer] = this.pending.splice(Math.floor(this.random() * this.pending.length), 1)
        check(answer !== undefined, "the machine waits for something")
        this.tell(answer)
      }
    }
    return this.outcome
  }

  private tell({ event, happen }: Answer): void {
    this.events++
    this.now += 1 + Math.floor(this.random() * 20)
    happen?.()
    for (const command of this.machine.step(event, this.now)) this.obey(command)
  }

  /** The process dies: what is in memory is gone, and a commit in flight may or may not have reached the database. */
  private die(): void {
    this.deaths++
    for (const { event, happen } of this.pending)
      if (event._tag === "Committed" && event.failure === undefined && this.random() < 0.5) happen?.()
    this.resume()
  }

  /** Another process takes the run up from its journal, or begins it anew if nothing of it was committed. */
  private resume(): void {
    this.pending = []
    this.outcome = this.end === undefined ? undefined : { _tag: "Ended", end: this.end }
    if (this.outcome !== undefined) return
    const [start, ...rest] = this.journal
    const row = this.row
    if (start?.kind !== "start" || row === undefined) this.machine = new RunMachine(startingSpec(), this.parts)
    else {
      this.row = { ...row, epoch: row.epoch + 1, waiting: null, wakeAt: null }
      this.now = Math.max(this.now, row.wakeAt ?? 0)
      const history = buildHistory(start, this.index)
      const run = { ...this.row, attempt: history.attempt }
      this.machine = new RunMachine(startingSpec({ run, history, hasRow: true, nextSeq: rest.length + 1 }), this.parts)
    }
    this.tell({ event: { _tag: "Begun" } })
  }

  private write(change: RunChange): void {
    check(this.end === undefined, "nothing is written after the end")
    this.end = change.end
    for (const key of change.withdrawn ?? []) this.approvals.delete(Number(key))
    if (change.open !== undefined) this.row = change.open
    if (this.row !== undefined && change.patch !== undefined) this.row = { ...this.row, ...change.patch }
    for (const { entry, seq } of change.journal ?? []) {
      check(this.journal[seq] === undefined, "no row of the journal is written twice")
      this.journal[seq] = entry
    }
  }

  private isCommitted(call: number): boolean {
    return this.journal.some((entry) => entry.kind === "done" && entry.call === call)
  }

  private later(event: MachineEvent, happen?: () => void): void {
    this.pending.push(happen === undefined ? { event } : { event, happen })
  }

  private turn(events: ReadonlyArray<GuestEvent>): void {
    const { guest } = this
    if (this.random() < this.trouble.loss)
      return this.later({ _tag: "Turned", answer: new SessionLost({ reason: "runnerDied" }) })
    check(guest !== undefined, "a guest is there")
    const outputs = events.map((event) => guest.take(event))
    this.later({ _tag: "Turned", answer: { _tag: "Turn", outputs, cpuMillis: 1, memoryBytes: 1 } })
  }

  private obey(command: MachineCommand): void {
    switch (command._tag) {
      case "StartGuest":
        this.guest = new Guest(this.program)
        return this.turn(command.events)
      case "Feed":
        return this.turn(command.events)
      case "CloseGuest":
        this.givenUp = this.guest?.givenUp ?? this.givenUp
        this.guest = undefined
        return
      case "Commit":
        return this.commit(command.change)
      case "MakeCall":
        return this.makeCall(command)
      case "WriteState":
        return this.writeState(command)
      case "Wait":
        if (command.until !== undefined) this.wakeAt(command.until)
        return
      case "Pause":
        return this.wakeAt(command.until)
      case "AbortCall":
        this.pending = this.pending.filter(({ event }) => event._tag !== "CallEnded" || event.call !== command.call)
        return
      case "AbortCalls":
        this.pending = this.pending.filter(({ event }) => event._tag !== "CallEnded" && event._tag !== "Woken")
        return
      case "Settle":
        this.outcome = command.outcome
        if (this.outcome._tag === "Suspended")
          for (const id of this.givenUp) check(!this.approvals.has(id), "a suspended run has withdrawn what it gave up")
        return
      default:
        return this.later(this.answerTo(command._tag === "ReadPage" ? command.page : [], command._tag))
    }
  }

  /** What a question is answered. */
  private answerTo(page: ReadonlyArray<IndexedCall>, asked: MachineCommand["_tag"]): MachineEvent {
    switch (asked) {
      case "ReadPage":
        return {
          _tag: "PageRead",
          results: page.map(({ result }) => ({ result: result ?? assert.fail("it is in memory") }))
        }
      case "ReadIndex": {
        const [start] = this.journal
        const index = { start: start?.kind === "start" ? start : undefined, rest: this.index, bytes: 0 }
        return { _tag: "IndexRead", index }
      }
      case "FindMessages":
        return { _tag: "MessagesFound", messages: {} }
      case "Continue":
        return { _tag: "Continued" }
      case "TakeOverSteps":
        return { _tag: "StepsTakenOver" }
      default:
        return assert.fail(`no program asks for ${asked}`)
    }
  }

  private get index() {
    const [, ...rest] = this.journal
    return indexEntries(rest as ReadonlyArray<Exclude<JournalEntry, { kind: "start" }>>, 1)
  }

  private commit(change: RunChange): void {
    const isFenced = change.epoch !== null && this.random() < this.trouble.fenced
    if (isFenced) this.later({ _tag: "Committed", failure: new Fenced({ id: change.id }) })
    else this.later({ _tag: "Committed", failure: undefined }, () => this.write(change))
  }

  private makeCall({ call, plan }: Extract<MachineCommand, { readonly _tag: "MakeCall" }>): void {
    check(!this.isCommitted(call.id), "a completed call is never made again")
    if (plan._tag === "Outside") {
      check(this.row !== undefined, "nothing leaves a run before its start is committed")
      for (let id = 0; id < (this.guest?.follows.get(call.id) ?? 0); id++)
        check(
          this.isCommitted(id) || this.guest?.givenUp.has(id) === true,
          "nothing leaves a run before what it follows from is committed"
        )
      this.made.set(call.id, (this.made.get(call.id) ?? 0) + 1)
    }
    this.later({ _tag: "CallEnded", call, end: this.endOf(call) }, () => {
      if (call.name === "approval.request") this.approvals.add(call.id)
    })
  }

  private endOf({ id, name, notes }: PendingCall): CallEnd {
    if (name === "approval.request" && this.made.get(id) === 1)
      return { _tag: "Postponement", at: this.now + 3_000, why: "approval", attempts: 0 }
    if (name === "later" && notes.earlierAttempts === 0) {
      const at = this.now + Math.floor(this.random() * 3_000)
      return { _tag: "Postponement", at, why: "rate_limit", attempts: 1 }
    }
    return name === "fails"
      ? { _tag: "Failed", failure: { name: "Error", message: name, category: "provider" } }
      : { _tag: "Succeeded", result: { value: `${name} ${id}` } }
  }

  private writeState({ at, call, seq }: Extract<MachineCommand, { readonly _tag: "WriteState" }>): void {
    const value = `write ${call.id}`
    const json = JSON.stringify(value)
    const entry = { kind: "done", call: call.id, hash: call.hash, at, ok: true, outcome: "ok", json } as const
    this.later({ _tag: "StateWritten", outcome: { _tag: "Written", value } }, () => {
      this.journal[seq] = entry
    })
  }

  private wakeAt(until: number): void {
    this.pending = this.pending.filter(({ event }) => event._tag !== "Woken")
    this.later({ _tag: "Woken" }, () => {
      this.now = Math.max(this.now, until)
    })
  }
}
