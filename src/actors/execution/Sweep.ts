/**
 * Finds runs of this node's shards that are orphaned, due, queued or past their deadline. Takes over the first two,
 * starts queued ones while slots are free, and ends the overdue.
 */
import { Clock, Duration, Effect, Layer, Option } from "effect"
import { decide } from "../../domain/run/Execution.js"
import type { EventPriority } from "../../domain/event/Event.js"
import type { ExecutionId } from "../../domain/Ids.js"
import { suspectAfter } from "../../domain/Limits.js"
import { startableRuns } from "../../domain/run/StartPolicy.js"
import { type BackgroundTask, backgroundTask } from "../BackgroundTask.js"
import { EventDispatch } from "../ports/event/EventRuns.js"
import { EventStream } from "../ports/event/EventStream.js"
import { IntakeLoad } from "../ports/event/IntakeLoad.js"
import { accountOfRun } from "../ports/run/Journal.js"
import { Ownership } from "../ports/Ownership.js"
import { type DueRun, Runs } from "../ports/run/Runs.js"
import { Sandbox } from "../ports/run/Sandbox.js"
import type { TakenWork } from "../ports/run/StartQueue.js"
import { Wakeups } from "../ports/run/Wakeups.js"
import { LiveRuns } from "./LiveRuns.js"
import { make as makeActivation } from "./RunActivation.js"
import { RunPlaces } from "./RunPlaces.js"
import { runError } from "./RunSpec.js"

const sweepInterval = Duration.millis(500)
const overdueBatch = 100
const suspectPoll = Duration.millis(5)
const suspectPatience = Duration.seconds(1)
/** Suspects of several deaths that are taken over together. */
const suspectsAtOnce = 32
/** Up to so many suspects each get a runner of their own. */
const fewSuspects = 4
const survivalInterval = Duration.seconds(1)

const ofShards = { isOfShards: true }

interface SweepOptions {
  /** Runs that may be driven at a time. */
  readonly slots: number
}

/** The accounts of what was taken, one entry each. */
const accountsOf = ({ events, runs }: TakenWork) => [
  ...runs.map(accountOfRun),
  ...events.map(({ accountId }) => accountId)
]

