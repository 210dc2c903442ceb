/**
 * Drives one run of a workflow in code form: feeds the guest, makes its host calls, and writes everything down in the
 * order that lets another node go on from any point. Nothing outside sees a run before its start is committed; a
 * result may be fed at once, but what follows from it waits for its commit.
 */
import { Clock, Duration, Effect, Random } from "effect"
import {
  backoff,
  decide,
  evolve,
  isEnd,
  type RunCommand,
  type RunError,
  type RunEvent,
  type RunRefused,
  tiers,
  type WaitingUntil
} from "../../domain/Execution.js"
import type { Json } from "../../domain/Json.js"
import { guest } from "../../domain/Limits.js"
import { type DoneEntry, buildHistory, transientCalls } from "../../domain/RunJournal.js"
import { Digests } from "../ports/Digests.js"
import { Faults } from "../ports/Faults.js"
import { Identifiers } from "../ports/Identifiers.js"
import { type AppendFailure, type ChangeRefused, Fenced, Journal, type OpenRun } from "../ports/Journal.js"
import {
  type GuestEvent,
  type GuestOutput,
  Sandbox,
  type GuestSession,
  type SessionLost,
  type Turn
} from "../ports/Sandbox.js"
import { callbackDeliveries, finishedRun } from "./RunResult.js"
import { isPoison, type GuestLosses, noLosses, pauseAfter, withLoss } from "./GuestLosses.js"
import { type Completion, type PostponedCall, Inbox, makeCallScheduler, shortTimerMillis } from "./CallScheduler.js"
import { makeGuestEvents } from "./GuestEvents.js"
import { make as makeHostCalls } from "./HostCalls.js"
import { make as makeOutputCheck } from "./OutputCheck.js"
import { Progress } from "./Progress.js"
import {
  guestFailure,
  nonDeterminismError,
  notRecordableError,
  poisonedError,
  stuckError,
  timedOutError,
  totalCpuError
} from "./RunErrors.js"
import { failRun, type DriveOutcome, type RunSpec, type Stop, outcomeOfRefusedWrite } from "./RunSpec.js"
import { SliceOrder, type TimeSlices } from "./TimeSlices.js"
import { stepName } from "./Trace.js"
import { makeRunWriter } from "./RunWriter.js"

/** Outputs of the guest that are handled in one slice. */
const outputsAtOnce = 100

const succeed: RunCommand = { _tag: "Succeed" }
const passDeadline: RunCommand = { _tag: "PassDeadline" }

const limits = { memoryBytes: guest.memoryBytes, cpuPerStepMillis: Duration.toMillis(guest.cpuPerStep) }

