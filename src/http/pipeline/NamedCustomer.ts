/**
 * Narrows a management request to the customer that its headers name, and refuses it if its path, query or body names
 * another one. Contract: header formats.
 */
import { Effect } from "effect"
import type { KnownCustomer } from "../../actors/ports/organisation/CustomerReads.js"
import { type Failure, InvalidRequest } from "../../domain/Failure.js"
import { isObject, type Json, type JsonObject } from "../../domain/Json.js"
import { customerReference, parseCustomer } from "../../domain/Tenancy.js"
import { make as makeCustomerContext } from "../../actors/management/access/CustomerContext.js"
import type { Exchange } from "./Exchange.js"

const customerParameters = ["cid", "tid"]

const textsOf = (value: Json | undefined): ReadonlyArray<string> =>
  (Array.isArray(value) ? value : [value]).filter((one) => typeof one === "string")

/** Customers in a body: of a record, of a key or a person, or of a configuration value; each with its member. */
const customersNamedInBody = ({
  customerId,
  customerIds,
  customers,
  endOrgId,
  endOrgRef,
  level,
  scopeId
}: JsonObject): ReadonlyArray<readonly [string, string]> =>
  [
    ["customerId", customerId] as const,
    ["customerIds", customerIds] as const,
    ["endOrgId", endOrgId] as const,
    ["endOrgRef", typeof endOrgRef === "string" ? `ref:${endOrgRef}` : undefined] as const,
    ["customers.ids", customers !== undefined && isObject(customers) ? customers["ids"] : undefined] as const,
    ["scopeId", level === "tenant" ? scopeId : undefined] as const
  ].flatMap(([name, value]) => textsOf(value).map((text) => [name, text] as const))

/** Customers named in path, query and body, each with the place that an error names. */
const customersNamedOutsideHeaders = ({
  body,
  params,
  request
}: Exchange): ReadonlyArray<readonly [string, string]> => {
  const query = new URLSearchParams(request.target.slice(request.target.indexOf("?") + 1)).get("customer_id")
  return [
    ...customerParameters.flatMap((name) => (params[name] === undefined ? [] : [["the path", params[name]] as const])),
    ...(query === null || query === "" ? [] : [["customer_id", query] as const]),
    ...(body === undefined || !isObject(body) ? [] : customersNamedInBody(body))
  ]
}

const isNamed = (customer: KnownCustomer, text: string): boolean => {
  const reference = customerReference(text)
  return "id" in reference ? reference.id === customer.id : reference.ref === customer.externalRef
}

/** Makes `narrowToCustomer`, which sets the exchange's caller to one that reaches this customer only. */
export const make = Effect.map(makeCustomerContext, ({ resolveCustomer }) => {
  const narrowExchange = (exchange: Exchange): Effect.Effect<void, Failure> =>
    Effect.gen(function* () {
      const { caller, request } = exchange
      const header = (name: string) => request.headers[name]
      const reference = yield* parseCustomer(header, caller.organisationId)
      if (reference === null) return
      const customer = yield* resolveCustomer(caller, header, reference)
      const mismatch = customersNamedOutsideHeaders(exchange).find(([, text]) => !isNamed(customer, text))
      if (mismatch !== undefined)
        return yield* new InvalidRequest({
          code: "INVALID_HEADER",
          message: `the headers name another customer than ${mismatch[0]}: name one customer`
        })
      exchange.caller = { ...caller, customers: new Set([customer.id]) }
      exchange.namedCustomer = customer.id
    })

  /** `undefined`, at no cost, for a request whose headers name no customer. */
  return {
    narrowToCustomer: (exchange: Exchange) => (hasNoCustomerHeader(exchange) ? undefined : narrowExchange(exchange))
  }
})

const customerHeaders = ["x-end-org-id", "x-end-org-ref", "x-svc-space-tenantid", "x-org-id"]
const hasNoCustomerHeader = ({ request }: Exchange): boolean =>
  customerHeaders.every((name) => (request.headers[name] ?? "") === "")
