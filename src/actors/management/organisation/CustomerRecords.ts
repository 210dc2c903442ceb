/** Finds customers for use cases. `NotFound` also for a customer that the caller's key does not reach. */
import { Effect, Option } from "effect"
import type { Customer } from "../../../domain/organisation/Customer.js"
import { NotFound, type Unavailable } from "../../../domain/Failure.js"
import { customerReference } from "../../../domain/Tenancy.js"
import type { Tx } from "../../ports/Records.js"
import { type Principal, reaches } from "../Caller.js"

/** The customer of an id or `ref:<externalRef>`, if the caller reaches it. `lock`: until the transaction ends. */
export const findCustomer = (
  tx: Tx,
  caller: Principal,
  idOrReference: string,
  lock = false
): Effect.Effect<Customer, NotFound | Unavailable> => {
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
