/**
 * The runs that this node drives, each by its own fiber. Ends runs at their deadline, shows slow calls in the trace, and
 * keeps one slot per run, so that no run is driven twice.
 */
import {
  Cause,
  Clock,
  Context,
  Duration,
  Effect,
  Exit,
  Fiber,
  type FiberId,
  FiberRef,
  FiberRefs,
  HashMap,
  Layer,
  Option,
  Runtime,
  Schedule
} from "effect"
import type { ExecutionId, OrganisationId } from "../../domain/Ids.js"
import type { FinishedRun } from "../ports/run/Journal.js"
import { Runs } from "../ports/run/Runs.js"
import { Wakeups } from "../ports/run/Wakeups.js"
import { backgroundTask } from "../BackgroundTask.js"
import { pollWhileBusy } from "../PollWhileBusy.js"
import { type CodeRun, make as makeCodeRun } from "./CodeRun.js"
import { type LiveRun, LiveRunTable } from "./LiveRunTable.js"
import type { DriveOutcome, RunSpec } from "./RunSpec.js"

/** How often deadlines and slow calls are checked. */
const checkInterval = Duration.millis(100)
/**
 * The start of a run for an event is committed after this time at the latest, long before the lease of the event ends.
 */
const uncommittedMillis = 1_000
/** How long an orderly stop waits until its runs are no suspects. */
const unmarkPatience = Duration.seconds(2)
/** A call that takes longer than this is written to the trace as running. */
const slowAfterMillis = 500

export class LiveRuns extends Context.Tag("svc/LiveRuns")<
  LiveRuns,
  {
    /**
     * Reserves the run's slot; `false` when it is reserved or driven already. `wasQueued`: it waited in the start queue.
     * The caller must launch or release it.
     */
    readonly reserve: (id: ExecutionId, organisation: OrganisationId | undefined, wasQueued?: boolean) => boolean
    /** Gives back a reserved slot; without effect on a launched run. */
    readonly release: (id: ExecutionId) => void
    /** Drives a run, in its reserved slot if there is one. `settled` is called once, with the outcome. */
    readonly launch: (spec: RunSpec, settled: (outcome: DriveOutcome) => void) => void
    readonly has: (id: ExecutionId) => boolean
    /** Whether a run has journaled something since it was launched here; `true` for a run that is not driven here. */
    readonly hasAdvanced: (id: ExecutionId) => boolean
    /** The runs that this process turned out to survive since the last call, with their epochs. */
    readonly takeSurvivors: (now: number) => ReadonlyArray<{ readonly id: ExecutionId; readonly epoch: number }>
    readonly ids: () => ReadonlyArray<ExecutionId>
    readonly size: () => number
    /**
     * Runs from the start queue that were launched within a tenth of a second, without those that wait for their calls.
     */
    readonly countStarting: () => number
    /** Whether a run of the first class was launched here lately. */
    readonly hasFirstClass: () => boolean
    /** Slots in use by organisation. */
    readonly countByOrganisation: () => ReadonlyMap<OrganisationId, number>
    /** Interrupts a run that was ended elsewhere and settles it with `end`; `None` settles it as fenced. */
    readonly stop: (id: ExecutionId, end: Option.Option<FinishedRun>) => Effect.Effect<void>
    /** Whether the node leaves: `drain` was called, and no run may be taken up. */
    readonly isLeaving: () => boolean
    /**
     * Reserves no further slots, waits up to `grace` for runs to finish, and interrupts the rest. Another process resumes
     * these from their journals.
     */
    readonly drain: (grace: Duration.Duration) => Effect.Effect<void>
  }
>() {}

/** Gives a new fiber these log annotations. Cheaper than `Effect.annotateLogs`, which also restores the previous ones. */
const withLogFields =
  (fields: { readonly [name: string]: string }) =>
  (refs: FiberRefs.FiberRefs, fiberId: FiberId.Runtime): FiberRefs.FiberRefs =>
    FiberRefs.updateAs(refs, {
      fiberId,
      fiberRef: FiberRef.currentLogAnnotations,
      value: HashMap.fromIterable(Object.entries(fields))
    })

const timeOutRun = (run: CodeRun, live: LiveRun) =>
  Effect.gen(function* () {
    if (live.fiber !== undefined) yield* Fiber.interrupt(live.fiber)
    const { progress } = live
    if (progress === undefined) return { _tag: "Fenced" } as const
    return yield* run.timeOut(progress)
  })

