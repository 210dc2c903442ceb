/** For whom a request acts: its tenancy headers checked against records and the key's reach. Contract: header formats. */
import { Effect, Option } from "effect"
import { ConnectionReads } from "../../actors/ports/ConnectionReads.js"
import { CustomerReads, type KnownCustomer } from "../../actors/ports/CustomerReads.js"
import { RateLimits } from "../../actors/ports/RateLimits.js"
import { InstallationReads, type KnownInstallation } from "../../actors/ports/InstallationReads.js"
import { customerRefusal } from "../../domain/Customer.js"
import { type Failure, Forbidden, InvalidRequest, type InvalidState, NotFound } from "../../domain/Failure.js"
import type { ConnectionId } from "../../domain/Ids.js"
import { customerCeiling } from "../../domain/Quota.js"
import { notRunning } from "../../domain/Installation.js"
import type { ChosenConnection, StartEntry } from "../../domain/RunJournal.js"
import { claimedRef, type CustomerReference, parseTenancy, type Tenancy } from "../../domain/Tenancy.js"
import type { RequestHead } from "../Wire.js"
import { outOfScope, type Principal, reaches } from "../../actors/management/Caller.js"
import { installationRefusal } from "../../actors/management/InstallationRecords.js"

export interface ActingFor {
  readonly customer: KnownCustomer | null
  /** The only connections that may be used; `null`: any of the customer's. */
  readonly connections: ReadonlyArray<ChosenConnection> | null
  readonly installation: StartEntry["installation"]
  readonly userId: string | null
}

/** What tells the customer: the headers only, or else the one connection that the request names. */
type CustomerSource = "headers" | "connection"

const nobody: ActingFor = { customer: null, connections: null, installation: null, userId: null }

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
const active = (customer: KnownCustomer): Effect.Effect<KnownCustomer, InvalidState> => {
  const refused = customerRefusal(customer)
  return refused === undefined ? Effect.succeed(customer) : Effect.fail(refused)
}

const notTheirs = () =>
  new Forbidden({ code: "FORBIDDEN", message: "x-svc-connections names a connection that is not this customer's" })

