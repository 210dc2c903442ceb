/**
 * Drives one run of a workflow to its end or its next suspension: starts the guest, makes its host calls, feeds their
 * results and commits the journal, so that another node can resume from any point. A call to the outside is made only
 * after the run's row and every earlier result are committed.
 */
import { Clock, Duration, Effect, Random } from "effect"
import { backoff, decide, evolve, type RunError, tiers } from "../../domain/run/Execution.js"
import { buildHistory, indexEntries, transientCalls } from "../../domain/run/RunJournal.js"
import { Digests } from "../ports/Digests.js"
import { Faults } from "../ports/Faults.js"
import { HeldBytes } from "../ports/HeldBytes.js"
import { Identifiers } from "../ports/Identifiers.js"
import { type AppendFailure, Journal, type OpenRun } from "../ports/run/Journal.js"
import { Runs } from "../ports/run/Runs.js"
import { Sandbox, type SessionLost, type Turn } from "../ports/run/Sandbox.js"
import { Wakeups } from "../ports/run/Wakeups.js"
import { isPoison, type GuestLosses, noLosses, pauseAfter, withLoss } from "./guest/GuestLosses.js"
import { makeCallScheduler } from "./calls/CallScheduler.js"
import { CompletionQueue } from "./calls/CompletionQueue.js"
import { makeGuestDriver } from "./guest/GuestDriver.js"
import { makeHistoryReader } from "./guest/HistoryPages.js"
import { make as makeHostCalls } from "./calls/HostCalls.js"
import { make as makeOutputCheck } from "./guest/OutputCheck.js"
import { Progress } from "./Progress.js"
import { make as makeEndMessages } from "./EndMessages.js"
import { makeRunEnding } from "./RunEnding.js"
import { noMemoryError, poisonedError, stuckError, totalCpuError } from "./RunErrors.js"
import { failRun, type DriveOutcome, type RunSpec, type DriveFailure, outcomeOfRefusedWrite } from "./RunSpec.js"
import { RunMemory } from "./RunMemory.js"
import { makeRunWriter } from "./RunWriter.js"
import { makeSuspension } from "./Suspension.js"
import { SliceOrder } from "./guest/TimeSlices.js"

