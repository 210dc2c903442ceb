/** Reads executions by their ids, also one that runs on this node and has committed nothing yet: it is committed for that. */
import { Effect, Option } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import type { ExecutionId } from "../../../domain/Ids.js"
import { ExecutionReads } from "../../ports/run/ExecutionReads.js"
import { Executions } from "../../ports/run/Executions.js"

/** Makes the reads. */
export const makeLiveReads = Effect.gen(function* () {
  const reads = yield* ExecutionReads
  const executions = yield* Executions

  const orCommitted = <A>(
    id: ExecutionId,
    find: Effect.Effect<Option.Option<A>, Unavailable>
  ): Effect.Effect<Option.Option<A>, Unavailable> =>
    Effect.flatMap(find, (found) =>
      Option.isSome(found)
        ? Effect.succeed(found)
        : Effect.flatMap(executions.commitStart(id), (isCommitted) => (isCommitted ? find : Effect.succeed(found)))
    )

  return {
    ...reads,
    find: (home, id) => orCommitted(id, reads.find(home, id)),
    get: (home, id) => orCommitted(id, reads.get(home, id))
  } satisfies ExecutionReads["Type"]
})