export const make = Effect.gen(function* () {
  const customers = yield* CustomerReads
  const connections = yield* ConnectionReads
  const installations = yield* InstallationReads
  const limits = yield* RateLimits

  /** The customer of the one connection that a request names and its key reaches; none where it names no such one. */
  const ownerOf = Effect.fnUntraced(function* (
    caller: Principal,
    named: Tenancy["connections"]
  ): Effect.fn.Return<CustomerReference | null, Failure> {
    const [one, ...others] = named ?? []
    if (one === undefined || others.length > 0) return null
    // Any text of an id's form: no other row matches.
    const id = one.connectionId as ConnectionId
    const scope = outOfScope(caller, "connection", id)
    if (scope !== undefined) return yield* scope
    const known = Option.getOrUndefined(yield* connections.byId(caller.organisationId, id))
    // A connection that this key may not know of answers like one that is not there.
    if (known === undefined || !reaches(caller, known.customerId)) return yield* notTheirs()
    return { id: known.customerId }
  })

  /** Takes one of the calls that may be made for the customer in this minute. */
  const admit = (caller: Principal, customer: KnownCustomer): Effect.Effect<void, Failure> => {
    const limit = customerCeiling(customer, "api_calls_per_minute")
    return limit === null ? Effect.void : limits.admitFor(caller.organisationId, customer.id, limit)
  }

  /** The customer that a request names, if the caller reaches it and all headers agree; the call is counted as one for it. */
  const customerNamed = Effect.fnUntraced(function* (
    caller: Principal,
    header: (name: string) => string | undefined,
    reference: CustomerReference
  ): Effect.fn.Return<KnownCustomer, Failure> {
    const found = yield* customers.find(caller.organisationId, reference)
    // Unknown and unreachable customers are told apart only by keys that reach all of them.
    if (Option.isNone(found))
      return yield* caller.customers === "all" ? new NotFound({ what: "customer" }) : notReachable()
    const customer = found.value
    if (!reaches(caller, customer.id)) return yield* notReachable()
    const ref = claimedRef(header)
    if (ref !== undefined && ref !== customer.externalRef) {
      return yield* new InvalidRequest({
        code: "INVALID_HEADER",
        message: "x-end-org-ref names another customer than the request's id"
      })
    }
    yield* admit(caller, customer)
    return customer
  })

  const customerOf = Effect.fnUntraced(function* (
    caller: Principal,
    request: RequestHead,
    tenancy: Tenancy,
    implied: CustomerSource
  ): Effect.fn.Return<KnownCustomer | null, Failure> {
    const reference =
      tenancy.customer ?? (implied === "connection" ? yield* ownerOf(caller, tenancy.connections) : null)
    if (reference === null) return null
    return yield* active(yield* customerNamed(caller, (name) => request.headers[name], reference))
  })

  /** Every connection that the request names must be the customer's, and one that the key reaches. */
  const chosen = Effect.fnUntraced(function* (
    caller: Principal,
    customer: KnownCustomer | null,
    named: NonNullable<Tenancy["connections"]>
  ): Effect.fn.Return<ReadonlyArray<ChosenConnection>, Failure> {
    const found: Array<ChosenConnection> = []
    for (const { alias, connectionId, connector } of named) {
      // Any text of an id's form: no other row matches.
      const id = connectionId as ConnectionId
      const scope = outOfScope(caller, "connection", id)
      if (scope !== undefined) return yield* scope
      const known = Option.getOrUndefined(yield* connections.byId(caller.organisationId, id))
      if (known === undefined || known.customerId !== customer?.id) return yield* notTheirs()
      const outside = outOfScope(caller, "connector", known.connector)
      if (outside !== undefined) return yield* outside
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

  /** One of another customer answers like one that is not there. */
  const installationOf = Effect.fnUntraced(function* (
    caller: Principal,
    customer: KnownCustomer | null,
    id: string
  ): Effect.fn.Return<KnownInstallation, Failure> {
    const found = Option.getOrUndefined(yield* installations.find(caller.organisationId, id))
    if (found === undefined || found.customerId !== customer?.id) return yield* new NotFound({ what: "installation" })
    const refused = installationRefusal(caller, found) ?? notRunning(found)
    return refused === undefined ? found : yield* refused
  })

  /** The only connections of an installation's runs: its own. */
  const connectionsOf = ({ connections }: KnownInstallation): ReadonlyArray<ChosenConnection> =>
    Object.entries(connections).map(([connector, id]) => ({ connector, alias: null, id }))

  const checked = Effect.fnUntraced(function* (
    caller: Principal,
    request: RequestHead,
    implied: CustomerSource
  ): Effect.fn.Return<ActingFor, Failure> {
    const tenancy = yield* parseTenancy((name) => request.headers[name], caller.organisationId)
    const customer = yield* customerOf(caller, request, tenancy, implied)
    const named = tenancy.installationId
    const installation = named === null ? null : yield* installationOf(caller, customer, named)
    const config = tenancy.installationConfig ?? installation?.config ?? null
    const own = installation === null ? null : connectionsOf(installation)
    return {
      customer,
      connections: tenancy.connections === null ? own : yield* chosen(caller, customer, tenancy.connections),
      installation: config === null ? null : { id: installation?.id ?? null, config },
      userId: tenancy.userId
    }
  })

  /** Most requests name nobody: they cost nothing. A key that reaches only some customers must name one. */
  const actingFor = (
    caller: Principal,
    request: RequestHead,
    implied: CustomerSource = "headers"
  ): Effect.Effect<ActingFor, Failure> =>
    names.some((name) => request.headers[name] !== undefined)
      ? checked(caller, request, implied)
      : caller.customers === "all"
        ? Effect.succeed(nobody)
        : new Forbidden({
            code: "CUSTOMER_NOT_REACHABLE",
            message: "this key reaches only some customers: name one in x-end-org-id"
          })

  return { actingFor, customerNamed }
})
