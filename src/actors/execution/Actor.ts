/** The execution actor: stops the run that this node drives. */
import { Duration, Effect, Option } from "effect"
import { Entity } from "@effect/cluster"
import type { ExecutionId } from "../../domain/Ids.js"
import { LiveRuns } from "./LiveRuns.js"
import { Execution } from "./Protocol.js"

export const layer = Execution.toLayer(
  Effect.gen(function* () {
    const live = yield* LiveRuns
    const { entityId } = yield* Entity.CurrentAddress
    // Entities of this kind are addressed by execution ids only.
    const id = entityId as string as ExecutionId
    return Execution.of({ Stop: () => live.stop(id, Option.none()) })
  }),
  { concurrency: "unbounded", maxIdleTime: Duration.seconds(5), disableFatalDefects: true }
)
