/**
 * The runs that this node drives. Ends runs at their deadline, shows slow calls in the trace, and
 * keeps one slot per run, so that no run is driven twice.
 */
import { Clock, Context, Duration, Effect, Layer, Option, Runtime, Schedule } from "effect"
import type { ExecutionId, OrganisationId } from "../../domain/Ids.js"
import { accountOfRun, type FinishedRun, Journal } from "../ports/run/Journal.js"
import { Ownership } from "../ports/Ownership.js"
import { Runs } from "../ports/run/Runs.js"
import { Wakeups } from "../ports/run/Wakeups.js"
import { backgroundTask } from "../BackgroundTask.js"
import { pollWhileBusy } from "../PollWhileBusy.js"
import { approvalCall } from "./calls/ApprovalCalls.js"
import { type LiveRun, LiveRunTable } from "./LiveRunTable.js"
import { type DrivenRun, make as makeRunDriver } from "./RunDriver.js"
import { slowCallsOf, takeSlowSteps } from "./trace/SlowCalls.js"
import type { DriveOutcome, RunSpec } from "./RunSpec.js"

/** How often deadlines and slow calls are checked. */
const checkInterval = Duration.millis(100)
/** A run that waits after this time without having committed anything is committed: it is seen, and survives this process. */
const unseenMillis = 250
/**
 * The start of a run for an event is committed after this time at the latest, long before the lease of the event ends.
 */
const uncommittedMillis = 1_000
/** How long an orderly stop waits until its runs are no suspects. */
const unmarkPatience = Duration.seconds(2)
/** How long a run that is given up may take to commit its start: less than `Ownership.onLeave` waits. */
const commitPatience = Duration.millis(500)
/** A call that takes longer than this is written to the trace as running. */
const slowAfterMillis = 500
/** How often decisions about approvals are looked for, in milliseconds. */
const decisionsInterval = 400

export class LiveRuns extends Context.Tag("svc/LiveRuns")<
  LiveRuns,
  {
    /**
     * Reserves the run's slot; `false` when it is reserved or driven already. `account`: the organisation whose plan counts
     * it. `wasQueued`: it waited in the start queue. The caller must launch or release it.
     */
    readonly reserve: (id: ExecutionId, account: OrganisationId | undefined, wasQueued?: boolean) => boolean
    /** Gives back a reserved slot; without effect on a launched run. */
    readonly release: (id: ExecutionId) => void
    /** Drives a run, in its reserved slot if there is one. `settled` is called once, with the outcome. */
    readonly launch: (spec: RunSpec, settled: (outcome: DriveOutcome) => void) => void
    readonly has: (id: ExecutionId) => boolean
    /** Commits a run that has committed nothing. `false`: no such run is driven here, or its commit takes too long. */
    readonly commitStart: (id: ExecutionId) => Effect.Effect<boolean>
    /** Whether a run has journaled something since it was launched here; `true` for a run that is not driven here. */
    readonly hasAdvanced: (id: ExecutionId) => boolean
    /** The runs that this process turned out to survive since the last call, with their epochs. */
    readonly takeSurvivors: (now: number) => ReadonlyArray<{ readonly id: ExecutionId; readonly epoch: number }>
    /** Has `takeSurvivors` return them again: what it returned was not written. */
    readonly returnSurvivors: (runs: ReadonlyArray<{ readonly id: ExecutionId }>) => void
    readonly ids: () => ReadonlyArray<ExecutionId>
    readonly size: () => number
    /** Whether a run has left its slot. */
    readonly hasEnded: () => boolean
    /**
     * Runs from the start queue that were launched within a tenth of a second, without those that wait for their calls.
     */
    readonly countStarting: () => number
    /** Whether a run of the first class was launched here lately. */
    readonly hasFirstClass: () => boolean
    /** Slots in use by account. */
    readonly countByAccount: () => ReadonlyMap<OrganisationId, number>
    /** Waits until the run leaves its slot; not at all if it has none. */
    readonly awaitLeft: (id: ExecutionId) => Effect.Effect<void>
    /** Stops a run that was ended elsewhere and settles it with `end`; `None` settles it as fenced. */
    readonly stop: (id: ExecutionId, end: Option.Option<FinishedRun>) => Effect.Effect<void>
    /** Whether the node leaves: `drain` was called, and no run may be taken up. */
    readonly isLeaving: () => boolean
    /**
     * Reserves no further slots, waits up to `grace` for runs to finish, and stops the rest. Another process resumes
     * these from their journals.
     */
    readonly drain: (grace: Duration.Duration) => Effect.Effect<void>
  }
