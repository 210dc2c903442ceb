/** Offers operations on surface B, too, where each is about one customer: the tenant in its path. Specification: Surface B. */
import { Effect } from "effect"
import { Tenants } from "../../actors/management/organisation/Tenants.js"
import type { AnySchema, Contract, Words } from "./Contract.js"
import { type AnyCall, type Operation, paramsSchema, type ServicesOf } from "./Operation.js"

/** What differs for tenants: some of the words, and what need not be said of one customer. */
interface ForTenants extends Partial<Omit<Words, "summary">>, Pick<Words, "summary"> {
  readonly query?: AnySchema
  readonly body?: AnySchema
  readonly sharing?: Contract["sharing"]
  /** The record of its body is the tenant's: the tenant is the member `customerId`, which the body of the others has. */
  readonly isOwned?: boolean
  /** What a call asks for besides. */
  readonly adapt?: (call: AnyCall) => AnyCall
}

const forTenant = <R>(source: Operation<R>, group: string, change: ForTenants): Operation<R | Tenants> => {
  const { adapt = (call) => call, body, isOwned = false, query, sharing, ...words } = change
  const path = source.path.replace("/api/v1/", "/api/v1/tenants/:tid/")
  return {
    ...source,
    ...words,
    group,
    path,
    input: { path: paramsSchema(path), query: query ?? source.input.query, body: body ?? source.input.body },
    sharing: sharing ?? source.sharing,
    // Pages do not call surface B.
    sessions: undefined,
    prepareForSessions: undefined,
    prepare: Effect.map(Effect.all([Tenants, source.prepare]), ([{ find }, run]) => (call: AnyCall) => {
      const { context } = call
      return Effect.flatMap(find(context, call.path.tid), (customer) => {
        // What all customers share is read for the tenant, not changed.
        const { caller } = context
        context.caller = {
          ...caller,
          customers: new Set([customer]),
          isForCustomers: true,
          ...(caller.isForCustomers ? {} : { isNarrowedByPath: true })
        }
        return run(adapt(isOwned ? { ...call, body: { ...call.body, customerId: customer } } : call))
      })
    })
  }
}

/** The operations that `changes` names, in the order of `source`, for one customer each. */
export const forTenants = <const Rows extends ReadonlyArray<Operation>>(
  group: string,
  source: Rows,
  changes: { readonly [name: string]: ForTenants }
): ReadonlyArray<Operation<ServicesOf<Rows[number]> | Tenants>> =>
  source.flatMap((one) => {
    const change = changes[one.name]
    // The services of the union of all rows.
    return change === undefined ? [] : [forTenant(one as Operation<ServicesOf<Rows[number]>>, group, change)]
  })
