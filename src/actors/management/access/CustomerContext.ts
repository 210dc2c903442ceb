/**
 * Resolves the customer, installation, connections and person that a request names in its headers, checked against the
 * stored records and what the key reaches. Contract: header formats.
 */
import { Effect, Option } from "effect"
import { ConnectionReads } from "../../ports/connection/ConnectionReads.js"
import { CustomerReads, type KnownCustomer } from "../../ports/organisation/CustomerReads.js"
import { RateLimits } from "../../ports/organisation/RateLimits.js"
import { InstallationReads } from "../../ports/organisation/InstallationReads.js"
import { nounOf } from "../../../domain/access/CallerKind.js"
import { customerRefusal, customerCeiling } from "../../../domain/organisation/Customer.js"
import {
  type Failure,
  Forbidden,
  InvalidRequest,
  type InvalidState,
  NotFound,
  refuseWith
} from "../../../domain/Failure.js"
import type { ConnectionId } from "../../../domain/Ids.js"
import { inactiveInstallation, ownConnections } from "../../../domain/organisation/Installation.js"
import type { ChosenConnection, StartEntry } from "../../../domain/run/RunJournal.js"
import { claimedExternalRef, type CustomerReference, parseTenancy, type Tenancy } from "../../../domain/Tenancy.js"
import { outOfScope, type Principal, reaches } from "../Caller.js"
import { installationRefusal } from "../organisation/InstallationRecords.js"

/** On whose behalf a request acts. */
export interface CustomerContext {
  readonly customer: KnownCustomer | null
  /** The only connections that may be used; `null`: any connection of the customer. */
  readonly connections: ReadonlyArray<ChosenConnection> | null
  readonly installation: StartEntry["installation"]
  readonly userId: string | null
}

/** Where the customer comes from: the headers only, or without them the one connection that the request names. */
type CustomerSource = "headers" | "connection"

/** A request, of which only the headers matter here. */
interface HeaderRequest {
  readonly headers: { readonly [name: string]: string | undefined }
}

const noCustomer: CustomerContext = { customer: null, connections: null, installation: null, userId: null }

const contextHeaders = [
  "x-end-org-id",
  "x-end-org-ref",
  "x-svc-space-tenantid",
  "x-org-id",
  "x-installation-id",
  "x-svc-connections",
  "x-svc-installation-config",
  "x-user-id"
]

const customerNotReachable = (caller: Principal) =>
  new Forbidden({ code: "CUSTOMER_NOT_REACHABLE", message: `this ${nounOf(caller)} does not reach that customer` })

/** Fails unless the customer is active. */
const requireActive = (customer: KnownCustomer): Effect.Effect<KnownCustomer, InvalidState> => {
  const refusal = customerRefusal(customer)
  return refusal === undefined ? Effect.succeed(customer) : Effect.fail(refusal)
}

const connectionNotOfCustomer = () =>
  new Forbidden({ code: "FORBIDDEN", message: "x-svc-connections names a connection that is not this customer's" })

