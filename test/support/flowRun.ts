/**
 * Drives runs of flows by the machine of a run, with a guest of the sandbox and a journal in memory. Answers come in a random
 * order, in virtual time. A run that resumes another takes over what the service lets it take over.
 */
import { createHash } from "node:crypto"
import { Effect, Layer } from "effect"
import { assert } from "vitest"
import type { CallNotes } from "../../src/actors/execution/calls/HostCall.js"
import { CallPrediction } from "../../src/actors/execution/calls/CallPrediction.js"
import { makeStartEvent } from "../../src/actors/execution/guest/StartEvent.js"
import { makeCallPlanner, makeKeyOf } from "../../src/actors/execution/machine/Launch.js"
import type { MachineCommand, MachineEvent } from "../../src/actors/execution/machine/Messages.js"
import { RunMachine } from "../../src/actors/execution/machine/RunMachine.js"
import type { PendingCall } from "../../src/actors/execution/PendingCall.js"
import { attemptOf, pendingRun, startEntry } from "../../src/actors/execution/PendingRun.js"
import type { Principal } from "../../src/actors/management/Caller.js"
import { makeResumedRun } from "../../src/actors/management/run/ResumedRun.js"
import { ExecutionReads } from "../../src/actors/ports/run/ExecutionReads.js"
import type { FinishedRun, OpenRun, RunChange } from "../../src/actors/ports/run/Journal.js"
import type { StartRequest } from "../../src/actors/ports/run/Executions.js"
import { Runnables } from "../../src/actors/ports/run/Runnables.js"
import type { GuestEvent, GuestOutput } from "../../src/actors/ports/run/Sandbox.js"
import type { BlobId } from "../../src/domain/Ids.js"
import type { Json, JsonObject } from "../../src/domain/Json.js"
import { buildHistory, indexEntries, type JournalEntry, recordedValue } from "../../src/domain/run/RunJournal.js"
import { makeIdentifiers } from "../../src/runtime/process/Crypto.js"
import type { makeEngine } from "../../src/runtime/sandbox/runner/Engine.js"
import { computationsInProcess } from "./computations.js"
import { type FlowVersion, requestOf, runnableOf } from "./flowRequest.js"

type Engine = Awaited<ReturnType<typeof makeEngine>>
type Loaded = Awaited<ReturnType<Engine["load"]>>
type Start = Extract<JournalEntry, { readonly kind: "start" }>
type Entry = Exclude<JournalEntry, Start>

export const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex")

/** A call that a run has made, or a pause that it has waited for. */
export interface MadeCall {
  /** The step's path, and the number of the call in it: `sync[3].send|0`. */
  readonly place: string
  readonly name: string
  readonly args: ReadonlyArray<Json>
  /** Its idempotency key; of a pause: none. */
  readonly idempotencyKey?: string
  /** What it was answered; `undefined`: nothing before the run ended. */
  answer?: { readonly ok: boolean; readonly value?: Json }
}

/** What the trace says of a step. */
export interface TracedStep {
  readonly type: string
  readonly status: string
  readonly reused: boolean
}

/** A run that has ended. */
export interface EndedRun {
  readonly run: OpenRun
  readonly version: FlowVersion
  readonly journal: ReadonlyArray<JournalEntry>
  readonly made: ReadonlyArray<MadeCall>
  readonly end: FinishedRun
  /** By the step's path. */
  readonly steps: ReadonlyMap<string, TracedStep>
}

export type Answer =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly message: string; readonly isTransient: boolean }
/** `place`: of the step and the call; `nth`: the run's calls of this step and name before. */
export type Answers = (place: string, name: string, nth: number) => Answer

const limits = { memoryBytes: 128 * 1024 * 1024, cpuMillis: 60_000 }

const textOf = (event: GuestEvent): string => {
  if (!("json" in event)) return JSON.stringify(event)
  const { json, ...head } = event
  const text = typeof json === "string" ? json : Buffer.from(json).toString()
  return `${JSON.stringify(head).slice(0, -1)},${JSON.stringify(head.ok ? "v" : "e")}:${text}}`
}

