/** Finds a record for a caller: that of another customer than those that the caller reaches is as good as absent. */
import { Effect, Option } from "effect"
import { NotFound, type Unavailable } from "../../domain/Failure.js"
import type { CustomerId } from "../../domain/Ids.js"
import type { Repository, Where } from "../ports/Records.js"
import { type Principal, reaches } from "./Caller.js"

/**
 * Fails with `NotFound`, which names the noun, if there is none or if the caller does not reach its customer; every caller
 * reaches a record without a customer. `isLocked`: locks the row until the transaction ends.
 */
export const findReached = <R extends object>(
  repository: Pick<Repository<R>, "find" | "lock">,
  caller: Principal,
  noun: string,
  where: Where<R>,
  isLocked = false
): Effect.Effect<R, NotFound | Unavailable> =>
  Effect.flatMap(
    isLocked ? repository.lock(where) : repository.find(where),
    Option.match({
      onNone: () => new NotFound({ what: noun }),
      onSome: (found: R & { readonly customerId?: CustomerId | null }) =>
        found.customerId === undefined || found.customerId === null || reaches(caller, found.customerId)
          ? Effect.succeed(found)
          : new NotFound({ what: noun })
    })
  )
