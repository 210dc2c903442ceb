/** Drives Instant runs that other nodes hand to this one, their owner, and tells of their ends. */
import { Cause, Duration, Effect, Layer, Option, Schedule, Schema } from "effect"
import type { ExecutionId } from "../../domain/Ids.js"
import { NotFound, type TooManyRuns, type Unavailable } from "../../domain/Failure.js"
import { Ownership } from "../ports/Ownership.js"
import { notStored, type OpenRun } from "../ports/run/Journal.js"
import { NodeStarts, StartOrder, StartOutcome } from "../ports/run/NodeStarts.js"
import { Runnables } from "../ports/run/Runnables.js"
import { Runs } from "../ports/run/Runs.js"
import { makeDirectStart } from "./Executions.js"
import { LiveRuns } from "./LiveRuns.js"
import { unavailable } from "./RunCancellation.js"

/** A run that is not driven here yet, or not at the moment, is looked at again after this time. */
const lookAgain = Duration.millis(100)

/** A run that was asked for so long after its shard came here is new: no other node can have begun it. */
const settledMillis = 10_000

/** `slots`: runs that this node drives at a time. */
export const layer = (options: { readonly slots: number }) =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      const live = yield* LiveRuns
      const runs = yield* Runs
      const runnables = yield* Runnables
      const ownership = yield* Ownership
      const direct = yield* makeDirectStart(options)
      const inTurn = makeTurns()

      const awaitEnd = ({ id, organisationId }: OpenRun) =>
        Effect.zipRight(live.awaitLeft(id), Effect.mapError(runs.get(organisationId, id), notStored)).pipe(
          Effect.map(Option.isSome),
          Effect.repeat({ while: (isUnfinished) => isUnfinished, schedule: Schedule.spaced(lookAgain) })
        )

      const runnableOf = ({ contentHash, run, version, workflowId }: StartOrder) =>
        (version === null
          ? Effect.flatMap(runnables.draftThatRan(run.organisationId, workflowId, contentHash), (found) =>
              Option.isSome(found) ? Effect.succeed(found.value) : new NotFound({ what: "workflow" })
            )
          : runnables.version(run.organisationId, workflowId, version)
        ).pipe(
          Effect.mapError((failure) =>
            failure._tag === "Unavailable" ? failure : unavailable("its workflow was deleted meanwhile")
          )
        )

      /** Whether the run may have been begun before: then what is stored of it is asked. */
      const mayBeKnown = ({ repetition, run }: StartOrder) =>
        repetition > 0 || live.has(run.id) || ownership.heldSince(run.shard) > run.createdAt - settledMillis

      const isRecorded = (order: StartOrder) =>
        Effect.gen(function* () {
          const { run } = order
          if (!mayBeKnown(order)) return false
          yield* live.awaitLeft(run.id)
          const isKnown = yield* Effect.mapError(runs.isKnown(run.organisationId, run.id), notStored)
          if (isKnown) yield* awaitEnd(run)
          return isKnown
        })

      const start = (order: StartOrder): Effect.Effect<StartOutcome, Unavailable | TooManyRuns> =>
        Effect.gen(function* () {
          if (yield* isRecorded(order)) return recorded
          const outcome = yield* direct({ ...order, runnable: yield* runnableOf(order) })
          switch (outcome._tag) {
            case "Ended": {
              const { run: _run, ...end } = outcome.end
              return { _tag: "Ended", end } as const
            }
            case "Suspended":
              return { _tag: "Accepted" } as const
            case "Fenced":
              return moved
            case "Unwritten":
              return yield* notStored(outcome)
            default:
              return outcome
          }
        })

      /** A run whose shard is not here, or leaves, is answered by its next owner. An order that fails leaves the others. */
      const answer = (text: string): Effect.Effect<string> =>
        Effect.suspend(() => {
          const order = decodeOrder(text)
          return ownership.owns(order.run.shard) ? inTurn(order.run.id, start(order)) : Effect.succeed(moved)
        }).pipe(
          Effect.catchAll((failure) => Effect.succeed(refused(failure))),
          Effect.map(encodeOutcome),
          Effect.catchAllCause((cause) =>
            Cause.isInterruptedOnly(cause)
              ? Effect.succeed(encodeOutcome(moved))
              : Effect.as(Effect.logError("execution.start_failed", cause), encodeOutcome(refused(broken)))
          )
        )

      yield* (yield* NodeStarts).serve(answer)
    })
  )

/** What a node of a neighbouring release encodes, this one decodes: a failure is a defect, and is logged as one. */
const decodeOrder = Schema.decodeSync(StartOrder)
const encodeOutcome = Schema.encodeSync(StartOutcome)

const recorded: StartOutcome = { _tag: "Recorded" }
const moved: StartOutcome = { _tag: "Moved" }
const refused = (failure: Unavailable | TooManyRuns): StartOutcome => ({ _tag: "Refused", failure })
const broken = unavailable("the run's owner failed")

/** Does what is asked of one run one after the other: a repetition finds what the order before it has begun. */
const makeTurns = () => {
  /** The end of the last one, by run. */
  const last = new Map<ExecutionId, Effect.Latch>()
  return <A, E>(id: ExecutionId, body: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.suspend(() => {
      const before = last.get(id)
      const ended = Effect.unsafeMakeLatch()
      last.set(id, ended)
      const end = Effect.sync(() => {
        ended.unsafeOpen()
        if (last.get(id) === ended) last.delete(id)
      })
      return Effect.ensuring(before === undefined ? body : Effect.zipRight(before.await, body), end)
    })
}