interface Timer {
  readonly call: MadeCall
  readonly since: number
}

class DrivenFlow {
  private readonly journal: Array<JournalEntry>
  private readonly made: Array<MadeCall> = []
  private readonly rows = new Map<number, { readonly path: string; readonly step: TracedStep }>()
  private readonly keys = new WeakMap<CallNotes, string>()
  private readonly counts = new Map<string, number>()
  /** Pauses that the guest has asked for, by the number of the call. */
  private readonly timers = new Map<number, Timer>()
  private readonly inbox: Array<MachineEvent> = []
  private open: Array<{ readonly call: PendingCall; readonly made: MadeCall }> = []
  private wakeAt: number | undefined
  private end: FinishedRun | undefined
  private readonly machine: RunMachine

  constructor(
    private readonly engine: Engine,
    private readonly guest: Loaded,
    private readonly run: OpenRun,
    private readonly version: FlowVersion,
    [start, ...taken]: readonly [Start, ...Array<Entry>],
    private readonly answers: Answers,
    private readonly random: (below: number) => number,
    private now: number
  ) {
    this.journal = [start, ...taken]
    const history = buildHistory(start, indexEntries(taken, 1))
    const spec = {
      run,
      runnable: runnableOf(version),
      start,
      history,
      hasRow: true,
      nextSeq: taken.length + 1,
      journalBytes: 0
    }
    this.machine = new RunMachine(spec, {
      progress: {
        offload: { id: () => "blob" as BlobId, sha256: String },
        hash: (text) => sha256(text).slice(0, 22),
        keyOf: makeKeyOf(sha256)
      },
      planCall: makeCallPlanner(({ key, notes }) => {
        this.keys.set(notes, key)
        return { _tag: "Outside", run: () => () => undefined }
      }),
      startEvent: makeStartEvent({ seed: () => [1, 2, 3, 4] } as never),
      prediction: new CallPrediction(),
      random: () => 0.5
    })
  }

  drive(): EndedRun {
    const { run, version } = this
    this.tell({ _tag: "Begun" })
    while (this.end === undefined) {
      const count = this.open.length + (this.wakeAt === undefined ? 0 : 1)
      const chosen = this.random(count)
      const [answered] = this.open.splice(chosen, 1)
      if (answered !== undefined) this.answer(answered)
      else if (this.wakeAt === undefined) assert.fail("the run waits for nothing")
      else {
        this.now = Math.max(this.now, this.wakeAt)
        this.wakeAt = undefined
        this.tell({ _tag: "Woken" })
      }
    }
    const steps = new Map([...this.rows.values()].map(({ path, step }) => [path, step]))
    return { run, version, journal: this.journal, made: this.made, end: this.end, steps }
  }

  private tell(event: MachineEvent): void {
    this.inbox.push(event)
    for (let next = this.inbox.shift(); next !== undefined; next = this.inbox.shift())
      for (const command of this.machine.step(next, this.now)) this.obey(command)
  }

  private obey(command: MachineCommand): void {
    switch (command._tag) {
      case "StartGuest":
        if (!this.engine.rewind(this.guest.instance, this.guest.snapshot)) assert.fail("the guest can be used again")
        return this.turn(command.events)
      case "Feed":
        return this.turn(command.events)
      case "Commit":
        return this.commit(command.change)
      case "MakeCall":
        return this.make(command.call)
      case "Wait":
      case "Pause":
        this.wakeAt = command.until
        return
      case "AbortCall":
        this.open = this.open.filter(({ call }) => call !== command.call)
        return
      case "AbortCalls":
        this.open = []
        this.wakeAt = undefined
        return
      case "CloseGuest":
      case "Settle":
        return
      default:
        this.inbox.push(this.answerTo(command))
    }
  }

