/**
 * The entries of a run's journal: its start, the result of every host call, timers and attempts. Replaying them in order
 * restores the guest's state. Contract: retry and resume against the journal.
 */
import type { ConnectionId, CustomerId, InstallationId, SecretId } from "../Ids.js"
import type { Mocking } from "../connector/Mocking.js"
import type { ErrorCategory } from "./Execution.js"
import { isObject, type Json } from "../Json.js"
import { AnewSteps, type RunAnew } from "./RunAnew.js"

/** A connection that the caller chose for a run. */
export interface ChosenConnection {
  readonly connector: string
  readonly alias: string | null
  readonly id: ConnectionId
}

/** The connectors (by slug), connections and secrets that a run may use; absent: all of that type. */
export interface RunReach {
  readonly connectors?: ReadonlyArray<string>
  readonly connections?: ReadonlyArray<string>
  readonly secrets?: ReadonlyArray<string>
  /** `none`: no records of common models, since the starter lacks the permission. */
  readonly records?: "none"
}

/** What a workflow learns of the event that starts it, as `ctx.event`. Times are RFC 3339. */
export interface StartingEvent {
  readonly id: string
  readonly type: string
  readonly source: string
  readonly triggerId: string | null
  readonly connectionId: string | null
  readonly entity: string | null
  readonly action: string
  readonly occurredAt: string | null
  readonly receivedAt: string
}

/** Everything that the guest gets at its start, exact and not redacted. Times are Unix milliseconds. */
export interface StartEntry {
  readonly kind: "start"
  readonly at: number
  readonly input: Json
  readonly headers: { readonly [name: string]: string }
  readonly customer: { readonly id: CustomerId; readonly ref: string | null } | null
  /** `id` is `null` if the caller sent an installation's configuration without naming one. */
  readonly installation: { readonly id: InstallationId | null; readonly config: Json } | null
  /** The only connections that the run may use; `null`: any. */
  readonly connections: ReadonlyArray<ChosenConnection> | null
  /** The event that started the run. */
  readonly event?: StartingEvent
  /** The scope of the key that started the run; absent: unrestricted. */
  readonly reach?: RunReach
  /** Values that are redacted in all that is recorded of the run. */
  readonly hidden?: ReadonlyArray<string>
  /** How connector calls are mocked; absent: providers are called. */
  readonly mocking?: Mocking
  /** The script of a draft, which unlike a published version can change during the run. */
  readonly script: string | null
}

/** A host call's failure as the guest received it. */
export interface CallFailure {
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly data?: Json
  readonly category: ErrorCategory
}

/** The result of a host call as the guest received it. */
export type CallResult =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly failure: CallFailure }

/** How a host call ended. A transient failure is made again by the next attempt. */
export type CallOutcome = "ok" | "failed" | "transient"

/** The result of a host call in the form in which the guest received it. */
export interface RecordedResult {
  /** Unix milliseconds. */
  readonly at: number
  readonly ok: boolean
  /** JSON of the value or of the error. Bytes if it was read from the journal: a replay hands them on unparsed. */
  readonly json: string | Uint8Array
  /** The version of a secret that was the result; the journal does not have its value. */
  readonly secret?: { readonly secretId: SecretId; readonly number: number }
  /** Short secrets that the result may contain. The run's records hide them, also after a replay. */
  readonly hidden?: ReadonlyArray<string>
}

/** The value of a recorded success; null without one. */
export const recordedValue = (result: RecordedResult | undefined): Json =>
  result === undefined ? null : JSON.parse(typeof result.json === "string" ? result.json : decoder.decode(result.json))

const decoder = new TextDecoder("utf-8", { ignoreBOM: true })

/** An ended host call. `hash`: of its name and arguments, to detect a guest that replays differently. */
export interface DoneEntry extends RecordedResult {
  readonly kind: "done"
  readonly call: number
  readonly hash: string
  /**
   * Its step with iterations, and its number among the calls of the step: `sync[3].send|0`. The step alone if the call is
   * the step itself.
   */
  readonly place?: string
  readonly outcome: CallOutcome
}

/** An ended call whose result an earlier attempt, or the run that this one resumes, has put into the journal. */
export interface ReusedEntry extends Pick<DoneEntry, "call" | "hash" | "place" | "at"> {
  readonly kind: "reused"
  /** The place of the result in this journal. */
  readonly of: number
}

/** The output of a step that is no host call, for runs that resume this one. */
export interface OutputEntry extends RecordedResult {
  readonly kind: "output"
  /** The path of the step. */
  readonly place: string
}

/** Why a call is made later: its provider's limit, its connection, or people who have not decided. */
export type PostponementReason = "rate_limit" | "connection" | "approval"

/** A durable timer: of the workflow, or of a call that is postponed by its provider's limit or its connection. */
export interface TimerEntry {
  readonly kind: "timer"
  readonly call: number
  readonly hash: string
  readonly due: number
  /** The time of the call's first attempt, in Unix milliseconds. */
  readonly since?: number
  /** Why a call is postponed, and after how many attempts; absent for a timer of the workflow. */
  readonly held?: { readonly why: PostponementReason; readonly attempts: number }
}

