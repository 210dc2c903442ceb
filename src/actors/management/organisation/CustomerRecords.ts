/** Finds customers for use cases. `NotFound` also for a customer that the caller's key does not reach. */
import { Effect, Option } from "effect"
import type { Customer } from "../../../domain/organisation/Customer.js"
import { NotFound, type Failure, invalid } from "../../../domain/Failure.js"
import { customerReference } from "../../../domain/Tenancy.js"
import type { Tx } from "../../ports/Records.js"
import { type Principal, reaches } from "../Caller.js"
import type { CustomerId } from "../../../domain/Ids.js"

/** The customer of an id or `ref:<externalRef>`, if the caller reaches it. `lock`: until the transaction ends. */
export const findCustomer = (tx: Tx, caller: Principal, idOrReference: string, lock = false) => {
  const reference = customerReference(idOrReference)
  // Unchecked text from the request: an id of another form matches no row.
  const where = "ref" in reference ? { externalRef: reference.ref } : { id: reference.id as Customer["id"] }
  const notFound = () => new NotFound({ what: "customer" })
  return Effect.flatMap(
    lock ? tx.customers.lock({ ...where, deletedAt: null }) : tx.customers.find({ ...where, deletedAt: null }),
    Option.match({
      onNone: notFound,
      onSome: (customer) => (reaches(caller, customer.id) ? Effect.succeed(customer) : notFound())
    })
  )
}

/** The customer that a member of a body names. */
export const namedInBody = (
  tx: Tx,
  caller: Principal,
  member: string,
  idOrReference: string
): Effect.Effect<Customer, Failure> =>
  Effect.catchTag(findCustomer(tx, caller, idOrReference), "NotFound", () =>
    invalid(member, "NOT_FOUND", "names no customer")
  )

/** The customer that the member `customerId` of a body names. */
export const customerOfBody = (tx: Tx, caller: Principal, idOrReference: string): Effect.Effect<CustomerId, Failure> =>
  Effect.map(namedInBody(tx, caller, "customerId", idOrReference), ({ id }) => id)

/**
 * The condition of a list on its records' customers: those that the caller reaches, or the one of these that the request
 * filters by. An unknown customer has no records.
 */
export const customerListFilter = (tx: Tx, caller: Principal, customerId: string | undefined) => {
  if (customerId === undefined)
    return Effect.succeed(caller.customers === "all" ? {} : { customerId: [...caller.customers] })
  return findCustomer(tx, caller, customerId).pipe(
    Effect.map(({ id }) => ({ customerId: [id] })),
    Effect.catchTag("NotFound", () => Effect.succeed({ customerId: [] }))
  )
}

/** Like `customerListFilter`, for records that all customers may share: without a filter, those too. */
export const sharedListFilter = (tx: Tx, caller: Principal, customerId: string | undefined) =>
  customerId === undefined && caller.customers !== "all"
    ? Effect.succeed({ customerId: [null, ...caller.customers] })
    : customerListFilter(tx, caller, customerId)
