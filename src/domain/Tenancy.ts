/** The headers by which a request says for which customer it acts. Specification: Multi-tenant request headers. */
import { Either, Encoding } from "effect"
import { InvalidRequest } from "./Failure.js"
import { isObject, type Json, unstorable } from "./Json.js"
import { headerValues } from "./Limits.js"

/** A customer as a request names it. */
export type CustomerReference = { readonly id: string } | { readonly ref: string }

export interface AllowedConnection {
  readonly connector: string | null
  readonly alias: string | null
  readonly connectionId: string
}

/** What a request claims; nothing of it is checked against records yet. */
export interface Tenancy {
  readonly customer: CustomerReference | null
  readonly installationId: string | null
  readonly connections: ReadonlyArray<AllowedConnection> | null
  readonly installationConfig: Json
  readonly userId: string | null
}

type Header = (name: string) => string | undefined

const bad = (header: string, message: string) =>
  Either.left(
    new InvalidRequest({
      code: "INVALID_HEADER",
      message: `${header}: ${message}`,
      details: [{ path: header, code: "INVALID_HEADER", message }]
    })
  )

/** `cus_…` or `ref:<externalRef>`. */
export const customerReference = (text: string): CustomerReference =>
  text.startsWith("ref:") ? { ref: text.slice(4) } : { id: text }

const same = (a: CustomerReference, b: CustomerReference): boolean =>
  ("id" in a && "id" in b && a.id === b.id) || ("ref" in a && "ref" in b && a.ref === b.ref)

/** All forms in which a request can name its customer; ids must agree, and so must references. An id and a reference are compared once the customer is known. */
const customersNamed = (
  header: Header,
  organisationId: string
): ReadonlyArray<readonly [string, CustomerReference]> => {
  const named: Array<readonly [string, CustomerReference]> = []
  const add = (name: string, reference: (value: string) => CustomerReference) => {
    const value = header(name)
    if (value !== undefined && value !== "") named.push([name, reference(value)])
  }
  add("x-end-org-id", customerReference)
  add("x-end-org-ref", (ref) => ({ ref }))
  add("x-svc-space-tenantid", customerReference)
  const claimed = header("x-org-id")
  // For calls on the organisation's own behalf the claim names the organisation.
  if (claimed !== organisationId) add("x-org-id", customerReference)
  return named
}

const connectionPattern = /^(?:([a-z0-9][a-z0-9-]{0,62})(?::([A-Za-z0-9_-]{1,64}))?=)?(conn_[0-9a-hjkmnp-tv-z]{26})$/

const parseConnections = (text: string): Either.Either<ReadonlyArray<AllowedConnection>, InvalidRequest> => {
  const parts = text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")
  if (parts.length > headerValues.connections)
    return bad("x-svc-connections", `names more than ${headerValues.connections} connections`)
  const found: Array<AllowedConnection> = []
  for (const part of parts) {
    const match = connectionPattern.exec(part)
    if (match === null)
      return bad("x-svc-connections", `"${part.slice(0, 60)}" is not conn_id, slug=conn_id or slug:alias=conn_id`)
    found.push({ connector: match[1] ?? null, alias: match[2] ?? null, connectionId: match[3] ?? "" })
  }
  return Either.right(found)
}

const parseConfig = (text: string): Either.Either<Json, InvalidRequest> => {
  const name = "x-svc-installation-config"
  const json = text.startsWith("{") ? text : Either.getOrElse(Encoding.decodeBase64UrlString(text), () => "")
  if (json.length > headerValues.configBytes) return bad(name, `is larger than ${headerValues.configBytes} bytes`)
  try {
    const value: Json = JSON.parse(json)
    if (!isObject(value) || unstorable(value) !== undefined) return bad(name, "is not a JSON object")
    return Either.right(value)
  } catch {
    return bad(name, "is neither base64url (without padding) of a JSON object nor the object itself")
  }
}

/** The customer that the headers name, by id where they name it so; fails where they name two. */
export const parseCustomer = (
  header: Header,
  organisationId: string
): Either.Either<CustomerReference | null, InvalidRequest> => {
  const named = customersNamed(header, organisationId)
  const [first, ...others] = named
  for (const [name, reference] of others) {
    const rival = named.find(([, other]) => "id" in other === "id" in reference)
    if (rival !== undefined && !same(rival[1], reference)) return bad(name, `names another customer than ${rival[0]}`)
  }
  const byId = named.find(([, reference]) => "id" in reference)
  return Either.right(byId?.[1] ?? first?.[1] ?? null)
}

/** Reads the headers. An empty one counts as absent. */
export const parseTenancy = (header: Header, organisationId: string): Either.Either<Tenancy, InvalidRequest> =>
  Either.gen(function* () {
    const value = (name: string) => {
      const text = header(name)
      return text === undefined || text === "" ? null : text
    }
    const connections = value("x-svc-connections")
    const config = value("x-svc-installation-config")
    return {
      customer: yield* parseCustomer(header, organisationId),
      installationId: value("x-installation-id"),
      connections: connections === null ? null : yield* parseConnections(connections),
      installationConfig: config === null ? null : yield* parseConfig(config),
      userId: value("x-user-id")
    }
  })

/** The reference by which the request also names its customer, where it named it by id: the two must agree. */
export const claimedRef = (header: Header): string | undefined => {
  const ref = header("x-end-org-ref")
  return ref === undefined || ref === "" ? undefined : ref
}

const credentialHeaders: ReadonlySet<string> = new Set([
  "authorization",
  "proxy-authorization",
  "cookie",
  "x-svc-api-key",
  "x-svc-access-key",
  "x-identity-hmac"
])

/** Headers as a workflow sees them: names in lower case, no credential among them. */
export const workflowHeaders = (headers: { readonly [name: string]: string }): { readonly [name: string]: string } =>
  Object.fromEntries(
    Object.entries(headers).filter(
      ([name, text]) => !credentialHeaders.has(name) && text.isWellFormed() && !text.includes("\u0000")
    )
  )
