/**
 * The runs that this node drives. Each is a fiber in this table, started without activating an entity; the execution
 * actor attaches to it when a message arrives.
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
  Runtime
} from "effect"
import type { ExecutionId, OrganisationId } from "../../domain/Ids.js"
import type { FinishedRun } from "../ports/Journal.js"
import { Runs } from "../ports/Runs.js"
import { backgroundTask } from "../BackgroundTask.js"
import { pollWhileBusy } from "../PollWhileBusy.js"
import { type CodeRun, make as makeCodeRun } from "./CodeRun.js"
import type { Progress } from "./Progress.js"
import type { DriveOutcome, RunSpec } from "./RunSpec.js"

/** How often deadlines are looked at, and slow calls shown in the trace. */
const lookInterval = Duration.millis(100)
/** A call that takes longer than this is written as running, so that it can be seen before it ends. */
const shownAfterMillis = 500

/** A run that has lived so long is looked at; without having got on, it counts as survived only after longer. */
const shortLifeMillis = 1_000
const survivedAfterMillis = 5_000

interface Live {
  /** When it was launched; `undefined` for a place that is kept for a run. */
  readonly launchedAt: number | undefined
  /** It was told as a survivor. */
  cleared: boolean
  deadlineAt: number
  progress: Progress | undefined
  fiber: Fiber.RuntimeFiber<DriveOutcome> | undefined
  readonly settle: (outcome: DriveOutcome) => void
  /** `undefined`: a place for a run of which only the id is known. */
  readonly organisationId: OrganisationId | undefined
}

export class LiveRuns extends Context.Tag("svc/LiveRuns")<
  LiveRuns,
  {
    /** Takes a run's place before it is driven; `false` when it is taken. Whoever takes it must launch or release it. */
    readonly reserve: (id: ExecutionId, organisation: OrganisationId | undefined) => boolean
    readonly release: (id: ExecutionId) => void
    /** Drives a run, in its place if one is reserved; `settled` is called once, when it ends, sleeps or may not go on here. */
    readonly launch: (spec: RunSpec, settled: (outcome: DriveOutcome) => void) => void
    readonly has: (id: ExecutionId) => boolean
    /** Whether a run has written something since it was launched here, or is gone. */
    readonly hasAdvanced: (id: ExecutionId) => boolean
    /** Runs of which it became clear since the last call that this process survives them, with their epochs. */
    readonly survivors: (now: number) => ReadonlyArray<{ readonly id: ExecutionId; readonly epoch: number }>
    readonly ids: () => ReadonlyArray<ExecutionId>
    readonly size: () => number
    /** How many of them each organisation has. */
    readonly byOrganisation: () => ReadonlyMap<OrganisationId, number>
    /** Stops driving a run that was ended from outside, and tells whoever waits for it how it ended. */
    readonly stop: (id: ExecutionId, end: Option.Option<FinishedRun>) => Effect.Effect<void>
    /** Lets runs finish for a while, then stops the rest: they go on elsewhere from their journal. */
    readonly drain: (grace: Duration.Duration) => Effect.Effect<void>
  }
>() {}

/** What a fiber logs has these fields. Cheaper than a region with annotations, which also restores what was before. */
const annotated =
  (fields: { readonly [name: string]: string }) =>
  (refs: FiberRefs.FiberRefs, fiberId: FiberId.Runtime): FiberRefs.FiberRefs =>
    FiberRefs.updateAs(refs, {
      fiberId,
      fiberRef: FiberRef.currentLogAnnotations,
      value: HashMap.fromIterable(Object.entries(fields))
    })