export const layer = Layer.scoped(
  LiveRuns,
  Effect.gen(function* () {
    const run = yield* makeCodeRun
    const runStore = yield* Runs
    const wakeups = yield* Wakeups
    const clock = yield* Effect.clock
    // Runs need no service of the program, of which a call that provides one of its own would copy all.
    const runtime = Runtime.updateContext(yield* Effect.runtime<never>(), () => Context.empty())
    const runFork = Runtime.runFork(runtime)
    const table = new LiveRunTable()
    let isLeaving = false

    const checkRuns = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      for (const [id, live] of table.entries()) {
        if (live.deadlineAt <= now) {
          // The next check must not time it out again.
          live.deadlineAt = Infinity
          yield* Effect.forkDaemon(Effect.map(timeOutRun(run, live), (outcome) => table.remove(id, live, outcome)))
        } else if (live.progress !== undefined) {
          const { progress } = live
          if (
            !progress.hasRow &&
            progress.spec.settles !== undefined &&
            now - (live.launchedAt ?? now) > uncommittedMillis
          )
            yield* run.commitStart(progress)
          const shown = run.showSlowCalls(progress, now - slowAfterMillis)
          if (shown !== undefined) yield* Effect.forkDaemon(shown)
        }
      }
      const waiting = table.takeWaiting(now)
      if (waiting.length > 0) yield* runStore.unmarkComputing(waiting)
      // Runs that were starting at the last check do not count as such any more.
      wakeups.signalSlot()
    })
    const task = yield* backgroundTask("runs.deadlines", checkRuns)
    const startChecks = yield* pollWhileBusy(
      checkInterval,
      task.run.pipe(
        Effect.zipRight(Effect.suspend(() => task.reportWaiting(table.size > 0))),
        Effect.map(() => table.size > 0)
      )
    )
    const add = (id: ExecutionId, live: LiveRun) => {
      table.add(id, live)
      startChecks()
    }

    const reserve = (id: ExecutionId, organisation: OrganisationId | undefined, wasQueued = false): boolean => {
      if (isLeaving || table.get(id) !== undefined) return false
      add(id, {
        launchedAt: undefined,
        isCleared: false,
        deadlineAt: Infinity,
        progress: undefined,
        fiber: undefined,
        settle: () => undefined,
        organisationId: organisation,
        since: clock.unsafeCurrentTimeMillis(),
        wasQueued
      })
      return true
    }

    const release = (id: ExecutionId) => {
      const live = table.get(id)
      if (live !== undefined && live.fiber === undefined) table.remove(id, live, { _tag: "Fenced" })
    }

    /** Leaves a run that was taken up while the node was about to leave. */
    const leaveTo = (spec: RunSpec, settle: (outcome: DriveOutcome) => void) => {
      if (spec.mark?.isSet === true) runFork(unmark([spec.run]))
      release(spec.run.id)
      settle({ _tag: "Fenced" })
    }

    const launch = (spec: RunSpec, settle: (outcome: DriveOutcome) => void) => {
      if (isLeaving) return leaveTo(spec, settle)
      const { id } = spec.run
      const now = clock.unsafeCurrentTimeMillis()
      table.noteLaunch(spec.run.priority, now)
      const live: LiveRun = {
        launchedAt: now,
        isCleared: false,
        deadlineAt: spec.run.deadlineAt,
        progress: undefined,
        fiber: undefined,
        settle,
        organisationId: spec.run.organisationId,
        since: now,
        wasQueued: table.get(id)?.wasQueued === true
      }
      add(id, live)
      live.fiber = runFork(
        run.drive(spec, (progress) => {
          live.progress = progress
          live.deadlineAt = progress.run.deadlineAt
        }),
        { updateRefs: withLogFields({ organisationId: spec.run.organisationId, executionId: id }) }
      )
      live.fiber.addObserver((exit) => {
        if (Exit.isSuccess(exit)) table.remove(id, live, exit.value)
        // The interrupting code settles an interrupted run; after a defect the caller must not wait forever.
        else if (!Cause.isInterruptedOnly(exit.cause)) {
          runFork(Effect.annotateLogs(Effect.logError("run.driving_failed", exit.cause), { executionId: id }))
          table.remove(id, live, { _tag: "Unwritten", reason: "an unexpected error; the run goes on" })
        }
      })
    }

    const interrupt = (live: LiveRun) => (live.fiber === undefined ? Effect.void : Fiber.interrupt(live.fiber))

    const awaitEmpty = Effect.sync(() => table.size === 0).pipe(
      Effect.repeat({ until: (isEmpty) => isEmpty, schedule: Schedule.spaced("20 millis") })
    )

    /** An orderly stop counts against no run; a database that does not answer does not delay it. */
    const unmark = (runs: ReadonlyArray<{ readonly id: ExecutionId; readonly epoch: number }>) =>
      runs.length === 0
        ? Effect.void
        : Effect.ignore(Effect.timeoutOption(Effect.interruptible(runStore.unmarkComputing(runs)), unmarkPatience))

    /** Interrupts all runs together. */
    const interruptAll = Effect.suspend(() =>
      Effect.zipRight(
        unmark(table.takeMarked()),
        Effect.forEach(
          [...table.entries()],
          ([id, live]) =>
            Effect.zipRight(
              interrupt(live),
              Effect.sync(() => table.remove(id, live, { _tag: "Fenced" }))
            ),
          { concurrency: "unbounded", discard: true }
        )
      )
    )

    return LiveRuns.of({
      reserve,
      release,
      launch,
      has: (id) => table.get(id) !== undefined,
      hasAdvanced: (id) => {
        const live = table.get(id)
        return live === undefined || live.progress?.hasAdvanced === true
      },
      takeSurvivors: (now) => table.takeSurvivors(now),
      ids: () => table.ids(),
      size: () => table.size,
      hasFirstClass: () => table.hasFirstClass(clock.unsafeCurrentTimeMillis()),
      countStarting: () => table.countStarting(clock.unsafeCurrentTimeMillis()),
      countByOrganisation: () => table.countByOrganisation(),
      stop: (id, end) =>
        Effect.suspend(() => {
          const live = table.get(id)
          if (live === undefined) return Effect.void
          return Effect.zipRight(
            interrupt(live),
            Effect.sync(() =>
              table.remove(
                id,
                live,
                Option.match(end, {
                  onNone: () => ({ _tag: "Fenced" }) as const,
                  onSome: (finished) => ({ _tag: "Ended", end: finished }) as const
                })
              )
            )
          )
        }),
      isLeaving: () => isLeaving,
      drain: (grace) =>
        Effect.suspend(() => {
          isLeaving = true
          return Effect.timeoutOption(Effect.interruptible(awaitEmpty), grace)
        }).pipe(Effect.zipRight(interruptAll))
    })
  })
)