export const make = Effect.gen(function* () {
  const customers = yield* CustomerReads
  const connections = yield* ConnectionReads
  const installations = yield* InstallationReads
  const limits = yield* RateLimits

  /** The customer of the connection that the request names; null if it names none or several. */
  const customerOfConnection = Effect.fnUntraced(function* (caller: Principal, named: Tenancy["connections"]) {
    const [one, ...others] = named ?? []
    if (one === undefined || others.length > 0) return null
    // The text is only compared with stored ids.
    const id = one.connectionId as ConnectionId
    yield* refuseWith(outOfScope(caller, "connection", id))
    const connection = Option.getOrUndefined(yield* connections.byId(caller.organisationId, id))
    // A connection that the key does not reach is answered like an unknown one.
    if (connection === undefined || !reaches(caller, connection.customerId)) return yield* connectionNotOfCustomer()
    return { id: connection.customerId }
  })

  /** Counts the call against the customer's own limit per minute. */
  const admit = (caller: Principal, customer: KnownCustomer): Effect.Effect<void, Failure> => {
    const limit = customerCeiling(customer, "api_calls_per_minute")
    return limit === null ? Effect.void : limits.admitFor(caller.organisationId, customer.id, limit)
  }

  /** The customer of a reference, if the key reaches it and `x-end-org-ref` agrees; counts the call against its limit. */
  const resolveCustomer = Effect.fnUntraced(function* (
    caller: Principal,
    header: (name: string) => string | undefined,
    reference: CustomerReference
  ): Effect.fn.Return<KnownCustomer, Failure> {
    const found = yield* customers.find(caller.organisationId, reference)
    // Only a key that reaches all customers learns whether one exists.
    if (Option.isNone(found))
      return yield* caller.customers === "all" ? new NotFound({ what: "customer" }) : customerNotReachable(caller)
    const customer = found.value
    if (!reaches(caller, customer.id)) return yield* customerNotReachable(caller)
    const ref = claimedExternalRef(header)
    if (ref !== undefined && ref !== customer.externalRef) {
      return yield* new InvalidRequest({
        code: "INVALID_HEADER",
        message: "x-end-org-ref names another customer than the request's id"
      })
    }
    yield* admit(caller, customer)
    return customer
  })

  /** The active customer that the request names. */
  const customerOf = Effect.fnUntraced(function* (
    caller: Principal,
    request: HeaderRequest,
    tenancy: Tenancy,
    implied: CustomerSource
  ): Effect.fn.Return<KnownCustomer | null, Failure> {
    const own = caller.embedded === null ? null : { id: caller.embedded.customerId }
    const reference =
      tenancy.customer ??
      own ??
      (implied === "connection" ? yield* customerOfConnection(caller, tenancy.connections) : null)
    if (reference === null) return null
    return yield* requireActive(yield* resolveCustomer(caller, (name) => request.headers[name], reference))
  })

  /** Fails unless the customer owns every named connection and the key reaches it. */
  const checkConnections = Effect.fnUntraced(function* (
    caller: Principal,
    customer: KnownCustomer | null,
    named: NonNullable<Tenancy["connections"]>
  ): Effect.fn.Return<ReadonlyArray<ChosenConnection>, Failure> {
    const found: Array<ChosenConnection> = []
    for (const { alias, connectionId, connector } of named) {
      // The text is only compared with stored ids.
      const id = connectionId as ConnectionId
      yield* refuseWith(outOfScope(caller, "connection", id))
      const known = Option.getOrUndefined(yield* connections.byId(caller.organisationId, id))
      if (known === undefined || known.customerId !== customer?.id) return yield* connectionNotOfCustomer()
      yield* refuseWith(outOfScope(caller, "connector", known.connector))
      if (connector !== null && connector !== known.connector) {
        return yield* new InvalidRequest({
          code: "INVALID_HEADER",
          message: `x-svc-connections: ${id} is a connection to ${known.connector}, not to ${connector}`
        })
      }
      found.push({ connector: known.connector, alias, id })
    }
    return found
  })

  /** The installation; that of another customer is answered like an unknown one. */
  const installationOf = Effect.fnUntraced(function* (caller: Principal, customer: KnownCustomer | null, id: string) {
    const found = Option.getOrUndefined(yield* installations.find(caller.organisationId, id))
    if (found === undefined || found.customerId !== customer?.id) return yield* new NotFound({ what: "installation" })
    const refusal = installationRefusal(caller, found) ?? inactiveInstallation(found)
    return refusal === undefined ? found : yield* refusal
  })

  /** Reads the headers and checks what they name. */
  const readContext = Effect.fnUntraced(function* (caller: Principal, request: HeaderRequest, implied: CustomerSource) {
    const tenancy = yield* parseTenancy((name) => request.headers[name], caller.organisationId)
    const customer = yield* customerOf(caller, request, tenancy, implied)
    const named = tenancy.installationId
    const installation = named === null ? null : yield* installationOf(caller, customer, named)
    const config = tenancy.installationConfig ?? installation?.config ?? null
    const own = installation === null ? null : ownConnections(installation)
    return {
      customer,
      connections: tenancy.connections === null ? own : yield* checkConnections(caller, customer, tenancy.connections),
      installation: config === null ? null : { id: installation?.id ?? null, config },
      userId: caller.embedded?.userId ?? tenancy.userId
    }
  })

  /**
   * Costs no look-up for a request without these headers. A key that reaches only some customers must name one; an embed
   * session acts for its own customer and person.
   */
  const resolveContext = (caller: Principal, request: HeaderRequest, implied: CustomerSource = "headers") =>
    caller.embedded !== null || contextHeaders.some((name) => request.headers[name] !== undefined)
      ? readContext(caller, request, implied)
      : caller.customers === "all"
        ? Effect.succeed(noCustomer)
        : new Forbidden({
            code: "CUSTOMER_NOT_REACHABLE",
            message: `this ${nounOf(caller)} reaches only some customers: name one in x-end-org-id`
          })

  return { resolveContext, resolveCustomer }
})