  /** What a question is answered at once. */
  private answerTo(command: MachineCommand): MachineEvent {
    switch (command._tag) {
      case "ReuseResult": {
        const value = recordedValue(command.entry.result)
        return { _tag: "CallEnded", call: command.call, end: { _tag: "Succeeded", result: { value } } }
      }
      case "HoldArguments":
        return { _tag: "ArgumentsHeld", hasRoom: true }
      case "FindMessages":
        return { _tag: "MessagesFound", messages: {} }
      case "Continue":
        return { _tag: "Continued" }
      case "ReadIndex": {
        const [start, ...rest] = this.journal
        assert(start?.kind === "start")
        return { _tag: "IndexRead", index: { start, rest: indexEntries(rest as Array<Entry>, 1), bytes: 0 } }
      }
      case "ReadPage": {
        const results = command.page.map(({ result }) => ({ result: result ?? assert.fail("it is in memory") }))
        return { _tag: "PageRead", results }
      }
      default:
        return assert.fail(`no flow asks for ${command._tag}`)
    }
  }

  private commit({ end, journal = [], steps = [] }: RunChange): void {
    for (const { entry, seq } of journal) this.journal[seq] = entry
    for (const { index, path, record, status } of steps) {
      const { reused, type } = JSON.parse(record.text)
      // The calls of a step stand beneath it, and are no steps.
      if (path !== undefined && !path.includes("#"))
        this.rows.set(index, { path, step: { type, status, reused: reused === true } })
    }
    if (end !== undefined) this.end = end
    this.inbox.push({ _tag: "Committed", failure: undefined })
  }

  private turn(events: ReadonlyArray<GuestEvent>): void {
    const outputs: Array<ReadonlyArray<GuestOutput>> = []
    for (const event of events) {
      if (event.t === "done") this.wake(event)
      const text = this.engine.step(this.guest.instance, Buffer.from(textOf(event))).subarray(1)
      const given: ReadonlyArray<GuestOutput> = JSON.parse(text.toString())
      outputs.push(given)
      for (const one of given)
        if (one.t === "call" && one.name === "timer.sleep") {
          const place = one.own === undefined ? `${one.p}|${one.n}` : `${one.p}|0`
          this.timers.set(one.id, { call: { place, name: one.name, args: one.args }, since: this.now })
        }
      if (given.some(({ t }) => t === "ret" || t === "throw")) break
    }
    this.inbox.push({ _tag: "Turned", answer: { _tag: "Turn", outputs, cpuMillis: 0, memoryBytes: 0 } })
  }

  /** A pause that was waited for counts as a call; one that is over at once is taken from an earlier run. */
  private wake({ id, now }: Extract<GuestEvent, { readonly t: "done" }>): void {
    const timer = this.timers.get(id)
    if (timer === undefined || now < timer.since + Number(timer.call.args[0])) return
    this.made.push({ ...timer.call, answer: { ok: true, value: null } })
  }

  private make(call: PendingCall): void {
    const { args, inStep, name, notes } = call
    const place = inStep?.own === undefined ? String(call.place) : `${call.place}|0`
    const idempotencyKey = this.keys.get(notes) ?? assert.fail("a call has a key")
    const made: MadeCall = { place, name, args, idempotencyKey }
    this.made.push(made)
    this.open.push({ call, made })
  }

  private answer({ call, made }: { readonly call: PendingCall; readonly made: MadeCall }): void {
    this.now++
    const counted = `${call.inStep?.path} ${call.name}`
    const nth = this.counts.get(counted) ?? 0
    this.counts.set(counted, nth + 1)
    const answer = this.answers(made.place, made.name, nth)
    made.answer = answer.ok ? { ok: true, value: answer.value } : { ok: false }
    const category = !answer.ok && answer.isTransient ? "transient" : "code"
    this.tell({
      _tag: "CallEnded",
      call,
      end: answer.ok
        ? { _tag: "Succeeded", result: { value: answer.value } }
        : { _tag: "Failed", failure: { name: "ConnectorError", message: answer.message, category } }
    })
  }
}

