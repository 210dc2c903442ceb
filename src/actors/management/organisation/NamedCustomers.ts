/** Finds the customers that bodies and list filters name, for records that belong to customers. */
import { Effect } from "effect"
import { type Failure, invalid } from "../../../domain/Failure.js"
import type { CustomerId } from "../../../domain/Ids.js"
import type { Tx } from "../../ports/Records.js"
import type { Principal } from "../Caller.js"
import { findCustomer } from "./CustomerRecords.js"

/** The customer that the member `customerId` of a body names. */
export const customerOfBody = (tx: Tx, caller: Principal, idOrReference: string): Effect.Effect<CustomerId, Failure> =>
  findCustomer(tx, caller, idOrReference).pipe(
    Effect.map(({ id }) => id),
    Effect.catchTag("NotFound", () => invalid("customerId", "NOT_FOUND", "names no customer"))
  )

/**
 * The condition of a list on its records' customers: those that the caller reaches, or the one of these that the request
 * filters by. An unknown customer has no records.
 */
export const customerListFilter = (
  tx: Tx,
  caller: Principal,
  customerId: string | undefined
): Effect.Effect<{ readonly customerId?: ReadonlyArray<CustomerId> }, Failure> => {
  if (customerId === undefined)
    return Effect.succeed(caller.customers === "all" ? {} : { customerId: [...caller.customers] })
  return findCustomer(tx, caller, customerId).pipe(
    Effect.map(({ id }) => ({ customerId: [id] })),
    Effect.catchTag("NotFound", () => Effect.succeed({ customerId: [] }))
  )
}

/** Like `customerListFilter`, for records that all customers may share: without a filter, those too. */
export const sharedListFilter = (
  tx: Tx,
  caller: Principal,
  customerId: string | undefined
): Effect.Effect<{ readonly customerId?: ReadonlyArray<CustomerId | null> }, Failure> =>
  customerId === undefined && caller.customers !== "all"
    ? Effect.succeed({ customerId: [null, ...caller.customers] })
    : customerListFilter(tx, caller, customerId)