/** Begins a later attempt. `afresh`: calls of earlier attempts that are made again. */
export interface AttemptEntry {
  readonly kind: "attempt"
  readonly attempt: number
  readonly at: number
  readonly afresh: ReadonlyArray<number>
  /** A flow is resumed: it runs from its beginning, and its completed steps keep their results, but for these. */
  readonly anew?: RunAnew
}

/** What is appended to a journal. Replaying its entries in their order restores the guest. */
export type JournalEntry = StartEntry | DoneEntry | ReusedEntry | OutputEntry | TimerEntry | AttemptEntry

/** What is known of an ended call without reading its result. */
export interface IndexedCall extends Pick<DoneEntry, "kind" | "call" | "hash" | "place" | "outcome"> {
  /** The place of its result in the journal. */
  readonly seq: number
  /** Size of the result's row. */
  readonly bytes: number
  /** The result, if it is in memory. */
  readonly result?: RecordedResult
  /** When it ended, Unix milliseconds, if another call has brought the result. */
  readonly at?: number
}

/** Where a result stands in the journal. */
export type IndexedResult = Pick<IndexedCall, "seq" | "bytes" | "result" | "at">

/** The output of a step, without reading it. */
export interface IndexedOutput extends IndexedResult {
  readonly kind: "output"
  readonly place: string
}

/** An entry of a journal's index: a journal may be larger than the memory, so its results are read when a replay needs them. */
export type IndexedEntry = IndexedCall | IndexedOutput | TimerEntry | AttemptEntry

/** A journal without its results. */
export interface JournalIndex {
  /** `undefined`: the journal is lost. */
  readonly start: StartEntry | undefined
  /** The entries after the start, in order. */
  readonly rest: ReadonlyArray<IndexedEntry>
  /** Bytes of all rows. */
  readonly bytes: number
}

/** A journal in the form that a replay needs. */
export interface History {
  readonly start: StartEntry
  readonly attempt: number
  /** Results to feed in this order; the guest must make each call with the same hash. */
  readonly replay: ReadonlyArray<IndexedCall>
  /** The number of results in `replay` from earlier attempts, during which the guest's log lines are recorded already. */
  readonly inherited: number
  /** Timers that have not fired, by call. */
  readonly timers: ReadonlyMap<number, TimerEntry>
  /** Successful results of earlier attempts, by `reuseKey`. */
  readonly reusable: ReadonlyMap<string, IndexedCall>
  /** All calls of earlier attempts that are not replayed, but for those of steps that run anew. */
  readonly earlier: ReadonlyArray<IndexedCall>
  /** The outputs of steps that are no host calls, by their paths. */
  readonly outputs: ReadonlyMap<string, IndexedOutput>
  /** Of a flow that resumes another run: the steps that run anew. */
  readonly anew: AnewSteps
}

/** The path of the step that a call belongs to. */
export const pathOfPlace = (place: string): string => {
  const end = place.indexOf("|")
  return end < 0 ? place : place.slice(0, end)
}

/** The outcome that the journal notes of a result. */
export const outcomeOf = (result: CallResult): CallOutcome =>
  result.ok ? "ok" : result.failure.category === "transient" ? "transient" : "failed"

/** A call's failure as the guest sees it: an Error with these members. */
export const guestError = ({ category, code, data, message, name }: CallFailure, step: string) => ({
  name,
  message,
  ...(code === undefined ? {} : { code }),
  data: { ...(isObject(data ?? null) ? (data as object) : {}), category, step }
})

/** What identifies a call over the attempts of a run: its place in a step, else its number. A call that is a step is its first. */
export const callKey = (call: number, place: string | undefined): string => {
  if (place === undefined) return String(call)
  return isStep(place) ? `${place}|0` : place
}

/** Whether a call of this place is a whole step. */
const isStep = (place: string): boolean => !place.includes("|")

/** The key of the result of a call that is the step at a path. */
export const stepKey = (path: string): string => `${path}|`

/**
 * From this number on the calls of a step are the service's own: pauses between its attempts, and what limits their time. They
 * begin anew with the step.
 */
const firstServiceCall = 1_000_000
/** The number of the timer that ends an attempt of a step. */
const timeLimit = 2_000_000
/** The number of a call in its step; 0 outside of steps. */
const numberInStep = ({ place }: Pick<DoneEntry, "place">): number =>
  place === undefined || isStep(place) ? 0 : Number(place.slice(place.indexOf("|") + 1))

/**
 * The key under which a result is found again: that of its call, with the hash of what it asked for. A call that is a whole
 * step is found by the step alone, since the step has completed.
 */
export const reuseKey = (call: number, hash: string, place: string | undefined): string =>
  place !== undefined && isStep(place) ? stepKey(place) : `${callKey(call, place)}|${hash}`

