/** For whom a request acts: its tenancy headers checked against records and the key's reach. Contract: header formats. */
import { Effect, Option } from "effect"
import { CustomerReads, type KnownCustomer } from "../../actors/ports/CustomerReads.js"
import { type Failure, Forbidden, InvalidRequest, InvalidState, NotFound } from "../../domain/Failure.js"
import type { Json } from "../../domain/Json.js"
import { claimedRef, parseTenancy, type Tenancy } from "../../domain/Tenancy.js"
import type { RawRequest } from "../Wire.js"
import { type Principal, reaches } from "./Caller.js"

export interface ActingFor {
  readonly customer: KnownCustomer | null
  readonly installationConfig: Json
  readonly userId: string | null
}

const nobody: ActingFor = { customer: null, installationConfig: null, userId: null }

const names = [
  "x-end-org-id",
  "x-end-org-ref",
  "x-svc-space-tenantid",
  "x-org-id",
  "x-installation-id",
  "x-svc-connections",
  "x-svc-installation-config",
  "x-user-id"
]

const notReachable = () =>
  new Forbidden({ code: "CUSTOMER_NOT_REACHABLE", message: "this key does not reach that customer" })

/** Only active customers run. */
const active = (customer: KnownCustomer): Effect.Effect<KnownCustomer, InvalidState> =>
  customer.status === "active"
    ? Effect.succeed(customer)
    : new InvalidState({
        state: customer.status,
        message: `the customer is ${customer.status}: only active customers run`
      })

export const make = Effect.gen(function* () {
  const customers = yield* CustomerReads

  const customerOf = Effect.fnUntraced(function* (
    caller: Principal,
    request: RawRequest,
    tenancy: Tenancy
  ): Effect.fn.Return<KnownCustomer | null, Failure> {
    if (tenancy.customer === null) return null
    const found = yield* customers.find(caller.organisationId, tenancy.customer)
    // Unknown and unreachable customers are told apart only by keys that reach all of them.
    if (Option.isNone(found))
      return yield* caller.customers === "all" ? new NotFound({ what: "customer" }) : notReachable()
    const customer = found.value
    if (!reaches(caller, customer.id)) return yield* notReachable()
    const ref = claimedRef((name) => request.headers[name])
    if (ref !== undefined && ref !== customer.externalRef) {
      return yield* new InvalidRequest({
        code: "INVALID_HEADER",
        message: "x-end-org-ref names another customer than the request's id"
      })
    }
    return yield* active(customer)
  })

  const checked = Effect.fnUntraced(function* (
    caller: Principal,
    request: RawRequest
  ): Effect.fn.Return<ActingFor, Failure> {
    const tenancy = yield* parseTenancy((name) => request.headers[name], caller.organisationId)
    const customer = yield* customerOf(caller, request, tenancy)
    // Neither records exist in this release of the service: whatever id is named is not the customer's.
    if (tenancy.installationId !== null) return yield* new NotFound({ what: "installation" })
    if (tenancy.connections !== null && tenancy.connections.length > 0) {
      return yield* new Forbidden({
        code: "FORBIDDEN",
        message: "x-svc-connections names a connection that is not this customer's"
      })
    }
    return { customer, installationConfig: tenancy.installationConfig, userId: tenancy.userId }
  })

  /** Most requests name nobody: they cost nothing. A key that reaches only some customers must name one. */
  const actingFor = (caller: Principal, request: RawRequest): Effect.Effect<ActingFor, Failure> =>
    names.some((name) => request.headers[name] !== undefined)
      ? checked(caller, request)
      : caller.customers === "all"
        ? Effect.succeed(nobody)
        : new Forbidden({
            code: "CUSTOMER_NOT_REACHABLE",
            message: "this key reaches only some customers: name one in x-end-org-id"
          })

  return { actingFor }
})
