/**
 * Accepts runs: an Instant run is driven at once, here or by its owner on another node, and its caller gets the result; any
 * other is committed to the start queue. Cancels runs, wherever they are driven.
 */
import { Effect, Layer } from "effect"
import { TooManyRuns, type Unavailable } from "../../domain/Failure.js"
import type { ExecutionId } from "../../domain/Ids.js"
import type { StartEntry } from "../../domain/run/RunJournal.js"
import { decide, evolve } from "../../domain/run/Execution.js"
import { hasRoom } from "../../domain/run/StartPolicy.js"
import type { DirectStart, DriveOutcome, RunSpec } from "./RunSpec.js"
import { Executions, type StartResult, type StartRequest } from "../ports/run/Executions.js"
import { Faults } from "../ports/Faults.js"
import { accountOfRun, Journal, notStored, type OpenRun } from "../ports/run/Journal.js"
import { Identifiers } from "../ports/Identifiers.js"
import { InPlace } from "../ports/InPlace.js"
import { Ownership } from "../ports/Ownership.js"
import { Runnables } from "../ports/run/Runnables.js"
import { ReleaseStage } from "../ports/run/ReleaseStage.js"
import { Sandbox } from "../ports/run/Sandbox.js"
import { LiveRuns } from "./LiveRuns.js"
import { nextOwnedId } from "./OwnedId.js"
import { attemptOf, claimOf, pendingRun, startEntry } from "./PendingRun.js"
import { makeCancellation, unavailable } from "./RunCancellation.js"
import { makeRemoteStart, noRunner } from "./RemoteStart.js"
import { RunPlaces } from "./RunPlaces.js"

/** How a start ended that was to be driven at once. */
export type DirectOutcome =
  | DriveOutcome
  /** Nothing was begun: this node runs as much as it can. */
  | { readonly _tag: "Full" }
  /** Nothing was begun: the run must wait in the queue. */
  | { readonly _tag: "MustWait" }

/**
 * Makes the function that drives an Instant run on this node until it has ended or is suspended, for callers here and, by
 * message, on other nodes. `slots`: runs that this node drives at a time.
 */
export const makeDirectStart = (options: { readonly slots: number }) =>
  Effect.gen(function* () {
    const live = yield* LiveRuns
    const places = yield* RunPlaces
    const clock = yield* Effect.clock

    const begin = ({ audit, claim, concurrentRuns, run, runnable, start }: DirectStart) =>
      Effect.suspend((): Effect.Effect<DirectOutcome, TooManyRuns> => {
        if (concurrentRuns !== null && !places.hasRoom(accountOfRun(run), concurrentRuns))
          return Effect.fail(new TooManyRuns({ limit: concurrentRuns }))
        if (!hasRoom("instant", live.size(), options.slots)) return Effect.succeed({ _tag: "Full" })
        const started = decide(run, { _tag: "Start", at: clock.unsafeCurrentTimeMillis() })
        if (started._tag !== "Started") return Effect.succeed({ _tag: "MustWait" })
        const spec: RunSpec = {
          run: evolve(run, started),
          runnable,
          start,
          history: null,
          hasRow: false,
          nextSeq: 1,
          journalBytes: 0,
          ...(claim === null ? {} : { claim }),
          ...(audit === null ? {} : { audit })
        }
        // Forked in LiveRuns: the run goes on when the caller is interrupted.
        return Effect.async<DirectOutcome>((resume) => live.launch(spec, (outcome) => resume(Effect.succeed(outcome))))
      })

    return (order: DirectStart): Effect.Effect<DirectOutcome, TooManyRuns | Unavailable> =>
      Effect.zipRight(places.makeRoom(accountOfRun(order.run), order.concurrentRuns), begin(order))
  })

/** Owners that are asked for room for an Instant run. */
const fullTries = 4

/** What became of a start that was to be driven at once. */
type Started = StartResult | { readonly _tag: "Full" } | { readonly _tag: "MustWait" }

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
      const stage = yield* ReleaseStage
      const live = yield* LiveRuns
      const clock = yield* Effect.clock
      const faults = yield* Faults
      const inPlace = yield* InPlace
      const direct = yield* makeDirectStart(options)
      const remote = yield* makeRemoteStart

      // --- Acceptance ---

      const startHere = (order: DirectStart): Effect.Effect<Started, Unavailable | TooManyRuns> =>
        Effect.flatMap(direct(order), (outcome): Effect.Effect<Started, Unavailable | TooManyRuns> => {
          const { run } = order
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
                : startThere(order, 1)
            case "Unwritten":
              return Effect.fail(notStored(outcome))
            case "Full":
            case "MustWait":
              return Effect.succeed(outcome)
          }
        })

      /** `before`: how often this node has begun it. */
      const startThere = (order: DirectStart, before = 0): Effect.Effect<Started, Unavailable | TooManyRuns> =>
        // A node without a seat knows no owners for a moment: it looks for them again.
        ownership.ownerOf(order.run.shard) === null && !ownership.isRunner && ownership.seat() !== ""
          ? Effect.fail(noRunner())
          : Effect.map(remote.start(order, before), (outcome): Started => {
              const { run } = order
              switch (outcome._tag) {
                case "Ended":
                  return { _tag: "Ended", end: { ...outcome.end, run } }
                case "Repeated":
                  return { _tag: "Repeated", target: targetOf(outcome.target), hash: outcome.hash }
                case "Accepted":
                  return { _tag: "Accepted", run }
                case "Recorded":
                  return { _tag: "Moved", run }
                case "Full":
                case "MustWait":
                  return outcome
              }
            })

      const enqueue = (
        request: StartRequest,
        run: OpenRun,
        start: StartEntry
      ): Effect.Effect<StartResult, Unavailable> => {
        const claim = claimOf(request, run.createdAt)
        const { parent } = request
        const resumed = parent?.resumes
        const history = resumed === undefined ? [] : [{ seq: resumed.entries + 1, entry: attemptOf(resumed, run.id) }]
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

      const accept = (
        request: StartRequest,
        tries = fullTries
      ): Effect.Effect<StartResult, Unavailable | TooManyRuns> =>
        Effect.suspend(() => {
          const now = clock.unsafeCurrentTimeMillis()
          const id = nextOwnedId(identifiers, ownership)
          const run = pendingRun(request, {
            id,
            shard: ownership.shardOf(id),
            engine: stage.engineOfNewRuns(sandbox.engine),
            now
          })
          const start = startEntry(request, now)
          if (request.runnable.tier !== "instant" || request.parent !== undefined) return enqueue(request, run, start)
          const { concurrentRuns, runnable } = request
          const claim = claimOf(request, now) ?? null
          const order = { run, runnable, start, concurrentRuns, claim, audit: request.audit?.(id) ?? null }
          const isHere = inPlace && ownership.owns(run.shard)
          return Effect.flatMap(isHere ? startHere(order) : startThere(order), (started) => {
            switch (started._tag) {
              case "MustWait":
                return enqueue(request, run, start)
              case "Full":
                return isHere || tries <= 1
                  ? Effect.fail(unavailable("this node runs as much as it can"))
                  : accept(request, tries - 1)
              default:
                return Effect.succeed(started)
            }
          })
        })

      return Executions.of({
        start,
        cancel: yield* makeCancellation,
        commitStart: live.commitStart,
        liveCount: Effect.sync(() => live.size())
      })
    })
  )

/** The target of a claim that a run made is always a run's id. */
const targetOf = (target: string): ExecutionId => target as ExecutionId