const isReusable = (entry: IndexedCall): boolean => entry.outcome === "ok" && numberInStep(entry) < firstServiceCall

/** Whether the next attempt makes the call again: it failed for a moment, or ended an attempt of its step that took too long. */
export const isRepeated = (entry: IndexedCall): boolean =>
  entry.outcome === "transient" || numberInStep(entry) === timeLimit

/** The calls that the next attempt makes again. */
export const transientCalls = (entries: ReadonlyArray<IndexedCall>): ReadonlyArray<number> =>
  entries.filter(isRepeated).map((entry) => entry.call)

/** The history of a journal. `rest`: its entries after the start. */
export const buildHistory = (start: StartEntry, rest: ReadonlyArray<IndexedEntry>): History => {
  let attempt = 1
  let replay: Array<IndexedCall> = []
  let inherited = 0
  const earlier: Array<IndexedCall> = []
  const outputs = new Map<string, IndexedOutput>()
  const anew = new AnewSteps()
  /** How often the flow had been resumed when a result came. */
  const resumptions = new Map<IndexedCall | IndexedOutput, number>()
  const timers = new Map<number, TimerEntry>()
  const reusable = new Map<string, IndexedCall>()
  for (const entry of rest) {
    if (entry.kind === "done") replay.push(entry)
    if (entry.kind === "timer") timers.set(entry.call, entry)
    if (entry.kind === "output") outputs.set(entry.place, entry)
    if ((entry.kind === "done" || entry.kind === "output") && anew.resumptions > 0)
      resumptions.set(entry, anew.resumptions)
    if (entry.kind === "attempt") {
      const afresh = new Set(entry.afresh)
      const cut = entry.anew === undefined ? replay.findIndex((done) => afresh.has(done.call)) : 0
      if (cut >= 0) {
        for (const done of replay.slice(cut)) {
          earlier.push(done)
          if (isReusable(done)) reusable.set(reuseKey(done.call, done.hash, done.place), done)
        }
        replay = replay.slice(0, cut)
      }
      if (entry.anew !== undefined) {
        anew.add(entry.anew)
        timers.clear()
      }
      attempt = entry.attempt
      inherited = replay.length
    }
  }
  for (const done of replay) timers.delete(done.call)
  /** Whether no later resumption has run its step anew. A resumed flow makes no calls outside of steps. */
  const stands = (entry: IndexedCall | IndexedOutput): boolean => {
    const made = resumptions.get(entry) ?? 0
    return entry.place === undefined
      ? made === anew.resumptions
      : (anew.find(pathOfPlace(entry.place))?.nth ?? 0) <= made
  }
  if (anew.resumptions > 0) {
    for (const [key, done] of reusable) if (!stands(done)) reusable.delete(key)
    for (const [place, output] of outputs) if (!stands(output)) outputs.delete(place)
  }
  return { start, attempt, replay, inherited, timers, reusable, earlier: earlier.filter(stands), outputs, anew }
}

/** The index of entries that are in memory. `from`: the place of the first one. */
export const indexEntries = (
  entries: ReadonlyArray<Exclude<JournalEntry, StartEntry>>,
  from: number
): ReadonlyArray<IndexedEntry> => {
  const sizes = new Map<number, Pick<IndexedResult, "bytes" | "result">>()
  return entries.map((entry, i): IndexedEntry => {
    const seq = from + i
    if (entry.kind === "timer" || entry.kind === "attempt") return entry
    if (entry.kind === "reused") return reusedCall(entry, sizes.get(entry.of))
    const found = { seq, bytes: entry.json.length, result: entry }
    sizes.set(seq, found)
    if (entry.kind === "output") return { kind: "output", place: entry.place, ...found }
    const { call, hash, outcome, place } = entry
    return { kind: "done", call, hash, ...(place === undefined ? {} : { place }), outcome, ...found }
  })
}

/** The call of a reused result. `found`: what is known of the result. */
export const reusedCall = (
  { at, call, hash, of, place }: ReusedEntry,
  found: Pick<IndexedResult, "bytes" | "result"> = { bytes: 0 }
): IndexedCall => ({
  kind: "done",
  call,
  hash,
  ...(place === undefined ? {} : { place }),
  outcome: "ok",
  seq: of,
  at,
  bytes: found.bytes,
  ...(found.result === undefined ? {} : { result: { ...found.result, at } })
})

/** Parts whose bytes are within a limit together; a larger item is a part of its own. */
export const partsOf = <A extends { readonly bytes: number }>(
  items: ReadonlyArray<A>,
  limit: number
): ReadonlyArray<ReadonlyArray<A>> => {
  const parts: Array<Array<A>> = []
  let bytes = Infinity
  for (const item of items) {
    bytes += item.bytes
    if (bytes > limit) {
      parts.push([item])
      bytes = item.bytes
    } else parts.at(-1)?.push(item)
  }
  return parts
}
