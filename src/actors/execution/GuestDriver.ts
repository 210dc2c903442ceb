/**
 * Starts the guest of a run, replays its journal, and feeds it the results of its calls in the order in which they are
 * recorded. A replayed guest that asks for something else than its journal says ends the run.
 */
import { Duration, Effect } from "effect"
import { guest } from "../../domain/Limits.js"
import type { DoneEntry } from "../../domain/RunJournal.js"
import type { Digests } from "../ports/Digests.js"
import type { GuestEvent, GuestOutput, Sandbox, Turn } from "../ports/Sandbox.js"
import type { CompletedCall, Completion, PostponedCall } from "./CompletionQueue.js"
import { makeGuestEvents } from "./GuestEvents.js"
import type { HostCalls } from "./HostCalls.js"
import type { Progress } from "./Progress.js"
import { guestFailure, nonDeterminismError } from "./RunErrors.js"
import { type DriveFailure, failRun } from "./RunSpec.js"
import type { SliceOrder, TimeSlices } from "./TimeSlices.js"
import { stepName } from "./Trace.js"

/** Outputs of the guest that are handled before the time slice is checked again. */
const outputsPerSlice = 100

const guestLimits = { memoryBytes: guest.memoryBytes, cpuPerStepMillis: Duration.toMillis(guest.cpuPerStep) }

/** `flushAhead`: called before the guest computes, so that a commit can run meanwhile. */
export const makeGuestDriver = (
  sandbox: Sandbox["Type"],
  host: HostCalls,
  digests: Digests["Type"],
  sliceOrder: SliceOrder,
  flushAhead: (p: Progress) => Effect.Effect<void>
) => {
  const { eventOf, fedError, startEvent } = makeGuestEvents(host, digests)

  /**
   * Starts a guest, replays `replay` and returns the guest's last turn. The log lines of the first `inherited` entries
   * were recorded by earlier attempts.
   */
  const startGuest = Effect.fnUntraced(function* (p: Progress, replay: ReadonlyArray<DoneEntry>, inherited: number) {
    const program = {
      key: p.program,
      script: p.spec.runnable.script,
      engine: p.run.engine,
      alone: p.spec.alone === true
    }
    const slices = sliceOrder.of(p.run.organisationId)
    const events =
      replay.length === 0 ? [] : yield* Effect.forEach(replay, (entry) => eventOf(p, entry, String(entry.call), slices))
    yield* flushAhead(p)
    const turn = yield* guestFailure(sandbox.start(program, guestLimits, startEvent(p.spec), events))
    slices.restart()
    p.addUsage(turn, replay.length > 0)
    for (let i = 0; i < turn.outputs.length; i++) {
      const before = replay[i - 1]
      if (before !== undefined) yield* matchReplayed(p, before)
      const isRecorded = p.run.attempt > 1 && i <= inherited
      yield* absorb(p, turn.outputs[i] ?? [], before?.at ?? p.spec.start.at, isRecorded, slices)
    }
    const unused = replay[turn.outputs.length - 1]
    if (unused !== undefined)
      return yield* failNonDeterminism(unused, "the workflow ended before its history was used up")
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
  const matchReplayed = (p: Progress, entry: DoneEntry): Effect.Effect<void, DriveFailure> => {
    const call = p.calls.get(entry.call)
    if (call === undefined) return failNonDeterminism(entry, "the workflow did not make this call")
    if (call.hash !== entry.hash) {
      const args = JSON.stringify(call.args).slice(0, 200)
      return failNonDeterminism(entry, `the workflow now asks ${stepName(call)}(${args})`)
    }
    p.settle(call)
    p.lastEventAt = entry.at
    if (entry.result.ok) p.succeeded++
    else p.failed++
    return Effect.void
  }

  const failNonDeterminism = (entry: DoneEntry, now: string): Effect.Effect<never, DriveFailure> =>
    failRun(nonDeterminismError(entry, now))

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
        events.push(record(p, completion))
      }
    }
    if (events.length === 0) return turn
    yield* flushAhead(p)
    const next = yield* guestFailure(turn.session.feed(events))
    slices.restart()
    p.addUsage(next, false)
    for (let i = 0; i < next.outputs.length; i++)
      yield* absorb(p, next.outputs[i] ?? [], events[i]?.now ?? p.lastEventAt, false, slices)
    return next
  })

  /** Adds a result to the journal and the trace, without the value of a secret; returns the event that feeds it. */
  const record = (p: Progress, { at, attempts, call, isWritten, result, secret }: CompletedCall): GuestEvent => {
    const entry: DoneEntry = {
      kind: "done",
      call: call.id,
      hash: call.hash,
      at: p.lastEventAt,
      result: secret === undefined ? result : { ok: true, value: null },
      ...(secret === undefined ? {} : { secret: { secretId: secret.secretId, number: secret.number } })
    }
    if (!isWritten) {
      p.record(entry)
      p.unwrittenResults.push(entry)
    }
    p.trace({
      ...call,
      attempts,
      finishedAt: at,
      result: secret === undefined ? result : { ok: true, value: "[redacted]" }
    })
    return result.ok
      ? { t: "done", id: call.id, now: p.lastEventAt, ok: true, v: result.value }
      : { t: "done", id: call.id, now: p.lastEventAt, ok: false, e: fedError(result.failure, stepName(call)) }
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
