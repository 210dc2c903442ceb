/** The replay of a run's journal: its pages, and what of them the guest has taken. */
import type { IndexedCall } from "../../../domain/run/RunJournal.js"
import type { GuestEvent, GuestOutput } from "../../ports/run/Sandbox.js"
import { historyPages } from "../guest/HistoryPages.js"
import type { Progress } from "../Progress.js"
import { nonDeterminismError, secretGoneError } from "../RunErrors.js"
import type { RunError } from "../../../domain/run/Execution.js"
import { stepName } from "../trace/Trace.js"
import { outputInquiry } from "./EarlierResults.js"
import type { ReplayedResult } from "./Messages.js"
import { absorb } from "./Recording.js"

const diverged = (entry: IndexedCall, now: string): RunError => nonDeterminismError(entry, now)
const unused = (entry: IndexedCall): RunError => diverged(entry, "the workflow ended before its history was used up")

/** Settles the call that a journaled result belongs to. Returns the error of a guest that made another one. */
const matchReplayed = (p: Progress, entry: IndexedCall, at: number): RunError | undefined => {
  // One that was given up may have ended together with what halted its list.
  const call = p.calls.get(entry.call) ?? p.cancelled.replayed(p, entry.call)
  if (call === undefined) return diverged(entry, "the workflow did not make this call")
  if (call.hash !== entry.hash) {
    const args = JSON.stringify(call.args).slice(0, 200)
    return diverged(entry, `the workflow now asks ${stepName(call)}(${args})`)
  }
  p.settle(call)
  p.lastEventAt = at
  p.countRow(call.row)
  if (call.name === outputInquiry) return undefined
  if (entry.outcome === "ok") p.succeeded++
  else p.failed++
  return undefined
}

export class Replay {
  private readonly pages: ReadonlyArray<ReadonlyArray<IndexedCall>>
  private nth = 0
  private times: ReadonlyArray<number> = []
  /** Results of earlier attempts that are left: the log lines that follow them are recorded. */
  private inherited: number

  constructor(private readonly p: Progress) {
    const { history } = p.spec
    this.pages = historyPages(history?.replay ?? [])
    this.inherited = p.run.attempt > 1 ? (history?.inherited ?? 0) : 0
  }

  /** The page that the guest gets next; empty for a run that begins. */
  get page(): ReadonlyArray<IndexedCall> {
    return this.pages[this.nth] ?? []
  }

  /** The page after it. */
  get next(): ReadonlyArray<IndexedCall> | undefined {
    return this.pages[this.nth + 1]
  }

  get isFirst(): boolean {
    return this.nth === 0
  }

  /** Whether anything is replayed. */
  get isReplay(): boolean {
    return this.pages.length > 1 || this.page.length > 0
  }

  /** The events of the page's results. `hide`: called with each secret among them. An error if one is gone. */
  eventsOf(results: ReadonlyArray<ReplayedResult>, hide: (text: string) => void): ReadonlyArray<GuestEvent> | RunError {
    this.times = results.map(({ result }) => result.at)
    const events: Array<GuestEvent> = []
    for (const [i, { result, secret }] of results.entries()) {
      const event = { t: "done", id: this.page[i]?.call ?? 0, now: result.at } as const
      for (const text of result.hidden ?? []) hide(text)
      if (secret === undefined) events.push({ ...event, ok: result.ok, json: result.json })
      else if (secret === null) return secretGoneError
      else {
        if (secret.secret !== undefined) hide(secret.secret.text)
        events.push({ ...event, ok: true, v: secret.value })
      }
    }
    return events
  }

  /**
   * Takes the guest's outputs of the page, in steps, and compares what it asks with what the journal says. Ends with the
   * error of a guest that asks for something else.
   */
  *take(outputs: ReadonlyArray<ReadonlyArray<GuestOutput>>): Generator<void, RunError | undefined> {
    const { p, page } = this
    let taken = 0
    if (this.isFirst) yield* absorb(p, outputs[taken++] ?? [], p.spec.start.at, p.run.attempt > 1, page.length > 0)
    const before = taken
    for (; taken < outputs.length; taken++) {
      const i = taken - before
      const entry = page[i]
      const at = this.times[i] ?? p.lastEventAt
      const error = entry === undefined ? undefined : matchReplayed(p, entry, at)
      if (error !== undefined) return error
      yield* absorb(p, outputs[taken] ?? [], at, i < this.inherited, !this.isLast(i))
      yield
    }
    const left = page[taken - before]
    if (left !== undefined) return unused(left)
    this.inherited -= page.length
    this.nth++
    return p.end !== undefined && this.page[0] !== undefined ? unused(this.page[0]) : undefined
  }

  /** Whether the result of the page is the last of the journal: what followed from it may not be committed. */
  private isLast(i: number): boolean {
    return this.nth === this.pages.length - 1 && i === this.page.length - 1
  }

  get isOver(): boolean {
    return this.nth >= this.pages.length
  }
}
