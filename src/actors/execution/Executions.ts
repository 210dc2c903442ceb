/**
 * Accepts runs: an Instant run is driven at once and its caller gets the result; any other is committed to the start
 * queue. Cancels runs, wherever they are driven.
 */
import { Context, Duration, Effect, Layer, Schedule } from "effect"
import { decide, evolve } from "../../domain/run/Execution.js"
import { TooManyRuns, type Unavailable } from "../../domain/Failure.js"
import type { ExecutionId } from "../../domain/Ids.js"
import type { StartEntry } from "../../domain/run/RunJournal.js"
import { hasRoom, isPlanFull } from "../../domain/run/StartPolicy.js"
import { Executions, type StartResult, type StartRequest } from "../ports/run/Executions.js"
import { Faults } from "../ports/Faults.js"
import { Journal, notStored, type OpenRun } from "../ports/run/Journal.js"
import { Identifiers } from "../ports/Identifiers.js"
import { Ownership } from "../ports/Ownership.js"
import { Runnables } from "../ports/run/Runnables.js"
import { Sandbox } from "../ports/run/Sandbox.js"
import { LiveRuns } from "./LiveRuns.js"
import { nextOwnedId } from "./OwnedId.js"
import { claimOf, pendingRun, startEntry } from "./PendingRun.js"
import { Execution } from "./Protocol.js"
import { makeCancellation, unavailable } from "./RunCancellation.js"
import type { DriveOutcome, RunSpec } from "./RunSpec.js"

/** A message whose answer may be lost is sent again after this time, and one that failed after the pause. */
const askAgain = Duration.seconds(5)
const askPause = Duration.millis(200)
/** How long after its deadline a run may take to be ended. */
const endPatience = 5_000

