/**
 * Starts the guest of a run, replays its journal, and feeds it the results of its calls in the order in which they are
 * recorded. A replayed guest that asks for something else than its journal says ends the run.
 */
import { Duration, Effect } from "effect"
import { tiers } from "../../../domain/run/Execution.js"
import { guest } from "../../../domain/Limits.js"
import { type DoneEntry, guestError, type IndexedCall, outcomeOf } from "../../../domain/run/RunJournal.js"
import type { Digests } from "../../ports/Digests.js"
import type { GuestEvent, GuestOutput, Sandbox, SandboxFailure, SessionLost, Turn } from "../../ports/run/Sandbox.js"
import type { CompletedCall, Completion, PostponedCall } from "../calls/CompletionQueue.js"
import { makeGuestEvents } from "./GuestEvents.js"
import { historyPages, type HistoryReader } from "./HistoryPages.js"
import type { HostCalls } from "../calls/HostCalls.js"
import type { Progress } from "../Progress.js"
import { guestFailure, journalLimitError, nonDeterminismError } from "../RunErrors.js"
import { type DriveFailure, failRun } from "../RunSpec.js"
import type { SliceOrder, TimeSlices } from "./TimeSlices.js"
import { stepName } from "../Trace.js"

/** Outputs of the guest that are handled before the time slice is checked again. */
const outputsPerSlice = 100

const guestLimits = { memoryBytes: guest.memoryBytes, cpuPerStepMillis: Duration.toMillis(guest.cpuPerStep) }

/** A page of a replay that the guest has taken. `times`: of its results, in Unix milliseconds. */
interface FedPage {
  readonly turn: Turn
  readonly times: ReadonlyArray<number>
}

/** What the guest gets as the result of a call. */
const resultJson = ({ call, result }: CompletedCall): string =>
  JSON.stringify(result.ok ? result.value : guestError(result.failure, stepName(call)))

/**
 * `flushAhead`: called before the guest computes, so that a commit can run meanwhile. `markComputing`: called before the
 * guest of a suspected run computes.
 */
