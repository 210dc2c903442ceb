/** Environments as requests name them, and which of them a key that is narrowed to some may read and change. */
import { Effect } from "effect"
import { type Failure, type Forbidden, invalid } from "../../domain/Failure.js"
import type { Tx } from "../ports/Records.js"
import { narrowedKeyRefusal, outOfScope, type Principal } from "./Caller.js"

/** The slug of an environment that exists, in lower case; `null` where the request names none. `path`: the member that does. */
export const findEnvironment = Effect.fnUntraced(function* (
  tx: Tx,
  named: string | null | undefined,
  path = "environment"
): Effect.fn.Return<string | null, Failure> {
  if (named === undefined || named === null) return null
  const slug = named.toLowerCase()
  if ((yield* tx.environments.count({ slug })) === 0) return yield* invalid(path, "NOT_FOUND", "names no environment")
  return slug
})

/** Why a key may not read a record of the environment; one for all environments (`null`) may be read by any. */
export const environmentReadRefusal = (caller: Principal, environment: string | null): Forbidden | undefined =>
  environment === null ? undefined : outOfScope(caller, "environment", environment)

/** Why a key may not change a record of the environment; one for all environments is closed to a narrowed key. */
export const environmentChangeRefusal = (caller: Principal, environment: string | null): Forbidden | undefined =>
  environment === null
    ? narrowedKeyRefusal(caller, "environment", "what applies to all of them is not changed with it")
    : outOfScope(caller, "environment", environment)