/** Makes the functions that drive runs of this node. */
export const make = Effect.gen(function* () {
  const sandbox = yield* Sandbox
  const wakeups = yield* Wakeups
  const journal = yield* Journal
  const { outputError } = yield* makeOutputCheck
  const digests = yield* Digests
  const identifiers = yield* Identifiers
  const host = yield* makeHostCalls
  const faults = yield* Faults
  const clock = yield* Effect.clock
  const sliceOrder = new SliceOrder(clock)
  const ports = {
    offload: { id: () => identifiers.next("blob"), sha256: digests.sha256Hex },
    hash: (text: string) => digests.sha256Hex(text).slice(0, 22)
  }

  const messagesOf = yield* makeEndMessages
  const writer = makeRunWriter(journal, faults)
  const { commitStart, flush, flushAhead, showSlowCalls } = writer
  const { suspend, suspendUntil, suspensionEnd } = makeSuspension(writer)
  const ending = makeRunEnding({ clock, faults, messagesOf, outputError, writer })
  const { commitEnd, failUnrecordable, finish, timeOut } = ending
  const runs = yield* Runs
  const markComputing = ({ run, spec: { mark } }: Progress) =>
    Effect.tap(runs.markComputing(run), () =>
      Effect.sync(() => {
        if (mark !== undefined) mark.isSet = true
      })
    )
  const ledger = yield* HeldBytes
  const history = makeHistoryReader(journal, ledger)
  const { feedCompletions, startGuest } = makeGuestDriver(
    sandbox,
    host,
    digests,
    sliceOrder,
    flushAhead,
    history,
    markComputing
  )
  const { awaitCompletions, launchCalls } = makeCallScheduler(host, faults, clock, digests.sha256Hex, flush, history)

  // --- The loop ---

  const exceedsCpu = (p: Progress) => p.cpuMillis > Duration.toMillis(tiers[p.run.tier].cpu)

  /** Launches calls and feeds their results until the run ends, fails or is suspended. */
  const loop = Effect.fnUntraced(function* (
    p: Progress,
    firstTurn: Turn,
    queue: CompletionQueue
  ): Effect.fn.Return<DriveOutcome, DriveFailure | SessionLost> {
    let turn = firstTurn
    for (;;) {
      if (exceedsCpu(p)) return yield* failRun(totalCpuError(p.run.tier))
      if (p.end !== undefined) return yield* finish(p)
      const { callLimitError } = p
      if (callLimitError !== undefined) return yield* failRun(callLimitError)
      if (p.calls.size === 0) return yield* failRun(stuckError)
      const held = queue.memory.holdArguments(p.pendingArguments)
      if (held !== undefined) yield* Effect.catchTag(held, "BytesRefused", () => failRun(noMemoryError))
      yield* launchCalls(p, queue)
      const now = clock.unsafeCurrentTimeMillis()
      const until = suspensionEnd(p, now)
      if (until !== undefined) return yield* suspendUntil(p, now, until)
      // Commits the results so far while the run waits for the rest; a short run is committed once, at its end.
      if (p.hasUnwritten && (p.hasRow || p.hasMuchUnwritten)) yield* flush(p)
      p.isWaiting = true
      p.waitingSince = now
      wakeups.signalSlot()
      const completions = yield* awaitCompletions(p, queue)
      p.isWaiting = false
      turn = yield* feedCompletions(p, turn, completions)
    }
  })

  /** Starts a lost guest again and replays it, after a back-off; its calls in flight go on meanwhile. */
  const restartGuest = (
    p: Progress,
    losses: GuestLosses,
    queue: CompletionQueue
  ): Effect.Effect<DriveOutcome, DriveFailure> =>
    isPoison(losses)
      ? failRun(poisonedError(losses.deaths))
      : Effect.gen(function* () {
          if (p.hasRow) yield* flush(p)
          const entries = p.hasRow
            ? (yield* journal.index(p.run.organisationId, p.run.id)).rest
            : indexEntries(p.unwrittenResults, 1)
          const past = buildHistory(p.spec.start, entries)
          const pause = pauseAfter(losses)
          if (pause !== undefined) yield* Effect.sleep(pause)
          const next = new Progress(
            {
              ...p.spec,
              run: p.run,
              hasRow: p.hasRow,
              history: past,
              nextSeq: p.hasRow ? entries.length + 1 : 1,
              journalBytes: p.journalBytes,
              alone: p.spec.alone === true || losses.deaths > 0
            },
            ports
          )
          next.callsOfLostGuest = p.inFlight
          return yield* driveGuest(next, losses, queue)
        })

  /**
   * Replays and runs the guest; a lost guest is restarted. Closes the guest's session in any case, and gives the run's
   * memory back once its last guest is closed.
   */
  const driveGuest = (
    p: Progress,
    losses: GuestLosses,
    queue: CompletionQueue
  ): Effect.Effect<DriveOutcome, DriveFailure> => {
    const past = p.spec.history
    return startGuest(p, past?.replay ?? [], past?.inherited ?? 0).pipe(
      Effect.flatMap((turn) => (p.end !== undefined ? finish(p) : loop(p, turn, queue))),
      Effect.catchIf(
        (error): error is SessionLost => error._tag === "SessionLost",
        (error) => restartGuest(p, withLoss(losses, error, p.hasAdvanced), queue)
      ),
      Effect.ensuring(
        Effect.suspend(() => {
          if (losses === noLosses) queue.memory.releaseAll()
          return p.session?.close ?? Effect.void
        })
      )
    )
  }

  // --- The end ---

  /** Ends the run with a failure, or schedules its next attempt if its retry policy and the error's category allow it. */
  const failOrRetry = (p: Progress, error: RunError): Effect.Effect<DriveOutcome, AppendFailure> => {
    const event = decide(p.run, { _tag: "Fail", error })
    return event._tag === "RetryScheduled"
      ? scheduleRetry(p, evolve(p.run, event))
      : commitEnd(p, event, null, p.scrubbed(error))
  }

  /** Suspends the run until the back-off of its next attempt is over; an Instant run waits in memory instead. */
  const scheduleRetry = Effect.fnUntraced(function* (
    p: Progress,
    failed: OpenRun
  ): Effect.fn.Return<DriveOutcome, AppendFailure> {
    const { attempt } = failed
    const now = yield* Clock.currentTimeMillis
    const until = now + Duration.toMillis(backoff(p.spec.runnable.retry, attempt, yield* Random.next))
    yield* flush(p)
    const { rest } = yield* journal.index(p.run.organisationId, p.run.id)
    const past = buildHistory(p.spec.start, rest)
    p.record({ kind: "attempt", attempt, at: now, afresh: transientCalls(past.replay) })
    const suspended = yield* suspend(p, failed, now, { kind: "retry", step: null, until })
    if (p.run.tier !== "instant") return { _tag: "Suspended" }
    yield* Effect.sleep(Duration.millis(until - now))
    const resumed = decide(suspended, { _tag: "Resume", at: until })
    if (resumed._tag !== "Resumed") return { _tag: "Fenced" }
    const next = yield* journal.index(p.run.organisationId, p.run.id)
    return yield* drive({
      ...p.spec,
      run: evolve(suspended, resumed),
      hasRow: true,
      history: buildHistory(p.spec.start, next.rest),
      nextSeq: next.rest.length + 1,
      journalBytes: next.bytes
    })
  })

  /** Drives the run until it ends, is suspended, is fenced or cannot be written. Never fails. */
  const drive = (spec: RunSpec, watch?: (progress: Progress) => void): Effect.Effect<DriveOutcome> =>
    Effect.suspend(() => {
      const p = new Progress(spec, ports)
      watch?.(p)
      const memory = new RunMemory(ledger, spec.run.organisationId)
      return driveGuest(p, noLosses, new CompletionQueue(memory)).pipe(
        Effect.catchIf(
          (stop): stop is Extract<DriveFailure, { _tag: "Failed" }> => stop._tag === "Failed",
          ({ error }) => failOrRetry(p, error)
        ),
        Effect.catchTag("ChangeRefused", (error) => failUnrecordable(p, error)),
        Effect.catchAll((error) => Effect.succeed(outcomeOfRefusedWrite(error)))
      )
    })

  return { commitStart, drive, timeOut, showSlowCalls }
})

export type CodeRun = Effect.Effect.Success<typeof make>