/** The time at which the runs of a chain begin: a year for each. */
const yearOf = (nth: number): number => Date.UTC(1970 + nth, 0, 2)

export interface Driving {
  readonly engine: Engine
  readonly answers: Answers
  readonly random: (below: number) => number
  /** The number of runs before it in its chain. */
  readonly nth: number
}

const loaded = new WeakMap<FlowVersion, Loaded>()

/** A guest with the script of a version. */
const guestOf = async (engine: Engine, version: FlowVersion): Promise<Loaded> => {
  const found = loaded.get(version) ?? (await engine.load(Buffer.from(version.script), limits))
  loaded.set(version, found)
  return found
}

const identifiers = makeIdentifiers()

const drive = async (
  { answers, engine, nth, random }: Driving,
  version: FlowVersion,
  request: StartRequest,
  parent: ReadonlyArray<Entry> = []
): Promise<EndedRun> => {
  const now = yearOf(nth)
  const id = identifiers.next("exec")
  const accepted = pendingRun(request, { id, shard: 1, engine: "test", now })
  const run: OpenRun = { ...accepted, status: "running", startedAt: now, deadlineAt: 1e15 }
  const resumes = request.parent?.resumes
  const taken = resumes === undefined ? [] : [...parent.slice(0, resumes.entries), attemptOf(resumes, id)]
  const entries = [startEntry(request, now), ...taken] as const
  const guest = await guestOf(engine, version)
  return new DrivenFlow(engine, guest, run, version, entries, answers, random, now).drive()
}

/** Runs a flow. */
export const runFlow = (driving: Driving, version: FlowVersion, input: JsonObject): Promise<EndedRun> =>
  drive(driving, version, requestOf(version, input))

/** The run goes on from the first entries of its journal, as after the death of its process. */
export const takeUp = async (
  { answers, engine, nth, random }: Driving,
  { journal, run, version }: EndedRun,
  entries: number
): Promise<EndedRun> => {
  const [start, ...rest] = journal
  assert(start?.kind === "start")
  const guest = await guestOf(engine, version)
  const taken = [start, ...(rest.slice(0, entries) as Array<Entry>)] as const
  return new DrivenFlow(engine, guest, run, version, taken, answers, random, yearOf(nth)).drive()
}

const specs = new Map<string, Json>()
const resumedRun = Effect.runSync(
  makeResumedRun.pipe(
    Effect.provide(
      Layer.mergeAll(
        computationsInProcess,
        Layer.mock(Runnables, { stepsOf: (_, { contentHash }) => Effect.succeed(specs.get(contentHash) ?? null) }),
        // The steps that are named are those of the run.
        Layer.mock(ExecutionReads, {
          steps: () => Effect.succeedSome({ steps: [{ index: 0, step: {} }], hasMore: false })
        })
      )
    )
  )
)

/** Resumes a run, on the same version or on another one. `changed`: what the caller is told of it. */
export const resumeFlow = async (
  driving: Driving,
  parent: EndedRun,
  version: FlowVersion,
  fromStep: string | undefined
): Promise<EndedRun & { readonly changed: ReadonlyArray<string> }> => {
  specs.set(parent.version.hash, parent.version.spec).set(version.hash, version.spec)
  const [start, ...rest] = parent.journal
  assert(start?.kind === "start")
  const entries = rest as Array<Entry>
  const { id, organisationId, record, workflowId } = parent.run
  const { changed, resumes } = await Effect.runPromise(
    resumedRun(
      { organisationId } as Principal,
      { record, view: { workflowId, workflowVersion: 1 }, start, entries: indexEntries(entries, 1) } as never,
      runnableOf(version),
      { mode: "resume", at: yearOf(driving.nth), ...(fromStep === undefined ? {} : { fromStep }) }
    )
  )
  specs.clear()
  const request = requestOf(version, start.input, { id, resumes })
  return { ...(await drive(driving, version, request, entries)), changed }
}