/** `slots`: runs that this node drives at a time; `hasRoom` tells how many Instant runs it takes. */
export const layer = (options: { readonly slots: number }) =>
  Layer.effect(
    Executions,
    Effect.gen(function* () {
      const journal = yield* Journal
      const identifiers = yield* Identifiers
      const ownership = yield* Ownership
      const runnables = yield* Runnables
      const sandbox = yield* Sandbox
      const live = yield* LiveRuns
      const clock = yield* Effect.clock
      const faults = yield* Faults
      const execution = yield* Execution.client

      // --- Acceptance ---

      const runInline = (
        request: StartRequest,
        run: OpenRun,
        start: StartEntry
      ): Effect.Effect<StartResult, Unavailable> => {
        const claim = claimOf(request, run.createdAt)
        const spec: RunSpec = {
          run,
          runnable: request.runnable,
          start,
          history: null,
          hasRow: false,
          nextSeq: 1,
          journalBytes: 0,
          ...(claim === undefined ? {} : { claim }),
          ...(request.audit === undefined ? {} : { audit: request.audit(run.id) })
        }
        // Forked in LiveRuns: the run goes on when the caller is interrupted.
        const settled = Effect.async<DriveOutcome>((resume) =>
          live.launch(spec, (outcome) => resume(Effect.succeed(outcome)))
        )
        return Effect.flatMap(settled, (outcome) => startResultOf(run, outcome))
      }

      const startResultOf = (run: OpenRun, outcome: DriveOutcome): Effect.Effect<StartResult, Unavailable> => {
        switch (outcome._tag) {
          case "Ended":
            return Effect.succeed({ _tag: "Ended", end: outcome.end })
          case "Repeated":
            return Effect.succeed({ _tag: "Repeated", target: targetOf(outcome.target), hash: outcome.hash })
          case "Suspended":
            return Effect.succeed({ _tag: "Accepted", run })
          case "Fenced":
            return ownership.isAlone
              ? Effect.fail(unavailable("the run goes on with the next start"))
              : Effect.as(awaitEnd(run), { _tag: "Moved", run } as const)
          case "Unwritten":
            return Effect.fail(notStored(outcome))
        }
      }

      /** Waits for the end of a run that another node has taken, until its deadline. Nodes may move it again meanwhile. */
      const awaitEnd = ({ deadlineAt, id, organisationId }: OpenRun) =>
        execution(id)
          .AwaitEnd({ organisationId })
          .pipe(
            Effect.mapInputContext<never, never>(() => Context.empty()),
            Effect.timeout(askAgain),
            // A node that dies does not answer, or answers with a defect.
            Effect.sandbox,
            Effect.retry(Schedule.spaced(askPause)),
            Effect.timeoutFail({
              duration: Duration.millis(Math.max(0, deadlineAt - clock.unsafeCurrentTimeMillis()) + endPatience),
              onTimeout: () => unavailable("the run goes on on another node")
            }),
            Effect.mapError(() => unavailable("the run goes on on another node"))
          )

      const enqueue = (
        request: StartRequest,
        run: OpenRun,
        start: StartEntry
      ): Effect.Effect<StartResult, Unavailable> => {
        const claim = claimOf(request, run.createdAt)
        const { parent } = request
        const resumed = parent?.resumes
        const history = resumed === undefined ? [] : [{ seq: resumed.entries + 1, entry: resumed.attempt }]
        const copied =
          parent === undefined || resumed === undefined
            ? Effect.void
            : journal.copy(run.organisationId, parent.id, run.id, resumed.entries)
        return Effect.zipRight(
          Effect.zipRight(faults.at("parsed"), copied),
          journal.append({
            id: run.id,
            organisationId: run.organisationId,
            spaceId: run.spaceId,
            retention: run.retention,
            epoch: null,
            open: run,
            journal: [{ seq: 0, entry: start }, ...history],
            ...(resumed === undefined ? {} : { steps: resumed.steps }),
            enqueue: { notBefore: run.createdAt },
            ...(claim === undefined ? {} : { claim }),
            ...(request.audit === undefined ? {} : { audit: request.audit(run.id) })
          })
        ).pipe(
          Effect.zipLeft(faults.at("committed")),
          Effect.as({ _tag: "Accepted", run } as const),
          Effect.catchTag("ClaimTaken", ({ hash, target }) =>
            Effect.succeed({ _tag: "Repeated", target: targetOf(target), hash } as const)
          ),
          Effect.mapError(notStored)
        )
      }

      const start: Executions["Type"]["start"] = (request) =>
        Effect.suspend(() => {
          if (request.runnable.version !== null) return accept(request)
          return Effect.zipRight(runnables.keepDraft(request.runnable, request.retention), accept(request))
        })

      const accept: Executions["Type"]["start"] = (request) =>
        Effect.suspend((): ReturnType<Executions["Type"]["start"]> => {
          const now = clock.unsafeCurrentTimeMillis()
          const id = nextOwnedId(identifiers, ownership)
          const run = pendingRun(request, { id, shard: ownership.shardOf(id), engine: sandbox.engine, now })
          const entry = startEntry(request, now)
          if (request.runnable.tier !== "instant" || request.parent !== undefined) return enqueue(request, run, entry)
          const { concurrentRuns } = request
          if (
            concurrentRuns !== null &&
            isPlanFull(live.countByOrganisation().get(run.organisationId) ?? 0, concurrentRuns)
          )
            return Effect.fail(new TooManyRuns({ limit: concurrentRuns }))
          if (!hasRoom("instant", live.size(), options.slots))
            return Effect.fail(unavailable("this node runs as much as it can"))
          const started = decide(run, { _tag: "Start", at: now })
          return started._tag === "Started"
            ? runInline(request, evolve(run, started), entry)
            : enqueue(request, run, entry)
        })

      return Executions.of({ start, cancel: yield* makeCancellation, liveCount: Effect.sync(() => live.size()) })
    })
  )

/** The target of a claim that a run made is always a run's id. */
const targetOf = (target: string): ExecutionId => target as ExecutionId