const passed = (run: CodeRun, live: Live) =>
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
    const runs = yield* Runs
    const clock = yield* Effect.clock
    const runtime = yield* Effect.runtime<never>()
    const runFork = Runtime.runFork(runtime)
    const table = new Map<ExecutionId, Live>()
    const counts = new Map<OrganisationId, number>()
    const count = (organisation: OrganisationId | undefined, change: number) => {
      if (organisation === undefined) return
      const left = (counts.get(organisation) ?? 0) + change
      if (left === 0) counts.delete(organisation)
      else counts.set(organisation, left)
    }
    const remove = (id: ExecutionId, live: Live, outcome: DriveOutcome) => {
      if (table.get(id) !== live) return
      table.delete(id)
      count(live.organisationId, -1)
      live.settle(outcome)
    }

    const look = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      for (const [id, live] of table) {
        if (live.deadlineAt <= now) {
          // Looked at once: the next look must not find it again.
          live.deadlineAt = Infinity
          yield* Effect.forkDaemon(Effect.map(passed(run, live), (outcome) => remove(id, live, outcome)))
        } else if (live.progress !== undefined) {
          const shown = run.showSlowCalls(live.progress, now - shownAfterMillis)
          if (shown !== undefined) yield* Effect.forkDaemon(shown)
        }
      }
    })
    const task = yield* backgroundTask("runs.deadlines", look)
    const lookAfter = yield* pollWhileBusy(
      lookInterval,
      task.run.pipe(
        Effect.zipRight(Effect.suspend(() => task.waiting(table.size > 0))),
        Effect.map(() => table.size > 0)
      )
    )
    const put = (id: ExecutionId, live: Live) => {
      count(table.get(id)?.organisationId, -1)
      table.set(id, live)
      count(live.organisationId, 1)
      lookAfter()
    }

    const reserve = (id: ExecutionId, organisation: OrganisationId | undefined): boolean => {
      if (table.has(id)) return false
      put(id, {
        launchedAt: undefined,
        cleared: false,
        deadlineAt: Infinity,
        progress: undefined,
        fiber: undefined,
        settle: () => undefined,
        organisationId: organisation
      })
      return true
    }

    const release = (id: ExecutionId) => {
      const live = table.get(id)
      if (live !== undefined && live.fiber === undefined) remove(id, live, { _tag: "Fenced" })
    }

    const launch = (spec: RunSpec, settle: (outcome: DriveOutcome) => void) => {
      const { id } = spec.run
      const live: Live = {
        launchedAt: clock.unsafeCurrentTimeMillis(),
        cleared: false,
        deadlineAt: spec.run.deadlineAt,
        progress: undefined,
        fiber: undefined,
        settle,
        organisationId: spec.run.organisationId
      }
      put(id, live)
      live.fiber = runFork(
        run.drive(spec, (progress) => {
          live.progress = progress
          live.deadlineAt = progress.run.deadlineAt
        }),
        { updateRefs: annotated({ organisationId: spec.run.organisationId, executionId: id }) }
      )
      live.fiber.addObserver((exit) => {
        if (Exit.isSuccess(exit)) remove(id, live, exit.value)
        // An interrupted run is settled by whoever interrupted it; a bug must not leave its caller waiting.
        else if (!Cause.isInterruptedOnly(exit.cause)) {
          runFork(Effect.annotateLogs(Effect.logError("run.driving_failed", exit.cause), { executionId: id }))
          remove(id, live, { _tag: "Unwritten", reason: "an unexpected error; the run goes on" })
        }
      })
    }

    const survivors = (now: number) => {
      const found: Array<{ readonly id: ExecutionId; readonly epoch: number }> = []
      for (const [id, live] of table) {
        const { cleared, launchedAt, progress } = live
        if (cleared || progress?.opened !== true || launchedAt === undefined || now - launchedAt < shortLifeMillis)
          continue
        if (!progress.hasAdvanced && now - launchedAt < survivedAfterMillis) continue
        live.cleared = true
        found.push({ id, epoch: progress.run.epoch })
      }
      return found
    }

    const interrupt = (live: Live) => (live.fiber === undefined ? Effect.void : Fiber.interrupt(live.fiber))

    const untilEmpty = Effect.suspend(() => Effect.void).pipe(
      Effect.delay("20 millis"),
      Effect.repeat({ until: () => table.size === 0 })
    )

    return LiveRuns.of({
      reserve,
      release,
      launch,
      has: (id) => table.has(id),
      hasAdvanced: (id) => {
        const live = table.get(id)
        return live === undefined || live.progress?.hasAdvanced === true
      },
      survivors,
      ids: () => [...table.keys()],
      size: () => table.size,
      byOrganisation: () => counts,
      stop: (id, end) =>
        Effect.suspend(() => {
          const live = table.get(id)
          if (live === undefined) return Effect.void
          return Effect.zipRight(
            interrupt(live),
            Effect.sync(() =>
              remove(
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
      drain: (grace) =>
        untilEmpty.pipe(
          Effect.timeoutOption(grace),
          Effect.zipRight(
            // A stop that was asked for counts against no run.
            Effect.suspend(() => Effect.ignore(runs.survived(survivors(Infinity))))
          ),
          Effect.zipRight(
            Effect.suspend(() =>
              Effect.forEach(
                [...table],
                ([id, live]) =>
                  Effect.zipRight(
                    interrupt(live),
                    Effect.sync(() => remove(id, live, { _tag: "Fenced" }))
                  ),
                { discard: true }
              )
            )
          )
        )
    })
  })
)
