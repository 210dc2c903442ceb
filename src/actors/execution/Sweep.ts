/**
 * Nobody revives an orphan unless we do: each node looks for the unfinished runs of its shards that nobody drives, for
 * queued ones while it has free slots, and for those whose time is up.
 */
import { Clock, Duration, Effect, Layer, Option } from "effect"
import { decide, isEnd, type RunError, type RunEvent, type RunRefused, tiers } from "../../domain/Execution.js"
import { guest, poisonAfter, suspectAfter } from "../../domain/Limits.js"
import type { ExecutionId } from "../../domain/Ids.js"
import { buildHistory, type StartEntry } from "../../domain/RunJournal.js"
import { Faults } from "../ports/Faults.js"
import { Identifiers } from "../ports/Identifiers.js"
import { Journal, type OpenRun } from "../ports/Journal.js"
import { Ownership } from "../ports/Ownership.js"
import { type Runnable, Runnables } from "../ports/Runnables.js"
import { type DueRun, Runs } from "../ports/Runs.js"
import { Sandbox } from "../ports/Sandbox.js"
import { Wakeups } from "../ports/Wakeups.js"
import { type BackgroundTask, backgroundTask } from "../BackgroundTask.js"
import { callbackDeliveries, finishedRun } from "./RunResult.js"
import { LiveRuns } from "./LiveRuns.js"
import { runError } from "./RunSpec.js"

const sweepInterval = Duration.millis(500)
const overdueBatch = 100
const suspectPoll = Duration.millis(5)
const suspectPatience = Duration.seconds(1)
/** Runs that are taken up together when the process died while they were being taken up the time before. */
const suspectsAtOnce = 32
/** So few of them are each taken up alone. */
const fewSuspects = 4
const survivalInterval = Duration.seconds(1)

const isStart = (entry: { readonly kind: string } | undefined): entry is StartEntry => entry?.kind === "start"

export interface SweepOptions {
  /** Runs that may be driven at a time. */
  readonly slots: number
}

