/** Parses the headers that name a request's customer, installation, connections and person. Specification: Multi-tenant request headers. */
import { Either, Encoding } from "effect"
import { isIdentityHeader, textOfHeader } from "./access/IdentityHeaders.js"
import { InvalidRequest } from "./Failure.js"
import { isObject, type Json, findUnstorable } from "./Json.js"
import { headerValues } from "./Limits.js"

/** A customer as a request names it. */
export type CustomerReference = { readonly id: string } | { readonly ref: string }

/** One connection of `x-svc-connections`. */
export interface AllowedConnection {
  readonly connector: string | null
  readonly alias: string | null
  readonly connectionId: string
}

/** The parsed headers, not yet checked against records. */
export interface Tenancy {
  readonly customer: CustomerReference | null
  readonly installationId: string | null
  readonly connections: ReadonlyArray<AllowedConnection> | null
  readonly installationConfig: Json
  readonly userId: string | null
}

/** Looks a header up by its lower-case name, as it was sent. */
type Header = (name: string) => string | undefined

/** The text of a header; an empty one counts as absent. */
const textIn = (header: Header, name: string): string | undefined => {
  const value = header(name)
  return value === undefined || value === "" ? undefined : textOfHeader(value)
}

const invalidHeader = (header: string, message: string) =>
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

const isSameReference = (a: CustomerReference, b: CustomerReference): boolean =>
  ("id" in a && "id" in b && a.id === b.id) || ("ref" in a && "ref" in b && a.ref === b.ref)

/** All references to a customer. Ids must agree, and so must external references; an id and a reference are compared once the record is read. */
const customerReferences = (header: Header, organisationId: string) => {
  const named: Array<readonly [string, CustomerReference]> = []
  const add = (name: string, reference: (value: string) => CustomerReference) => {
    const text = textIn(header, name)
    if (text !== undefined) named.push([name, reference(text)])
  }
  add("x-end-org-id", customerReference)
  add("x-end-org-ref", (ref) => ({ ref }))
  add("x-svc-space-tenantid", customerReference)
  const claimed = header("x-org-id")
  // In calls on the organisation's own behalf `x-org-id` names the organisation.
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
    return invalidHeader("x-svc-connections", `names more than ${headerValues.connections} connections`)
  const found: Array<AllowedConnection> = []
  for (const part of parts) {
    const match = connectionPattern.exec(part)
    if (match === null)
      return invalidHeader(
        "x-svc-connections",
        `"${part.slice(0, 60)}" is not conn_id, slug=conn_id or slug:alias=conn_id`
      )
    found.push({ connector: match[1] ?? null, alias: match[2] ?? null, connectionId: match[3] ?? "" })
  }
  return Either.right(found)
}

const parseConfig = (text: string): Either.Either<Json, InvalidRequest> => {
  const name = "x-svc-installation-config"
  const json = text.startsWith("{") ? text : Either.getOrElse(Encoding.decodeBase64UrlString(text), () => "")
  if (json.length > headerValues.configBytes)
    return invalidHeader(name, `is larger than ${headerValues.configBytes} bytes`)
  try {
    const value: Json = JSON.parse(json)
    if (!isObject(value) || findUnstorable(value) !== undefined) return invalidHeader(name, "must be a JSON object")
    return Either.right(value)
  } catch {
    return invalidHeader(name, "must be a JSON object, or its base64url without padding")
  }
}

/** The customer that the headers name, preferably by id; fails if they name two. */
export const parseCustomer = (
  header: Header,
  organisationId: string
): Either.Either<CustomerReference | null, InvalidRequest> => {
  const named = customerReferences(header, organisationId)
  const [first, ...others] = named
  for (const [name, reference] of others) {
    const rival = named.find(([, other]) => "id" in other === "id" in reference)
    if (rival !== undefined && !isSameReference(rival[1], reference))
      return invalidHeader(name, `names another customer than ${rival[0]}`)
  }
  const byId = named.find(([, reference]) => "id" in reference)
  return Either.right(byId?.[1] ?? first?.[1] ?? null)
}

/** Parses the headers; empty ones count as absent. */
export const parseTenancy = (header: Header, organisationId: string): Either.Either<Tenancy, InvalidRequest> =>
  Either.gen(function* () {
    const value = (name: string) => textIn(header, name) ?? null
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

/** The external reference in `x-end-org-ref`, which must match a customer that is named by id. */
export const claimedExternalRef = (header: Header): string | undefined => textIn(header, "x-end-org-ref")

const credentialHeaders: ReadonlySet<string> = new Set([
  "authorization",
  "proxy-authorization",
  "cookie",
  "x-svc-api-key",
  "x-svc-access-key",
  "x-identity-hmac"
])

/** The headers that a workflow sees: without credentials, names in lower case; of those that name somebody, the text. */
export const workflowHeaders = (headers: { readonly [name: string]: string }): { readonly [name: string]: string } =>
  Object.fromEntries(
    Object.entries(headers)
      .map(([name, value]) => [name, isIdentityHeader(name) ? textOfHeader(value) : value] as const)
      .filter(([name, text]) => !credentialHeaders.has(name) && text.isWellFormed() && !text.includes("\u0000"))
  )
