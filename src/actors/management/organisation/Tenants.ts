/** The customers that surface B names in its paths. */
import { Effect, Option } from "effect"
import { NotFound } from "../../../domain/Failure.js"
import type { CustomerId } from "../../../domain/Ids.js"
import { customerReference } from "../../../domain/Tenancy.js"
import { CustomerReads } from "../../ports/organisation/CustomerReads.js"
import type { CallContext } from "../CallContext.js"
import { reaches } from "../Caller.js"

const make = Effect.map(CustomerReads, (customers) => ({
  /**
   * The customer of an id or `ref:<externalRef>`. Fails with `NotFound` if the caller does not reach it. The call is
   * audited as one about this customer.
   */
  find: (context: Pick<CallContext, "caller" | "customerId">, tenant: string) =>
    Effect.flatMap(
      customers.find(context.caller.organisationId, customerReference(tenant)),
      (found): Effect.Effect<CustomerId, NotFound> => {
        if (Option.isNone(found) || !reaches(context.caller, found.value.id)) return new NotFound({ what: "tenant" })
        context.customerId = found.value.id
        return Effect.succeed(found.value.id)
      }
    )
}))

export class Tenants extends Effect.Service<Tenants>()("svc/Tenants", { effect: make }) {}