>() {}

export const layer = Layer.scoped(
  LiveRuns,
  Effect.gen(function* () {
    const drive = yield* makeRunDriver
    const journal = yield* Journal
    const runStore = yield* Runs
    const ownership = yield* Ownership
    const wakeups = yield* Wakeups
    const clock = yield* Effect.clock
    const runFork = Runtime.runFork(yield* Effect.runtime<never>())
    const table = new LiveRunTable()
    let isLeaving = false

    /** Writes calls that began before `before` and have not ended as running steps, so that the trace shows them. */
    const showSlowCalls = ({ progress }: DrivenRun, before: number) => {
      const slow = slowCallsOf(progress, before)
      return slow.length === 0
        ? Effect.void
        : Effect.forkDaemon(Effect.ignore(journal.append(takeSlowSteps(progress, slow))))
    }

    /** Whether the start of a run must be committed, so long after its launch. */
    const isOverdue = ({ progress: { hasRow, isWaiting, spec } }: DrivenRun, millis: number): boolean =>
      !hasRow && ((isWaiting && millis > unseenMillis) || (spec.settles !== undefined && millis > uncommittedMillis))

    let decisionsAt = 0
    /** Tells runs that wait for people beside other calls of decisions; suspended ones are woken. */
    const tellDecisions = Effect.fnUntraced(function* (now: number) {
      if (now - decisionsAt < decisionsInterval) return
      decisionsAt = now
      const asking = [...table.entries()].flatMap(([, { driven }]) =>
        driven?.progress.run.tier === "long" && driven.progress.callTimers.has(approvalCall) ? [driven] : []
      )
      if (asking.length === 0) return
      const woken = new Set(yield* runStore.takeWoken(asking.map(({ progress: { run } }) => run)))
      for (const driven of asking) if (woken.has(driven.progress.run.id)) driven.signal("ApprovalDecided")
    })

    const checkRuns = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      for (const [, live] of table.entries()) {
        const { driven, launchedAt } = live
        if (driven === undefined) continue
        if (live.deadlineAt <= now) {
          // The next check must not time it out again.
          live.deadlineAt = Infinity
          driven.signal("DeadlinePassed")
        } else {
          if (isOverdue(driven, now - (launchedAt ?? now))) driven.signal("StartOverdue")
          yield* showSlowCalls(driven, now - slowAfterMillis)
        }
      }
      yield* tellDecisions(now)
      const waiting = table.takeWaiting(now)
      if (waiting.length > 0)
        yield* Effect.tapErrorCause(runStore.unmarkComputing(waiting), () =>
          Effect.sync(() => table.returnMarks(waiting))
        )
      // Runs that were starting at the last check do not count as such any more.
      wakeups.signalSlot()
    })
    const task = yield* backgroundTask("runs.deadlines", checkRuns, { isOfShards: true })
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

    const reserve = (id: ExecutionId, account: OrganisationId | undefined, wasQueued = false): boolean => {
      if (isLeaving || table.get(id) !== undefined) return false
      add(id, {
        launchedAt: undefined,
        isCleared: false,
        deadlineAt: Infinity,
        driven: undefined,
        settle: () => undefined,
        accountId: account,
        since: clock.unsafeCurrentTimeMillis(),
        wasQueued
      })
      return true
    }

    const release = (id: ExecutionId) => {
      const live = table.get(id)
      if (live !== undefined && live.driven === undefined) table.remove(id, live, { _tag: "Fenced" })
    }

    /** Leaves a run that was taken up while the node was about to leave, or its shard left. */
    const leaveTo = (spec: RunSpec, settle: (outcome: DriveOutcome) => void) => {
      if (spec.mark?.isSet === true) runFork(unmark([spec.run]))
      release(spec.run.id)
      settle({ _tag: "Fenced" })
    }

    const launch = (spec: RunSpec, settle: (outcome: DriveOutcome) => void) => {
      const { id, shard } = spec.run
      if (isLeaving || (spec.hasRow && !ownership.owns(shard))) return leaveTo(spec, settle)
      const seat = spec.hasRow ? null : ownership.seat()
      const now = clock.unsafeCurrentTimeMillis()
      table.noteLaunch(spec.run.priority, now)
      const live: LiveRun = {
        launchedAt: now,
        isCleared: false,
        deadlineAt: spec.run.deadlineAt,
        driven: drive(seat === null ? spec : { ...spec, seat }, (outcome) => {
          if (outcome._tag === "Fenced" && spec.mark?.isSet === true) runFork(unmark([spec.run]))
          table.remove(id, live, outcome)
        }),
        settle,
        accountId: accountOfRun(spec.run),
        since: now,
        wasQueued: table.get(id)?.wasQueued === true
      }
      add(id, live)
      live.driven?.begin()
    }

    const stopDriving = ({ driven }: LiveRun) => driven?.stop ?? Effect.void

    const awaitEmpty = Effect.sync(() => table.size === 0).pipe(
      Effect.repeat({ until: (isEmpty) => isEmpty, schedule: Schedule.spaced("20 millis") })
    )

    /** An orderly stop counts against no run; a database that does not answer does not delay it. */
    const unmark = (runs: ReadonlyArray<{ readonly id: ExecutionId; readonly epoch: number }>) =>
      runs.length === 0
        ? Effect.void
        : Effect.ignore(Effect.timeoutOption(Effect.interruptible(runStore.unmarkComputing(runs)), unmarkPatience))

    /**
     * Stops runs together: all, or those of some shards. Each of them leaves its slot also when the caller stops waiting,
     * since nobody resumes a run that has a slot.
     */
    const stopAll = (shards?: ReadonlySet<number>) =>
      Effect.suspend(() => {
        const marked = table.takeMarked(shards)
        const stopped = [...table.entries()].filter(
          ([, { driven }]) => shards === undefined || shards.has(driven?.progress.run.shard ?? 0)
        )
        return Effect.zipRight(
          Effect.forEach(
            stopped,
            ([id, live]) =>
              Effect.ensuring(
                stopDriving(live),
                Effect.sync(() => table.remove(id, live, { _tag: "Fenced" }))
              ),
            { concurrency: "unbounded", discard: true }
          ),
          unmark(marked)
        )
      })

    const isUncommitted = ({ driven }: LiveRun): boolean => driven?.progress.isStored === false

    /** Commits the starts of runs that have committed nothing, or waits until they have left. `None`: not in time. */
    const commitStarts = (runs: ReadonlyArray<LiveRun>) =>
      Effect.suspend(() => {
        const open = runs.flatMap((live) => (live.driven !== undefined && isUncommitted(live) ? [live.driven] : []))
        for (const driven of open) driven.signal("StartOverdue")
        return Effect.sync(() =>
          open.every(({ progress }) => progress.isStored || table.get(progress.run.id) === undefined)
        ).pipe(
          Effect.repeat({ until: (areCommitted) => areCommitted, schedule: Schedule.spaced("5 millis") }),
          Effect.timeoutOption(commitPatience)
        )
      })

    // Another node resumes them.
    yield* ownership.onLeave((shards) => {
      const runs = [...table.entries()].flatMap(([, live]) =>
        shards.has(live.driven?.progress.run.shard ?? -1) ? [live] : []
      )
      return Effect.ensuring(commitStarts(runs), stopAll(shards))
    })

    return LiveRuns.of({
      reserve,
      release,
      launch,
      has: (id) => table.get(id) !== undefined,
      commitStart: (id) => {
        const live = table.get(id)
        return live === undefined || !isUncommitted(live)
          ? Effect.succeed(false)
          : Effect.map(commitStarts([live]), Option.isSome)
      },
      hasAdvanced: (id) => {
        const live = table.get(id)
        return live === undefined || live.driven?.progress.hasAdvanced === true
      },
      takeSurvivors: (now) => table.takeSurvivors(now),
      returnSurvivors: (runs) => table.returnSurvivors(runs),
      ids: () => table.ids(),
      size: () => table.size,
      hasEnded: () => table.hasEnded,
      hasFirstClass: () => table.hasFirstClass(clock.unsafeCurrentTimeMillis()),
      countStarting: () => table.countStarting(clock.unsafeCurrentTimeMillis()),
      countByAccount: () => table.countByAccount(),
      awaitLeft: (id) =>
        Effect.async<void>((resume) => {
          if (table.get(id) === undefined) return void resume(Effect.void)
          const forget = table.watch(id, () => resume(Effect.void))
          return Effect.sync(forget)
        }),
      stop: (id, end) =>
        Effect.suspend(() => {
          const live = table.get(id)
          if (live === undefined) return Effect.void
          return Effect.zipRight(
            stopDriving(live),
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
        }).pipe(Effect.zipRight(stopAll()))
    })
  })
)
