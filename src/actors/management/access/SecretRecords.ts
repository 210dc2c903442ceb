/** Finds secrets for use cases, by the caller's customers and by the secrets and environments in its key's scope. */
import { Effect, Option, Redacted } from "effect"
import { type Failure, invalid, NotFound, refuseWith } from "../../../domain/Failure.js"
import type { CustomerId, SecretId } from "../../../domain/Ids.js"
import type { Json } from "../../../domain/Json.js"
import { type Secret, secretPlace, secretValue } from "../../../domain/access/Secret.js"
import type { Tx } from "../../ports/Records.js"
import { Vault, vaultClosed } from "../../ports/Vault.js"
import { missingPermission, outOfScope, type Principal, reaches, scopedIds } from "../Caller.js"
import { findReached } from "../ReachedRecord.js"

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

/** Makes the functions that read values. */
export const makeSecretValues = Effect.gen(function* () {
  const vault = yield* Vault

  /** The current value in the clear. */
  const open = Effect.fnUntraced(function* (tx: Tx, secret: Secret): Effect.fn.Return<Json, Failure> {
    const version = yield* tx.secretVersions.find({ secretId: secret.id, number: secret.current })
    if (Option.isNone(version)) return yield* new NotFound({ what: "secret" })
    const place = secretPlace(secret.organisationId, secret.id, secret.current)
    const text = yield* Effect.mapError(vault.open(place, version.value.sealed), vaultClosed)
    return secretValue(secret.type, Redacted.value(text))
  })

  /** The text of the organisation's secret of this name, for a caller who may read secrets. `member`: of the request, which names it. */
  const openNamed = Effect.fnUntraced(function* (
    tx: Tx,
    caller: Principal,
    name: string,
    member: string
  ): Effect.fn.Return<string, Failure> {
    yield* refuseWith(missingPermission(caller, "secrets:read"))
    const shared = { spaceId: caller.spaceId, name, customerId: null, environment: null, deletedAt: null }
    const found = yield* tx.secrets.find(shared)
    if (Option.isNone(found))
      return yield* invalid(
        member,
        "NOT_FOUND",
        "names no secret of the organisation for all customers and environments"
      )
    yield* refuseWith(outOfScope(caller, "secret", found.value.id))
    const value = yield* open(tx, found.value)
    return typeof value === "string" ? value : yield* invalid(member, "INVALID_VALUE", "names a secret that is no text")
  })

  return { open, openNamed }
})
