/** The execution actor: starts an Instant run on this node, stops the run that it drives, and tells of its end. */
import { Duration, Effect, Option, Schedule } from "effect"
import { Entity } from "@effect/cluster"
import type { ExecutionId, OrganisationId } from "../../domain/Ids.js"
import { NotFound } from "../../domain/Failure.js"
import { Ownership } from "../ports/Ownership.js"
import { Runnables } from "../ports/run/Runnables.js"
import { notStored } from "../ports/run/Journal.js"
import { Runs } from "../ports/run/Runs.js"
import { makeDirectStart } from "./Executions.js"
import { LiveRuns } from "./LiveRuns.js"
import { unavailable } from "./RunCancellation.js"
import type { StartOrder } from "./StartOrder.js"
import { Execution } from "./Protocol.js"

/** A run that is not driven here yet, or not at the moment, is looked at again after this time. */
const lookAgain = Duration.millis(100)

/** A run that was asked for so long after its shard came here is new: no other node can have begun it. */
const settledMillis = 10_000

/** `slots`: runs that this node drives at a time. */
export const layer = (options: { readonly slots: number }) =>
  Execution.toLayer(
    Effect.gen(function* () {
      const live = yield* LiveRuns
      const runs = yield* Runs
      const runnables = yield* Runnables
      const ownership = yield* Ownership
      const direct = yield* makeDirectStart(options)
      // A repetition finds what the order before it has begun.
      const inTurn = (yield* Effect.makeSemaphore(1)).withPermits(1)
      const { entityId } = yield* Entity.CurrentAddress
      // Entities of this kind are addressed by execution ids only.
      const id = entityId as string as ExecutionId

      const awaitEnd = (organisation: OrganisationId) =>
        Effect.zipRight(live.awaitLeft(id), Effect.mapError(runs.get(organisation, id), notStored)).pipe(
          Effect.map(Option.isSome),
          Effect.repeat({ while: (isUnfinished) => isUnfinished, schedule: Schedule.spaced(lookAgain) })
        )

      const runnableOf = ({ contentHash, run, version, workflowId }: StartOrder) =>
        version === null
          ? Effect.flatMap(runnables.draftThatRan(run.organisationId, workflowId, contentHash), (found) =>
              Option.isSome(found) ? Effect.succeed(found.value) : new NotFound({ what: "workflow" })
            )
          : runnables.version(run.organisationId, workflowId, version)

      /** Whether the run may have been begun before: then what is stored of it is asked. */
      const mayBeKnown = ({ repetition, run }: StartOrder) =>
        repetition > 0 || live.has(id) || ownership.heldSince(run.shard) > run.createdAt - settledMillis

      const start = Effect.fnUntraced(function* (order: StartOrder) {
        const { organisationId } = order.run
        if (mayBeKnown(order)) {
          yield* live.awaitLeft(id)
          if (yield* Effect.mapError(runs.isKnown(organisationId, id), notStored)) {
            yield* awaitEnd(organisationId)
            return { _tag: "Recorded" } as const
          }
        }
        const runnable = yield* Effect.mapError(runnableOf(order), (failure) =>
          failure._tag === "Unavailable" ? failure : unavailable("its workflow was deleted meanwhile")
        )
        const outcome = yield* direct({ ...order, runnable })
        switch (outcome._tag) {
          case "Ended": {
            const { run: _run, ...end } = outcome.end
            return { _tag: "Ended", end } as const
          }
          case "Suspended":
            return { _tag: "Accepted" } as const
          case "Fenced":
            return { _tag: "Moved" } as const
          case "Unwritten":
            return yield* notStored(outcome)
          default:
            return outcome
        }
      })

      return Execution.of({
        Start: ({ payload: { order } }) => inTurn(start(order)),
        Stop: () => live.stop(id, Option.none())
      })
    }),
    { concurrency: "unbounded", maxIdleTime: Duration.seconds(30), disableFatalDefects: true }
  )
