/** Finds the customer that a request names. Results may be one second old, but include this node's own commits. */
import { type Effect, type Option, Context } from "effect"
import type { Customer } from "../../../domain/organisation/Customer.js"
import type { Unavailable } from "../../../domain/Failure.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import type { CustomerReference } from "../../../domain/Tenancy.js"

/** The members of a customer on which a start depends. They may be a second old. */
export type KnownCustomer = Pick<Customer, "id" | "externalRef" | "status" | "plan" | "limits">

export class CustomerReads extends Context.Tag("svc/CustomerReads")<
  CustomerReads,
  {
    readonly find: (
      organisation: OrganisationId,
      reference: CustomerReference
    ) => Effect.Effect<Option.Option<KnownCustomer>, Unavailable>
  }
>() {}