export const make = (options: SweepOptions) =>
  Effect.gen(function* () {
    const journal = yield* Journal
    const runs = yield* Runs
    const live = yield* LiveRuns
    const ownership = yield* Ownership
    const runnables = yield* Runnables
    const wakeups = yield* Wakeups
    const identifiers = yield* Identifiers
    const faults = yield* Faults
    const { engine, engines } = yield* Sandbox

    /** What is due and what is claimed are told apart by the places that are taken: one look at a time. */
    const looking = yield* Effect.makeSemaphore(1)

    const free = () => Math.max(0, options.slots - live.size())

    /** Commits an end that was decided on for a run that this node does not drive. */
    const end = Effect.fnUntraced(function* (run: OpenRun, event: RunEvent | RunRefused, error: RunError) {
      if (!isEnd(event)) return
      const { status, statusReason } = event
      const at = yield* Clock.currentTimeMillis
      const done = finishedRun(run, { status, statusReason, output: null, error, at }, null, guest.memoryBytes)
      const deliveries = callbackDeliveries(done, () => identifiers.next("dlv"))
      yield* journal.append({
        id: run.id,
        organisationId: run.organisationId,
        spaceId: run.spaceId,
        retention: run.retention,
        epoch: run.epoch,
        end: done,
        deliveries
      })
      yield* live.stop(run.id, Option.some(done))
    })

    const failWith = (run: OpenRun, error: RunError) => end(run, decide(run, { _tag: "Fail", error }), error)

    /** The code that the run began with: a draft may have been changed since. */
    const codeOf = (run: OpenRun, start: StartEntry): Effect.Effect<Option.Option<Runnable>, unknown> => {
      const { contentHash, workflowVersion } = run.record
      const found =
        workflowVersion === null
          ? Effect.flatMap(
              runnables.draftThatRan(run.organisationId, run.workflowId, contentHash),
              Option.match({ onSome: Effect.succeed, onNone: () => draftOf(run, start) })
            )
          : runnables.version(run.organisationId, run.workflowId, workflowVersion)
      return found.pipe(
        Effect.map(Option.some),
        Effect.catchTags({ NotFound: () => Effect.succeedNone, WorkflowUnavailable: () => Effect.succeedNone })
      )
    }

    /** Of a run that was accepted before drafts were kept: its script is in its journal. */
    const draftOf = (run: OpenRun, { script }: StartEntry) =>
      Effect.map(runnables.draft(run.organisationId, run.workflowId), (draft) =>
        script === null ? draft : { ...draft, script, contentHash: run.record.contentHash }
      )

    /** Drives a run that is this node's, from its journal. */
    const go = Effect.fnUntraced(function* (
      taken: OpenRun,
      how: { readonly claimed: boolean; readonly alone: boolean }
    ) {
      yield* faults.at("claimed")
      const rows = yield* journal.read(taken.organisationId, taken.id)
      const [start, ...rest] = rows
      if (!isStart(start))
        return yield* failWith(
          taken,
          runError({ name: "JournalLost", category: "code", message: "the run's journal has no start" })
        )
      if (taken.activations > poisonAfter && rows.length <= taken.progress) {
        return yield* failWith(
          taken,
          runError({
            name: "Poisoned",
            code: "POISONED",
            category: "code",
            message: `the process that took the run up ended ${taken.activations - 1} times before the run got on`
          })
        )
      }
      // A run that starts has nothing to be counted from.
      if (!how.claimed && rows.length > taken.progress) yield* runs.progressed(taken, rows.length)
      const isCarried = engines.includes(taken.engine)
      // It waits for a node that carries its engine, and `/readyz` tells of it; its deadline ends it otherwise.
      if (!isCarried && rest.length > 0) return
      // Nothing was recorded yet that another engine could contradict.
      const run = isCarried ? taken : yield* runs.adopt(taken, engine)
      const code = yield* codeOf(run, start)
      if (Option.isNone(code))
        return yield* failWith(
          run,
          runError({ name: "WorkflowGone", category: "code", message: "the workflow of this run was deleted" })
        )
      const past = buildHistory(start, rest)
      live.launch(
        {
          alone: how.alone || (taken.activations > suspectAfter && rows.length <= taken.progress),
          run: { ...run, attempt: past.attempt },
          runnable: code.value,
          start,
          history: past,
          opened: true,
          nextSeq: rows.length
        },
        () => wakeups.queued()
      )
    })

    /** Nothing is left in a run's place when it could not be brought to life. */
    const inItsPlace = <E>(id: ExecutionId, body: Effect.Effect<void, E>): Effect.Effect<void, E> =>
      Effect.ensuring(
        body,
        Effect.sync(() => live.release(id))
      )

    const takeUp = (id: ExecutionId, alone = false) =>
      inItsPlace(
        id,
        Effect.flatMap(
          runs.takeOver(id),
          Option.match({ onNone: () => Effect.void, onSome: (taken) => go(taken, { claimed: false, alone }) })
        )
      )

    const resume = Effect.fn("Execution.resume")(function* (id: ExecutionId) {
      if (live.reserve(id, undefined)) yield* takeUp(id)
    })

    const suspects: Array<DueRun> = []
    const suspectsFound = yield* Effect.makeLatch(false)

    /** Waits a moment for a run to get on, before the next suspect is taken up. */
    const untilAdvanced = (id: ExecutionId) =>
      Effect.sync(() => live.hasAdvanced(id)).pipe(
        Effect.delay(suspectPoll),
        Effect.repeat({ until: (advanced) => advanced }),
        Effect.timeoutOption(suspectPatience)
      )

    // --- The three looks ---

    const resumeDue = Effect.gen(function* () {
      const slots = free()
      if (slots === 0) return
      const due = yield* looking.withPermits(1)(
        runs
          .due(ownership.held(), live.ids(), slots, engines)
          .pipe(Effect.map((found) => found.filter(({ id, organisationId }) => live.reserve(id, organisationId))))
      )
      const isSuspect = ({ activations }: DueRun) => activations > 0
      suspects.push(...due.filter(isSuspect))
      if (suspects.length > 0) yield* suspectsFound.open
      yield* Effect.forEach(
        due.filter((run) => !isSuspect(run)),
        ({ id }) => takeUp(id),
        { concurrency: 8, discard: true }
      )
    })

    /**
     * Runs that a process had just taken up when it died. Few of them, and those of more than one death, are taken up one
     * by one, each in a runner of its own; many of one death a group at a time, and a further death tells which it was.
     */
    const resumeSuspects = (advance: Effect.Effect<void>) =>
      Effect.gen(function* () {
        for (;;) {
          const [first] = suspects
          if (first === undefined) return
          const isLone = ({ activations }: DueRun) => activations >= suspectAfter
          const alone = isLone(first) || suspects.length <= fewSuspects
          const other = suspects.findIndex((run) => isLone(run) !== isLone(first))
          const group = suspects.splice(0, alone ? 1 : Math.min(suspectsAtOnce, other < 0 ? suspects.length : other))
          yield* Effect.forEach(group, ({ id }) => Effect.zipRight(resumeSuspect(id, alone), untilAdvanced(id)), {
            concurrency: "unbounded",
            discard: true
          })
          yield* advance
        }
      })

    const resumeSuspect = (id: ExecutionId, alone: boolean) =>
      Effect.catchAllCause(takeUp(id, alone), (cause) =>
        Effect.annotateLogs(Effect.logWarning("run.not_resumed", cause), { executionId: id })
      )

    /** The death of a process counts only against runs that it had just taken up: one that lives on is cleared. */
    const clearSurvivors = Effect.gen(function* () {
      const survivors = live.survivors(yield* Clock.currentTimeMillis)
      if (survivors.length > 0) yield* runs.survived(survivors)
    })

    const startQueued = Effect.gen(function* () {
      for (;;) {
        const slots = Math.min(free(), 64)
        if (slots === 0) return
        const claimed = yield* looking.withPermits(1)(
          Effect.tap(runs.claim(ownership.held(), slots, live.byOrganisation()), ({ started }) =>
            Effect.sync(() => {
              for (const { id, organisationId } of started) live.reserve(id, organisationId)
            })
          )
        )
        yield* Effect.forEach(claimed.started, (run) => inItsPlace(run.id, go(run, { claimed: true, alone: false })), {
          concurrency: 8,
          discard: true
        })
        // Where some were passed over, their organisations are full now, and others may have a turn.
        if (claimed.started.length < slots && !claimed.hasPassedOver) return
      }
    })

    const endOverdue = Effect.gen(function* () {
      for (const { id, organisationId } of yield* runs.overdue(overdueBatch)) {
        // The node that drives a run ends it itself, with what it knows of it.
        if (live.has(id)) continue
        const found = yield* runs.get(organisationId, id)
        if (Option.isNone(found)) continue
        const run = found.value
        const error = runError({
          name: "TimedOut",
          category: "timeout",
          message:
            run.status === "pending"
              ? "the run could not start in time"
              : `the run took longer than its tier's ${Duration.toSeconds(tiers[run.tier].ceiling)} s`
        })
        yield* end(run, decide(run, { _tag: "PassDeadline" }), error).pipe(Effect.catchTag("Fenced", () => Effect.void))
      }
    })

    // --- When to look ---

    const dueFound = yield* Effect.makeLatch(false)
    const overdueFound = yield* Effect.makeLatch(false)
    const untilOpened = (latch: Effect.Latch) => Effect.zipLeft(latch.await, latch.close)

    const resuming = yield* backgroundTask("runs.resume", resumeDue)
    const resumingSuspects = yield* backgroundTask("runs.resume_suspects", resumeSuspects)
    const clearing = yield* backgroundTask("runs.clear_suspicion", clearSurvivors)
    const ending = yield* backgroundTask("runs.end_overdue", endOverdue)
    const starting = yield* backgroundTask("runs.start_queued", startQueued)

    /** One statement tells whether there is anything to do: most of the time there is not. */
    const findWork = yield* backgroundTask(
      "runs.find_work",
      Effect.gen(function* () {
        const ripe = yield* runs.ripe(ownership.held(), live.ids(), engines)
        const canStart = ripe.queued && free() > 0
        yield* resuming.waiting(ripe.due && free() > 0)
        yield* resumingSuspects.waiting(suspects.length > 0)
        yield* ending.waiting(ripe.overdue)
        yield* starting.waiting(canStart)
        if (ripe.due) yield* dueFound.open
        if (ripe.overdue) yield* overdueFound.open
        if (canStart) wakeups.queued()
        if (ripe.deliveries) wakeups.delivery()
      })
    )

    const loop = (task: BackgroundTask, pause: Effect.Effect<unknown>) =>
      Effect.zipRight(task.run, pause).pipe(Effect.forever, Effect.interruptible, Effect.forkScoped)

    const sweeps = Effect.all(
      [
        loop(findWork, Effect.sleep(sweepInterval)),
        loop(resuming, untilOpened(dueFound)),
        loop(resumingSuspects, untilOpened(suspectsFound)),
        loop(clearing, Effect.sleep(survivalInterval)),
        loop(ending, untilOpened(overdueFound)),
        loop(starting, wakeups.untilQueued)
      ],
      { discard: true }
    )

    return { resume, sweeps }
  })

export const layer = (options: SweepOptions) =>
  Layer.scopedDiscard(Effect.flatMap(make(options), ({ sweeps }) => sweeps))
