/** The execution actor: stops the run that this node drives, and resumes one that it does not drive yet. */
import { Duration, Effect, Option } from "effect"
import { Entity } from "@effect/cluster"
import type { ExecutionId } from "../../domain/Ids.js"
import { LiveRuns } from "./LiveRuns.js"
import { Execution } from "./Protocol.js"
import { make as makeSweep, type SweepOptions } from "./Sweep.js"

export const layer = (options: SweepOptions) =>
  Execution.toLayer(
    Effect.gen(function* () {
      const live = yield* LiveRuns
      const { resume } = yield* makeSweep(options)
      const { entityId } = yield* Entity.CurrentAddress
      // Entities of this kind are addressed by execution ids only.
      const id = entityId as string as ExecutionId

      return Execution.of({
        Stop: () => live.stop(id, Option.none()),
        Resume: () => Effect.orDie(resume(id))
      })
    }),
    { concurrency: "unbounded", maxIdleTime: Duration.seconds(30), disableFatalDefects: true }
  )