export const makeGuestDriver = (
  sandbox: Sandbox["Type"],
  host: HostCalls,
  digests: Digests["Type"],
  sliceOrder: SliceOrder,
  flushAhead: (p: Progress) => Effect.Effect<void>,
  history: HistoryReader,
  markComputing: (p: Progress) => Effect.Effect<void, DriveFailure>
) => {
  const { eventOf, startEvent } = makeGuestEvents(host, digests)

  /**
   * Starts a guest, replays `replay` and returns the guest's last turn. The log lines of the first `inherited` entries
   * were recorded by earlier attempts. Whatever happens, the caller closes the session of the progress.
   */
  const startGuest = Effect.fnUntraced(function* (p: Progress, replay: ReadonlyArray<IndexedCall>, inherited: number) {
    const program = {
      key: p.program,
      script: p.spec.runnable.script,
      engine: p.run.engine,
      alone: p.spec.alone === true
    }
    const slices = sliceOrder.of(p.run.organisationId)
    const [first = [], ...pages] = historyPages(replay)
    yield* flushAhead(p)
    const opened = yield* feedPage(p, first, slices, (events) =>
      sandbox.start(program, guestLimits, startEvent(p.spec), events)
    )
    p.session = opened.turn.session
    const [atStart = [], ...outputs] = opened.turn.outputs
    p.addUsage(opened.turn, replay.length > 0)
    yield* absorb(p, atStart, p.spec.start.at, p.run.attempt > 1, slices)
    if (replay.length === 0) return opened.turn
    const recorded = p.run.attempt > 1 ? inherited : 0
    return yield* replayPage(p, first, { ...opened, turn: { ...opened.turn, outputs } }, recorded, slices).pipe(
      Effect.flatMap((turn) => replayPages(p, turn, pages, recorded - first.length, slices))
    )
  })

  /** Feeds the results of a page by `feed`. */
  const feedPage = (
    p: Progress,
    page: ReadonlyArray<IndexedCall>,
    slices: TimeSlices,
    feed: (events: ReadonlyArray<GuestEvent>) => Effect.Effect<Turn, SandboxFailure>
  ): Effect.Effect<FedPage, DriveFailure | SessionLost> =>
    history.withPage(p.run, page, (results) => {
      const fed = (events: ReadonlyArray<GuestEvent>) => guestFailure(feed(events))
      const turns =
        results.length === 0
          ? fed([])
          : Effect.flatMap(
              Effect.forEach(results, (result, i) => eventOf(p, page[i]?.call ?? 0, result, slices)),
              fed
            )
      return Effect.map(turns, (turn) => {
        slices.restart()
        return { turn, times: results.map(({ at }) => at) }
      })
    })

  /** Takes the guest's outputs of a page, and compares what it asks with what the journal says. */
  const replayPage = Effect.fnUntraced(function* (
    p: Progress,
    page: ReadonlyArray<IndexedCall>,
    { times, turn }: FedPage,
    recorded: number,
    slices: TimeSlices
  ) {
    for (let i = 0; i < turn.outputs.length; i++) {
      const entry = page[i]
      const at = times[i] ?? p.lastEventAt
      if (entry !== undefined) yield* matchReplayed(p, entry, at)
      yield* absorb(p, turn.outputs[i] ?? [], at, i < recorded, slices)
    }
    const unused = page[turn.outputs.length]
    return unused === undefined ? turn : yield* failUnused(unused)
  })

  const replayPages = Effect.fnUntraced(function* (
    p: Progress,
    first: Turn,
    pages: ReadonlyArray<ReadonlyArray<IndexedCall>>,
    inherited: number,
    slices: TimeSlices
  ) {
    let turn = first
    let recorded = inherited
    for (const page of pages) {
      const [next] = page
      if (p.end !== undefined && next !== undefined) return yield* failUnused(next)
      const { session } = turn
      const fed = yield* feedPage(p, page, slices, session.feed)
      p.addUsage(fed.turn, true)
      turn = yield* replayPage(p, page, fed, recorded, slices)
      recorded -= page.length
    }
    return turn
  })

  /**
   * Adds the outputs of one event to the progress, `outputsPerSlice` at a time. The pieces are the same at every replay,
   * because the chunks of the log are numbered by them.
   */
  const absorb = (
    p: Progress,
    outputs: ReadonlyArray<GuestOutput>,
    at: number,
    isRecorded: boolean,
    slices: TimeSlices,
    from = 0
  ): Effect.Effect<void> =>
    Effect.suspend(() => {
      const to = from + outputsPerSlice
      p.absorb(outputs.length <= outputsPerSlice ? outputs : outputs.slice(from, to), at, isRecorded)
      if (to >= outputs.length) return slices.isOver ? slices.yield : Effect.void
      const rest = absorb(p, outputs, at, isRecorded, slices, to)
      return slices.isOver ? Effect.zipRight(slices.yield, rest) : rest
    })

  /** Settles the call that a journaled result belongs to; fails if the guest made another one. */
  const matchReplayed = (p: Progress, entry: IndexedCall, at: number): Effect.Effect<void, DriveFailure> => {
    const call = p.calls.get(entry.call)
    if (call === undefined) return failNonDeterminism(entry, "the workflow did not make this call")
    if (call.hash !== entry.hash) {
      const args = JSON.stringify(call.args).slice(0, 200)
      return failNonDeterminism(entry, `the workflow now asks ${stepName(call)}(${args})`)
    }
    p.settle(call)
    p.lastEventAt = at
    if (entry.outcome === "ok") p.succeeded++
    else p.failed++
    return Effect.void
  }

  const failNonDeterminism = (entry: IndexedCall, now: string): Effect.Effect<never, DriveFailure> =>
    failRun(nonDeterminismError(entry, now))

  const failUnused = (entry: IndexedCall) =>
    failNonDeterminism(entry, "the workflow ended before its history was used up")

  /** Records the completions and feeds their results to the guest, in the same order. Returns the guest's next turn. */
  const feedCompletions = Effect.fnUntraced(function* (
    p: Progress,
    turn: Turn,
    completions: ReadonlyArray<Completion>
  ) {
    const events: Array<GuestEvent> = []
    const slices = sliceOrder.of(p.run.organisationId)
    for (const completion of completions) {
      if (slices.isOver) yield* slices.yield
      p.inFlight.delete(completion.call.id)
      // The guest was lost and its replay has already settled this call.
      if (!p.calls.has(completion.call.id)) continue
      if (completion._tag === "Postponed") postpone(p, completion)
      else {
        p.settle(completion.call)
        p.lastEventAt = Math.max(completion.at, p.lastEventAt)
        if (completion.secret !== undefined) yield* slices.through(p.hiding(completion.secret.text))
        const json = completion.secret === undefined ? resultJson(completion) : "null"
        if (p.journalBytes + json.length > tiers[p.run.tier].journalBytes)
          return yield* failRun(journalLimitError(p.run.tier, stepName(completion.call)))
        events.push(record(p, completion, json))
      }
    }
    if (events.length === 0) return turn
    yield* flushAhead(p)
    if (p.needsMark) yield* markComputing(p)
    const next = yield* guestFailure(turn.session.feed(events))
    slices.restart()
    p.addUsage(next, false)
    for (let i = 0; i < next.outputs.length; i++)
      yield* absorb(p, next.outputs[i] ?? [], events[i]?.now ?? p.lastEventAt, false, slices)
    return next
  })

  /** Adds a result to the journal and the trace, without the value of a secret; returns the event that feeds it. */
  const record = (p: Progress, completed: CompletedCall, json: string): GuestEvent => {
    const { at, attempts, call, held, isWritten, result, secret } = completed
    if (held !== undefined) p.unwrittenAnswers.push(held.release)
    const { ok } = result
    p.journalBytes += json.length
    if (!isWritten) {
      const entry: DoneEntry = {
        kind: "done",
        call: call.id,
        hash: call.hash,
        at: p.lastEventAt,
        ok,
        outcome: outcomeOf(result),
        json,
        ...(secret === undefined ? {} : { secret: { secretId: secret.secretId, number: secret.number } })
      }
      p.record(entry)
      p.unwrittenResults.push(entry)
    }
    p.trace({
      ...call,
      attempts,
      finishedAt: at,
      result: secret === undefined ? result : { ok: true, value: "[redacted]" }
    })
    const event = { t: "done", id: call.id, now: p.lastEventAt } as const
    return secret === undefined ? { ...event, ok, json } : { ...event, ok: true, v: result.ok ? result.value : null }
  }

  /** Journals until when a call waits and how many attempts it has had, so that another process can go on with it. */
  const postpone = (p: Progress, { call, until }: PostponedCall): void => {
    const held = { why: until.why, attempts: until.attempts }
    const entry = { kind: "timer", call: call.id, hash: call.hash, due: until.at, since: call.startedAt, held } as const
    p.timerEntries.set(call.id, entry)
    p.record(entry)
    p.callTimers.add(call, until.at)
  }

  return { startGuest, feedCompletions }
}