export const make = Effect.gen(function* () {
  const sandbox = yield* Sandbox
  const journal = yield* Journal
  const { outputError } = yield* makeOutputCheck
  const digests = yield* Digests
  const identifiers = yield* Identifiers
  const host = yield* makeHostCalls
  const faults = yield* Faults
  const clock = yield* Effect.clock
  const slicing = new SliceOrder(clock)
  const ports = {
    offload: { id: () => identifiers.next("blob"), sha256: digests.sha256Hex },
    hash: (text: string) => digests.sha256Hex(text).slice(0, 22)
  }

  const { flush, flushAhead, showSlowCalls, writeEnd } = makeRunWriter(journal, faults)
  const { eventOf, fedError, startEvent } = makeGuestEvents(host, digests)
  const { completions, launch } = makeCallScheduler(host, faults, clock, digests.sha256Hex, flush)

  // --- The guest ---

  /** Starts a guest and brings it to where `replay` leaves it; the guest must ask for what the journal says it asked. */
  const begin = Effect.fnUntraced(function* (
    p: Progress,
    replay: ReadonlyArray<DoneEntry>,
    inherited: number,
    known: boolean
  ) {
    const program = {
      key: p.program,
      script: p.spec.runnable.script,
      engine: p.run.engine,
      alone: p.spec.alone === true
    }
    const slices = slicing.of(p.run.organisationId)
    const events =
      replay.length === 0 ? [] : yield* Effect.forEach(replay, (entry) => eventOf(p, entry, String(entry.call), slices))
    yield* flushAhead(p)
    const turn = yield* guestFailure(sandbox.start(program, limits, startEvent(p.spec), events))
    slices.restart()
    p.spent(turn, replay.length > 0)
    for (let i = 0; i < turn.outputs.length; i++) {
      const before = replay[i - 1]
      if (before !== undefined && !known) yield* matched(p, before)
      const recorded = known || (p.run.attempt > 1 && i <= inherited)
      yield* absorb(p, turn.outputs[i] ?? [], before?.at ?? p.spec.start.at, recorded, slices)
    }
    const unused = replay[turn.outputs.length - 1]
    if (unused !== undefined) return yield* mismatch(unused, "the workflow ended before its history was used up")
    return turn
  })

  /** Takes in what one event led to, in pieces. The pieces are the same at every replay, as the chunks of the log must be. */
  const absorb = (
    p: Progress,
    outputs: ReadonlyArray<GuestOutput>,
    at: number,
    recorded: boolean,
    slices: TimeSlices,
    from = 0
  ): Effect.Effect<void> =>
    Effect.suspend(() => {
      const to = from + outputsAtOnce
      p.absorb(outputs.length <= outputsAtOnce ? outputs : outputs.slice(from, to), at, recorded)
      if (to >= outputs.length) return slices.isOver ? slices.yield : Effect.void
      const rest = absorb(p, outputs, at, recorded, slices, to)
      return slices.isOver ? Effect.zipRight(slices.yield, rest) : rest
    })

  /** Strikes off the call that a recorded result belongs to. */
  const matched = (p: Progress, entry: DoneEntry): Effect.Effect<void, Stop> => {
    const call = p.calls.get(entry.call)
    if (call === undefined) return mismatch(entry, "the workflow did not make this call")
    if (call.hash !== entry.hash)
      return mismatch(entry, `the workflow now asks ${stepName(call)}(${JSON.stringify(call.args).slice(0, 200)})`)
    p.settle(call)
    p.lastEventAt = entry.at
    if (entry.result.ok) p.succeeded++
    else p.failed++
    return Effect.void
  }

  const mismatch = (entry: DoneEntry, now: string): Effect.Effect<never, Stop> =>
    failRun(nonDeterminismError(entry, now))

  // --- The loop ---

  /** Takes completions in and feeds them one by one, in the order in which they are recorded. */
  const deliver = Effect.fnUntraced(function* (p: Progress, turn: Turn, completions: ReadonlyArray<Completion>) {
    const events: Array<GuestEvent> = []
    const slices = slicing.of(p.run.organisationId)
    for (const completion of completions) {
      if (slices.isOver) yield* slices.yield
      p.underWay.delete(completion.call.id)
      // Replayed already, after its guest was lost.
      if (!p.calls.has(completion.call.id)) continue
      if (completion._tag === "Held") {
        hold(p, completion)
        continue
      }
      const { at, attempts, call, result, secret, written } = completion
      p.settle(call)
      p.lastEventAt = Math.max(at, p.lastEventAt)
      if (secret !== undefined) yield* slices.through(p.hiding(secret.text))
      const entry: DoneEntry = {
        kind: "done",
        call: call.id,
        hash: call.hash,
        at: p.lastEventAt,
        result: secret === undefined ? result : { ok: true, value: null },
        ...(secret === undefined ? {} : { secret: { secretId: secret.secretId, number: secret.number } })
      }
      if (!written) {
        p.record(entry)
        p.unwritten.push(entry)
      }
      p.trace({
        ...call,
        attempts,
        finishedAt: at,
        result: secret === undefined ? result : { ok: true, value: "[redacted]" }
      })
      events.push(
        result.ok
          ? { t: "done", id: call.id, now: p.lastEventAt, ok: true, v: result.value }
          : { t: "done", id: call.id, now: p.lastEventAt, ok: false, e: fedError(result.failure, stepName(call)) }
      )
    }
    if (events.length === 0) return turn
    yield* flushAhead(p)
    const next = yield* guestFailure(turn.session.feed(events))
    slices.restart()
    p.spent(next, false)
    for (let i = 0; i < next.outputs.length; i++)
      yield* absorb(p, next.outputs[i] ?? [], events[i]?.now ?? p.lastEventAt, false, slices)
    return next
  })

  /** Keeps a call for later: that it waits, until when and after how many attempts outlives this process. */
  const hold = (p: Progress, { call, until }: PostponedCall): void => {
    const held = { why: until.why, attempts: until.attempts }
    const entry = { kind: "timer", call: call.id, hash: call.hash, due: until.at, since: call.startedAt, held } as const
    p.timers.set(call.id, entry)
    p.record(entry)
    p.alarms.add(call, until.at)
  }

  const overCpu = (p: Progress) => p.cpuMillis > Duration.toMillis(tiers[p.run.tier].cpu)

  /** When the run can sleep until: everything it waits for is a durable timer, the next of them far enough away. */
  const sleepsUntil = (p: Progress, now: number): number | undefined => {
    const { next, size } = p.alarms
    if (p.run.tier === "instant" || next === undefined || size < p.calls.size) return undefined
    return next - now > shortTimerMillis ? next : undefined
  }

  /** Commits that the run waits from `at` on, with everything that is not written yet. `run`: the run as it is by then. */
  const suspend = (p: Progress, run: OpenRun, at: number, waiting: WaitingUntil) => {
    const event = decide(run, { _tag: "Suspend", at, waiting })
    if (event._tag !== "Suspended") return Effect.fail(new Fenced({ id: run.id }))
    const { deadlineAt, wakeAt } = event
    const attempt = run.attempt === p.run.attempt ? {} : { attempt: run.attempt }
    return Effect.as(flush(p, { wakeAt, deadlineAt, waiting, ...attempt }), evolve(run, event))
  }

  const suspendUntil = Effect.fnUntraced(function* (p: Progress, now: number, until: number) {
    const call = [...p.calls.values()].find(({ id }) => p.timers.get(id)?.due === until)
    const kind = (call === undefined ? undefined : p.timers.get(call.id)?.held?.why) ?? "wait"
    yield* suspend(p, p.run, now, { kind, step: call === undefined ? null : stepName(call), until })
    return { _tag: "Suspended" } as const satisfies DriveOutcome
  })

  const going = Effect.fnUntraced(function* (
    p: Progress,
    first: Turn,
    inbox: Inbox
  ): Effect.fn.Return<DriveOutcome, Stop | SessionLost> {
    let turn = first
    for (;;) {
      if (overCpu(p)) {
        return yield* failRun(totalCpuError(p.run.tier))
      }
      if (p.end !== undefined) return yield* conclude(p)
      const tooMuch = p.asksTooMuch
      if (tooMuch !== undefined) return yield* failRun(tooMuch)
      if (p.calls.size === 0) {
        return yield* failRun(stuckError)
      }
      yield* launch(p, inbox)
      const now = clock.unsafeCurrentTimeMillis()
      const until = sleepsUntil(p, now)
      if (until !== undefined) return yield* suspendUntil(p, now, until)
      // Results so far are written while the run waits for the rest; a short run is written once, at its end.
      if (p.hasUnwritten && (p.opened || p.hasMuchUnwritten)) yield* flush(p)
      turn = yield* deliver(p, turn, yield* completions(p, inbox))
    }
  })

  /** A guest that was lost is started again and replayed; its calls in flight go on meanwhile. */
  const again = (p: Progress, lost: GuestLosses, inbox: Inbox): Effect.Effect<DriveOutcome, Stop> =>
    isPoison(lost)
      ? failRun(poisonedError(lost.deaths))
      : Effect.gen(function* () {
          if (p.opened) yield* flush(p)
          const rows = p.opened ? yield* journal.read(p.run.organisationId, p.run.id) : [p.spec.start, ...p.unwritten]
          const past = buildHistory(p.spec.start, rows.slice(1))
          const pause = pauseAfter(lost)
          if (pause !== undefined) yield* Effect.sleep(pause)
          const next = new Progress(
            {
              ...p.spec,
              run: p.run,
              opened: p.opened,
              history: past,
              nextSeq: p.opened ? rows.length : 1,
              alone: p.spec.alone === true || lost.deaths > 0
            },
            ports
          )
          next.carried = p.underWay
          return yield* driven(next, lost, inbox)
        })

  const driven = (p: Progress, lost: GuestLosses, inbox: Inbox): Effect.Effect<DriveOutcome, Stop> => {
    const past = p.spec.history
    let session: GuestSession | undefined
    return begin(p, past?.replay ?? [], past?.inherited ?? 0, false).pipe(
      Effect.flatMap((turn) => {
        session = turn.session
        return p.end !== undefined ? conclude(p) : going(p, turn, inbox)
      }),
      Effect.catchIf(
        (error): error is SessionLost => error._tag === "SessionLost",
        (error) => again(p, withLoss(lost, error, p.hasAdvanced), inbox)
      ),
      Effect.ensuring(Effect.suspend(() => session?.close ?? Effect.void))
    )
  }

  // --- The end ---

  const conclude = (p: Progress): Effect.Effect<DriveOutcome, Stop> => {
    const end = p.end
    if (end === undefined || !end.ok) return failRun(end?.error ?? stuckError)
    return Effect.flatMap(outputError(p.spec.runnable, end.value), (wrong) =>
      wrong === undefined ? close(p, decide(p.run, succeed), end.value, null) : failRun(wrong)
    )
  }

  /** Commits the end of the run; a run that may not end so is not this node's any more. */
  const close = (
    p: Progress,
    event: RunEvent | RunRefused,
    output: Json,
    error: RunError | null
  ): Effect.Effect<DriveOutcome, AppendFailure> =>
    Effect.suspend(() => {
      if (!isEnd(event)) return Effect.succeed<DriveOutcome>({ _tag: "Fenced" })
      const { status, statusReason } = event
      const end = { status, statusReason, output: p.show(output), error, at: clock.unsafeCurrentTimeMillis() }
      const done = finishedRun(p.run, end, p, guest.memoryBytes)
      const deliveries = callbackDeliveries(done, () => identifiers.next("dlv"))
      return writeEnd(p, { end: done, ...(deliveries.length > 0 ? { deliveries } : {}) }).pipe(
        Effect.zipRight(faults.at("terminal")),
        Effect.as<DriveOutcome>({ _tag: "Ended", end: { ...done, output } })
      )
    })

  /** A failure ends the run, or schedules its next attempt where the policy and the category allow it. */
  const fail = (p: Progress, error: RunError): Effect.Effect<DriveOutcome, AppendFailure> => {
    const event = decide(p.run, { _tag: "Fail", error })
    return event._tag === "RetryScheduled" ? retry(p, evolve(p.run, event)) : close(p, event, null, p.scrubbed(error))
  }

  /** Suspends the run until the back-off of its next attempt is over; an Instant run waits in its place. */
  const retry = Effect.fnUntraced(function* (
    p: Progress,
    failed: OpenRun
  ): Effect.fn.Return<DriveOutcome, AppendFailure> {
    const { attempt } = failed
    const now = yield* Clock.currentTimeMillis
    const until = now + Duration.toMillis(backoff(p.spec.runnable.retry, attempt, yield* Random.next))
    yield* flush(p)
    const rows = yield* journal.read(p.run.organisationId, p.run.id)
    const past = buildHistory(p.spec.start, rows.slice(1))
    p.record({ kind: "attempt", attempt, at: now, afresh: transientCalls(past.replay) })
    const suspended = yield* suspend(p, failed, now, { kind: "retry", step: null, until })
    if (p.run.tier !== "instant") return { _tag: "Suspended" }
    yield* Effect.sleep(Duration.millis(until - now))
    const resumed = decide(suspended, { _tag: "Resume", at: until })
    if (resumed._tag !== "Resumed") return { _tag: "Fenced" }
    const next = yield* journal.read(p.run.organisationId, p.run.id)
    return yield* drive({
      ...p.spec,
      run: evolve(suspended, resumed),
      opened: true,
      history: buildHistory(p.spec.start, next.slice(1)),
      nextSeq: next.length
    })
  })

  /** Postgres refused what the run wanted to record: it fails with that reason, and records nothing else. */
  const unrecordable = (p: Progress, { reason }: ChangeRefused): Effect.Effect<DriveOutcome, AppendFailure> => {
    const error = notRecordableError(reason)
    return close(p, decide(p.run, { _tag: "Fail", error }), null, error)
  }

  /** Runs until the end, until it has nothing to do for a while, or until it may not go on here. */
  const drive = (spec: RunSpec, watch?: (progress: Progress) => void): Effect.Effect<DriveOutcome> =>
    Effect.suspend(() => {
      const p = new Progress(spec, ports)
      watch?.(p)
      return driven(p, noLosses, new Inbox()).pipe(
        Effect.catchIf(
          (stop): stop is Extract<Stop, { _tag: "Failed" }> => stop._tag === "Failed",
          ({ error }) => fail(p, error)
        ),
        Effect.catchTag("ChangeRefused", (error) => unrecordable(p, error)),
        Effect.catchAll((error) => Effect.succeed(outcomeOfRefusedWrite(error)))
      )
    })

  /** Ends a run whose time is up; the fiber that drove it has stopped. */
  const timeOut = (p: Progress): Effect.Effect<DriveOutcome> =>
    close(p, decide(p.run, passDeadline), null, timedOutError).pipe(
      Effect.catchAll((error) => Effect.succeed(outcomeOfRefusedWrite(error)))
    )

  return { drive, timeOut, showSlowCalls }
})

export type CodeRun = Effect.Effect.Success<typeof make>
