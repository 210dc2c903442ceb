/** The execution actor: stops the run that this node drives, and tells of its end. */
import { Duration, Effect, Option, Schedule } from "effect"
import { Entity } from "@effect/cluster"
import type { ExecutionId, OrganisationId } from "../../domain/Ids.js"
import { notStored } from "../ports/run/Journal.js"
import { Runs } from "../ports/run/Runs.js"
import { LiveRuns } from "./LiveRuns.js"
import { Execution } from "./Protocol.js"

/** A run that is not driven here yet, or not at the moment, is looked at again after this time. */
const lookAgain = Duration.millis(100)

export const layer = Execution.toLayer(
  Effect.gen(function* () {
    const live = yield* LiveRuns
    const runs = yield* Runs
    const { entityId } = yield* Entity.CurrentAddress
    // Entities of this kind are addressed by execution ids only.
    const id = entityId as string as ExecutionId

    const isUnfinished = (organisation: OrganisationId) =>
      Effect.zipRight(live.awaitLeft(id), Effect.mapError(runs.get(organisation, id), notStored)).pipe(
        Effect.map(Option.isSome)
      )

    return Execution.of({
      Stop: () => live.stop(id, Option.none()),
      AwaitEnd: ({ payload: { organisationId } }) =>
        Effect.asVoid(
          Effect.repeat(isUnfinished(organisationId), {
            while: (unfinished) => unfinished,
            schedule: Schedule.spaced(lookAgain)
          })
        )
    })
  }),
  { concurrency: "unbounded", maxIdleTime: Duration.seconds(30), disableFatalDefects: true }
)
