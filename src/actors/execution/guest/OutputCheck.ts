/** Checks that the value a workflow returned satisfies its output contract. */
import { Effect, Schedule } from "effect"
import type { RunError } from "../../../domain/run/Execution.js"
import type { Json } from "../../../domain/Json.js"
import { Computations, tooCostlyDetail } from "../../ports/Computations.js"
import type { Runnable } from "../../ports/run/Runnables.js"
import { contractViolationError } from "../RunErrors.js"

export const make = Effect.gen(function* () {
  const { compute } = yield* Computations

  /** The error with which the run ends if the value breaks the contract. */
  const violationOf = (
    { organisationId, outputContract }: Pick<Runnable, "organisationId" | "outputContract">,
    value: Json
  ): Effect.Effect<RunError | undefined> => {
    if (outputContract === null) return Effect.succeed(undefined)
    return compute("checkValue", organisationId, { schema: outputContract, value }).pipe(
      // The organisation's queue of computations is full, or the node is stopping: try again.
      Effect.retry({ schedule: Schedule.spaced("100 millis"), while: ({ _tag }) => _tag === "Unavailable" }),
      Effect.catchTag("TooCostly", (error) => Effect.succeed([tooCostlyDetail("", error)])),
      Effect.orDie,
      Effect.map(([violation]) => (violation === undefined ? undefined : contractViolationError(violation)))
    )
  }

  return { violationOf }
})
