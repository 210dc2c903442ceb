/** Finds environments that requests name, and checks whether a narrowed key may read or change their records. */
import { Effect } from "effect"
import { type Failure, type Forbidden, invalid } from "../../../domain/Failure.js"
import type { Tx } from "../../ports/Records.js"
import { narrowedCallerRefusal, outOfScope, type Principal } from "../Caller.js"

/** The slug of an existing environment, in lower case; `null` if the request names none. `path`: the request's member. */
export const findEnvironment = Effect.fnUntraced(function* (
  tx: Tx,
  environment: string | null | undefined,
  path = "environment"
): Effect.fn.Return<string | null, Failure> {
  if (environment === undefined || environment === null) return null
  const slug = environment.toLowerCase()
  if ((yield* tx.environments.count({ slug })) === 0) return yield* invalid(path, "NOT_FOUND", "names no environment")
  return slug
})

/** The refusal if the key may not read a record of the environment. Any key may read one for all environments (`null`). */
export const environmentReadRefusal = (caller: Principal, environment: string | null): Forbidden | undefined =>
  environment === null ? undefined : outOfScope(caller, "environment", environment)

/** The refusal if the key may not change a record of the environment. A narrowed key may not change one for all (`null`). */
export const environmentChangeRefusal = (caller: Principal, environment: string | null): Forbidden | undefined =>
  environment === null
    ? narrowedCallerRefusal(caller, "environment", "what applies to all of them is not changed with it")
    : outOfScope(caller, "environment", environment)