/** Repeats the passes until the scope closes. */
const sweep = (options: SweepOptions) =>
  Effect.gen(function* () {
    const { activate, commitEnd, forEachRun, releaseAfter, takeOver } = yield* makeActivation
    const runs = yield* Runs
    const stream = yield* EventStream
    const live = yield* LiveRuns
    const places = yield* RunPlaces
    const ownership = yield* Ownership
    const wakeups = yield* Wakeups
    const { engines } = yield* Sandbox
    const { dispatchLeased } = yield* EventDispatch
    const load = yield* IntakeLoad

    /** Finding due runs and taking queued ones exclude each other: both count free slots and then reserve them. */
    const claiming = yield* Effect.makeSemaphore(1)

    /** The first class that waited when the queue was read last. */
    let firstWaiting: EventPriority = 4
    const startable = () =>
      startableRuns({
        slots: options.slots,
        running: live.size(),
        starting: live.countStarting(),
        hasFirstClass: live.hasFirstClass(),
        firstWaiting,
        isAcceptingFirst: load.comesFirst(),
        isLeaving: live.isLeaving()
      })

    let suspects: ReadonlyArray<DueRun> = []
    const suspectsLatch = yield* Effect.makeLatch(false)

    /** Waits until each of the runs has made progress, at most `suspectPatience`. */
    const awaitAdvances = (runs: ReadonlyArray<DueRun>) =>
      Effect.sync(() => runs.every(({ id }) => live.hasAdvanced(id))).pipe(
        Effect.delay(suspectPoll),
        Effect.repeat({ until: (advanced) => advanced }),
        Effect.timeoutOption(suspectPatience)
      )

    // --- The passes ---

    /** A step of the pass after each of the runs. */
    const stepAfter =
      (advance: Effect.Effect<void>) =>
      <E>(body: Effect.Effect<void, E>) =>
        Effect.ensuring(body, advance)

    const resumeDue = Effect.fnUntraced(function* (advance: Effect.Effect<void>) {
      const slots = startable().due
      if (slots === 0) return
      const due = yield* claiming.withPermits(1)(
        runs
          .findDue(ownership.ownedShards(), live.ids(), slots, engines)
          .pipe(Effect.map((found) => found.filter(({ accountId, id }) => live.reserve(id, accountId))))
      )
      const isSuspect = ({ activations }: DueRun) => activations > 0
      suspects = [...suspects, ...due.filter(isSuspect)]
      if (suspects.length > 0) yield* suspectsLatch.open
      yield* forEachRun(
        due.filter((run) => !isSuspect(run)),
        ({ id }) => stepAfter(advance)(takeOver(id))
      )
    })

    /** Removes the suspects that are taken over next: those of the fewest deaths, narrowed down after each further one. */
    const takeSuspects = () => {
      const deaths = Math.min(...suspects.map(({ activations }) => activations))
      const equals = suspects.filter(({ activations }) => activations === deaths)
      const areFew = equals.length <= fewSuspects
      const most = deaths === 1 ? equals.length : deaths < suspectAfter && !areFew ? suspectsAtOnce : 1
      const group = equals.slice(0, most)
      suspects = suspects.filter((run) => !group.includes(run))
      return { group, alone: areFew || deaths >= suspectAfter }
    }

    /**
     * Takes over runs that their process died with before they wrote anything. After one death they are probably
     * bystanders and are taken over at once, each in a runner of its own if they are few. After further deaths they go in
     * smaller groups, then one by one, so that the next death points at the culprit.
     */
    const resumeSuspects = (advance: Effect.Effect<void>) =>
      Effect.gen(function* () {
        while (suspects.length > 0) {
          const { alone, group } = takeSuspects()
          yield* Effect.forEach(group, ({ id }) => resumeSuspect(id, alone), { concurrency: 8, discard: true })
          if (suspects.length > 0) yield* awaitAdvances(group)
          yield* advance
        }
      })

    const resumeSuspect = (id: ExecutionId, alone: boolean) =>
      Effect.catchAllCause(takeOver(id, alone), (cause) =>
        Effect.annotateLogs(Effect.logWarning("run.not_resumed", cause), { executionId: id })
      )

    /** Clears runs that live on: a later death of the process does not count against them. */
    const clearSurvivors = Effect.gen(function* () {
      const survivors = live.takeSurvivors(yield* Clock.currentTimeMillis)
      if (survivors.length > 0)
        yield* Effect.tapErrorCause(runs.clearActivations(survivors), () =>
          Effect.sync(() => live.returnSurvivors(survivors))
        )
    })

    const startQueued = Effect.fnUntraced(function* (advance: Effect.Effect<void>) {
      for (;;) {
        const slots = startable().queued
        if (slots === 0) return
        const signals = wakeups.queuedSignals()
        const taken = yield* claiming.withPermits(1)(
          places.whileTaking(
            (taker) =>
              Effect.tap(
                stream.take(ownership.ownedShards(), slots, live.countByAccount(), taker),
                ({ runs: started }) =>
                  Effect.sync(() => {
                    for (const run of started) live.reserve(run.id, accountOfRun(run), true)
                  })
              ),
            accountsOf
          )
        )
        firstWaiting = taken.firstWaiting ?? 4
        yield* dispatchLeased(taken.events)
        yield* forEachRun(taken.runs, (run) =>
          stepAfter(advance)(releaseAfter(run.id, activate(run, { claimed: true, alone: false })))
        )
        wakeups.awaitSlotsOf(taken.passedOver)
        // Runs were passed over because their organisations are full: other organisations may fill the free slots.
        const isEmpty = taken.runs.length + taken.events.length < slots && taken.passedOver.length === 0
        wakeups.clearQueued(signals, isEmpty ? null : taken.firstWaiting)
        if (isEmpty) return
        yield* advance
      }
    })

    const endOverdue = Effect.fnUntraced(function* (advance: Effect.Effect<void>) {
      for (const { id, organisationId } of yield* runs.findOverdue(ownership.ownedShards(), overdueBatch)) {
        yield* advance
        // LiveRuns ends the runs that this node drives, with their metrics.
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
              : `the run took longer than its ${run.record.ceilingMillis / 1000} s`
        })
        yield* commitEnd(run, decide(run, { _tag: "PassDeadline" }), error).pipe(
          Effect.catchTag("Fenced", () => Effect.void)
        )
      }
    })

    // --- Schedule ---

    const dueLatch = yield* Effect.makeLatch(false)
    const overdueLatch = yield* Effect.makeLatch(false)
    /** Opens when shards came, whose runs wait since their last owner gave them up. */
    const gainedLatch = yield* Effect.makeLatch(false)
    yield* ownership.onGain(() => gainedLatch.unsafeOpen())
    const awaitAndClose = (latch: Effect.Latch) => Effect.zipLeft(latch.await, latch.close)

    const resuming = yield* backgroundTask("runs.resume", resumeDue, ofShards)
    const resumingSuspects = yield* backgroundTask("runs.resume_suspects", resumeSuspects, ofShards)
    const clearing = yield* backgroundTask("runs.clear_suspicion", clearSurvivors, ofShards)
    const ending = yield* backgroundTask("runs.end_overdue", endOverdue, ofShards)
    const starting = yield* backgroundTask("runs.start_queued", startQueued, ofShards)

    /** One query tells which passes have work, and wakes those. */
    const findWork = yield* backgroundTask(
      "runs.find_work",
      Effect.gen(function* () {
        const work = yield* runs.findWork(ownership.ownedShards(), live.ids(), engines)
        const { due, queued } = startable()
        const canStart = work.queued !== null && queued > 0
        yield* resuming.reportWaiting(work.due && due > 0)
        yield* resumingSuspects.reportWaiting(suspects.length > 0)
        yield* ending.reportWaiting(work.overdue)
        yield* starting.reportWaiting(canStart)
        if (work.due) yield* dueLatch.open
        if (work.overdue) yield* overdueLatch.open
        if (work.queued !== null && canStart) wakeups.signalQueued(work.queued)
        if (work.deliveries) wakeups.signalDelivery()
      }),
      ofShards
    )
    // Something may always be due.
    yield* findWork.reportWaiting(true)

    const loop = (task: BackgroundTask, pause: Effect.Effect<unknown>) =>
      Effect.zipRight(task.run, pause).pipe(Effect.forever, Effect.interruptible, Effect.forkScoped)

    yield* Effect.all(
      [
        loop(findWork, Effect.timeoutOption(awaitAndClose(gainedLatch), sweepInterval)),
        loop(resuming, awaitAndClose(dueLatch)),
        loop(resumingSuspects, awaitAndClose(suspectsLatch)),
        loop(clearing, Effect.sleep(survivalInterval)),
        loop(ending, awaitAndClose(overdueLatch)),
        loop(starting, wakeups.awaitQueued)
      ],
      { discard: true }
    )
  })

/** Sweeps until the scope closes. */
export const layer = (options: SweepOptions) => Layer.scopedDiscard(sweep(options))
