/** Checks what a workflow returned: it can be stored, and it satisfies the output contract. */
import { Effect, Schedule } from "effect"
import type { RunError } from "../../domain/Execution.js"
import { type Json, findUnstorable, unstorableMessage } from "../../domain/Json.js"
import { Computations, tooCostlyDetail } from "../ports/Computations.js"
import type { Runnable } from "../ports/Runnables.js"
import { contractViolation, notStorable } from "./RunErrors.js"

export const make = Effect.gen(function* () {
  const { compute } = yield* Computations

  /** Why a returned value cannot be the run's output, if it cannot. */
  const outputError = (
    { organisationId, outputContract }: Pick<Runnable, "organisationId" | "outputContract">,
    value: Json
  ): Effect.Effect<RunError | undefined> => {
    const bad = findUnstorable(value)
    if (bad !== undefined) return Effect.succeed(notStorable(bad.path, unstorableMessage[bad.reason]))
    if (outputContract === null) return Effect.succeed(undefined)
    return compute("checkValue", organisationId, { schema: outputContract, value }).pipe(
      // Too many computations of the organisation wait, or the node stops: this one waits, too.
      Effect.retry({ schedule: Schedule.spaced("100 millis"), while: ({ _tag }) => _tag === "Unavailable" }),
      Effect.catchTag("TooCostly", (error) => Effect.succeed([tooCostlyDetail("", error)])),
      Effect.orDie,
      Effect.map(([violation]) => (violation === undefined ? undefined : contractViolation(violation)))
    )
  }

  return { outputError }
})
