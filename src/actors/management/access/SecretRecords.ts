/** Finds secrets for use cases, by the caller's customers and by the secrets and environments in its key's scope. */
import { Effect, Option } from "effect"
import { type Failure, invalid, NotFound } from "../../../domain/Failure.js"
import type { CustomerId, SecretId } from "../../../domain/Ids.js"
import type { Secret } from "../../../domain/access/Secret.js"
import type { Tx } from "../../ports/Records.js"
import { outOfScope, type Principal, reaches, scopedIds } from "../Caller.js"
import { findReached } from "../ReachedRecord.js"

export const secretNotFound = () => new NotFound({ what: "secret" })

/** Locks the secret with this id, if the caller reaches it. */
export const lockSecret = (tx: Tx, caller: Principal, id: string): Effect.Effect<Secret, Failure> => {
  const refused = outOfScope(caller, "secret", id)
  if (refused !== undefined) return Effect.fail(refused)
  // Unchecked text from the request: an id of another form matches no row.
  const where = { id: id as SecretId, spaceId: caller.spaceId, deletedAt: null }
  return findReached(tx.secrets, caller, "secret", where, true)
}

/** The customer that a new value is for; `null`: all customers. */
export const findSecretOwner = Effect.fnUntraced(function* (
  tx: Tx,
  caller: Principal,
  customerId: string | null | undefined
): Effect.fn.Return<CustomerId | null, Failure> {
  if (customerId === null || customerId === undefined) return null
  const found = yield* tx.customers.find({ id: customerId as CustomerId, deletedAt: null }) // unchecked text from the request
  if (Option.isNone(found) || !reaches(caller, found.value.id))
    return yield* invalid("customerId", "NOT_FOUND", "names no customer")
  return found.value.id
})

/** The condition on a member: the requested value if it is allowed; without one, all allowed values and `null`. */
const allowedValues = <A extends string>(
  value: A | undefined,
  allowedIds: ReadonlyArray<A> | undefined
): A | ReadonlyArray<A | null> | undefined => {
  if (allowedIds === undefined) return value
  if (value === undefined) return [...allowedIds, null]
  return allowedIds.includes(value) ? value : []
}

/** The condition of a list on the secrets that the caller reaches. */
export const secretListFilter = (
  caller: Principal,
  filters: { readonly customer_id?: string | undefined; readonly environment?: string | undefined }
) => {
  const ids = scopedIds(caller, "secret")
  const customers = caller.customers === "all" ? undefined : [...caller.customers]
  const customerId = allowedValues(filters.customer_id as CustomerId | undefined, customers) // unchecked text from the request
  const environment = allowedValues(filters.environment?.toLowerCase(), scopedIds(caller, "environment"))
  return {
    deletedAt: null,
    spaceId: caller.spaceId,
    ...(ids === undefined ? {} : { id: ids as ReadonlyArray<SecretId> }), // unchecked text from the request
    ...(customerId === undefined ? {} : { customerId }),
    ...(environment === undefined ? {} : { environment })
  }
}
