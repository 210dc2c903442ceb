/**
 * The customer that a management request names in its headers: the request is narrowed to it, and may name no other one
 * in its path, query or body. Contract: header formats.
 */
import { Effect } from "effect"
import type { KnownCustomer } from "../../actors/ports/CustomerReads.js"
import { type Failure, InvalidRequest } from "../../domain/Failure.js"
import { isObject, type Json, type JsonObject } from "../../domain/Json.js"
import { customerReference, parseCustomer } from "../../domain/Tenancy.js"
import { make as makeActingFor } from "../auth/ActingFor.js"
import type { Exchange } from "./Exchange.js"

const inPath = ["cid", "tid"]

const texts = (value: Json | undefined): ReadonlyArray<string> =>
  (Array.isArray(value) ? value : [value]).filter((one) => typeof one === "string")

/** A record's customer, those that a key or a person is for, and the one that a configuration value is set for. */
const namedInBody = ({
  customerId,
  customerIds,
  customers,
  level,
  scopeId
}: JsonObject): ReadonlyArray<readonly [string, string]> =>
  [
    ["customerId", customerId] as const,
    ["customerIds", customerIds] as const,
    ["customers.ids", customers !== undefined && isObject(customers) ? customers["ids"] : undefined] as const,
    ["scopeId", level === "tenant" ? scopeId : undefined] as const
  ].flatMap(([name, value]) => texts(value).map((text) => [name, text] as const))

/** Where the request names a customer besides its headers, and how. */
const namedElsewhere = ({ body, params, request }: Exchange): ReadonlyArray<readonly [string, string]> => {
  const query = new URLSearchParams(request.target.slice(request.target.indexOf("?") + 1)).get("customer_id")
  return [
    ...inPath.flatMap((name) => (params[name] === undefined ? [] : [["the path", params[name]] as const])),
    ...(query === null || query === "" ? [] : [["customer_id", query] as const]),
    ...(body === undefined || !isObject(body) ? [] : namedInBody(body))
  ]
}

const isNamed = (customer: KnownCustomer, text: string): boolean => {
  const reference = customerReference(text)
  return "id" in reference ? reference.id === customer.id : reference.ref === customer.externalRef
}

export const make = Effect.map(makeActingFor, ({ customerNamed }) => {
  const narrowed = (exchange: Exchange): Effect.Effect<void, Failure> =>
    Effect.gen(function* () {
      const { caller, request } = exchange
      const header = (name: string) => request.headers[name]
      const reference = yield* parseCustomer(header, caller.organisationId)
      if (reference === null) return
      const customer = yield* customerNamed(caller, header, reference)
      const other = namedElsewhere(exchange).find(([, text]) => !isNamed(customer, text))
      if (other !== undefined)
        return yield* new InvalidRequest({
          code: "INVALID_HEADER",
          message: `the headers name another customer than ${other[0]}: name one customer`
        })
      exchange.caller = { ...caller, customers: new Set([customer.id]) }
    })

  /** Most requests name nobody in their headers: `undefined`, they cost nothing. */
  return { narrowed: (exchange: Exchange) => (namesNobody(exchange) ? undefined : narrowed(exchange)) }
})

const headers = ["x-end-org-id", "x-end-org-ref", "x-svc-space-tenantid", "x-org-id"]
const namesNobody = ({ request }: Exchange): boolean => headers.every((name) => (request.headers[name] ?? "") === "")
