/**
 * Reads a message of the typed RPC as the request of its operation: path, query and body from the payload, and of the
 * headers those that the connection was opened with. No member of a message changes who calls. Specification: typed RPC.
 */
import { Either } from "effect"
import { headerOfText } from "../../domain/access/IdentityHeaders.js"
import { InvalidRequest } from "../../domain/Failure.js"
import { connectedCall, headerBytes } from "../../domain/Limits.js"
import { findUnstorable, isObject, type Json, type JsonObject, unstorableMessage } from "../../domain/Json.js"
import type { Contract } from "../operation/Contract.js"
import { proxyContracts } from "../operations/Execution.js"
import type { RawRequest, RequestHead } from "../Wire.js"
import type { RpcMethod } from "./RpcMethods.js"

/** The request of a message. */
export interface AskedOperation {
  readonly contract: Contract
  readonly params: { readonly [name: string]: string }
  readonly request: RawRequest
}

type Asked = Either.Either<AskedOperation, InvalidRequest>

const wrong = (path: string, message: string) =>
  Either.left(
    new InvalidRequest({
      code: "INVALID_REQUEST",
      message: `${path} ${message}`,
      details: [{ path, code: "INVALID", message }]
    })
  )

// --- Headers ---

/** Of the connection, what concerns only its opening, or one request. */
const ofOpening =
  /^(?:connection|upgrade|host|cookie|sec-websocket-.*|content-.*|transfer-encoding|te|trailer|expect|if-match|idempotency-key|last-event-id|accept.*)$/

/** What names a customer, which a message may do instead of its connection. */
const ofCustomer = new Set(["x-end-org-id", "x-end-org-ref", "x-svc-space-tenantid", "x-org-id"])

/** What says who calls, for whom, and from where; the service reads it, and no provider. */
const ofCaller =
  /^(?:authorization|proxy-.*|x-svc-.*|x-end-.*|x-org-id|x-installation-.*|x-user-id|x-identity-.*|x-forwarded-.*)$/

/** Members of every payload that stand for headers. */
const headerMembers = { user: "x-user-id", idempotencyKey: "idempotency-key" } as const

/** Members of the payload of a call through a connection that stand for headers. */
const callHeaderMembers = {
  connection: "x-svc-connections",
  connector: "x-svc-connector",
  timeoutMs: "x-svc-timeout-ms"
} as const

const memberOf = new Map<string, string>([
  ...Object.entries({ ...headerMembers, ...callHeaderMembers }).map(([member, header]) => [header, member] as const),
  ...[...ofCustomer].map((header) => [header, "customer"] as const)
])
const hyphenated = /\b[a-z]+(?:-[a-z]+)+\b/gi

/** A text about a request with the names of a payload's members instead of those of the headers that they become. */
export const withMembers = (text: string): string =>
  text.replace(hyphenated, (name) => memberOf.get(name.toLowerCase()) ?? name)

type Headers = { readonly [name: string]: string }

/** The headers that all requests of a connection have in common. */
export const connectionHeaders = (opened: Headers): Headers =>
  Object.fromEntries(Object.entries(opened).filter(([name]) => !ofOpening.test(name)))

/** The value of a header for a member that names somebody. */
const identityHeader = (member: string, text: string): Either.Either<string, InvalidRequest> => {
  const problem = findUnstorable(text)
  return problem === undefined ? Either.right(headerOfText(text)) : wrong(member, unstorableMessage[problem.reason])
}

/** The connection's headers with those that the payload has instead; the same object if it has none. */
const headersOf = (opened: Headers, payload: JsonObject): Either.Either<Headers, InvalidRequest> =>
  Either.gen(function* () {
    const { customer = null } = payload
    const named: { [name: string]: string } = {}
    if (customer !== null) {
      if (typeof customer !== "string" || customer === "")
        return yield* wrong("customer", "must be the id of a customer, or ref: and its external reference")
      named["x-end-org-id"] = yield* identityHeader("customer", customer)
    }
    for (const [member, header] of Object.entries(headerMembers)) {
      const value = payload[member] ?? null
      if (value === null) continue
      if (typeof value !== "string") return yield* wrong(member, "must be a text")
      named[header] = header === headerMembers.user ? yield* identityHeader(member, value) : value
    }
    if (Object.keys(named).length === 0) return opened
    const kept = customer === null ? opened : withoutCustomer(opened)
    return { ...kept, ...named }
  })

const withoutCustomer = (opened: Headers): Headers =>
  Object.fromEntries(Object.entries(opened).filter(([name]) => !ofCustomer.has(name)))

/** The payload without the members that are headers. */
const membersOf = ({ customer: _customer, idempotencyKey: _key, user: _user, ...members }: JsonObject): JsonObject =>
  members

// --- Operations ---

/** As long as a query over HTTP may be. */
const queryText = (members: JsonObject): Either.Either<string, InvalidRequest> => {
  const query = new URLSearchParams()
  let length = 0
  for (const [name, value] of Object.entries(members)) {
    if (value === null) continue
    if (typeof value === "object") return wrong(name, "must be a text, a number, or true or false")
    length += name.length + String(value).length
    if (length > headerBytes) return wrong("payload", `has members of more than ${headerBytes} characters in all`)
    query.append(name, String(value))
  }
  const text = query.toString()
  return Either.right(text === "" ? "" : `?${text}`)
}

const encoder = new TextEncoder()

/** A payload that is nested too deeply cannot be written. */
const bodyOf = (members: JsonObject): Either.Either<Uint8Array, InvalidRequest> =>
  Either.try({
    try: () => encoder.encode(JSON.stringify(members)),
    catch: () => new InvalidRequest({ code: "INVALID_REQUEST", message: "the payload is nested too deeply" })
  })

const askedOperation = ({ contract, id }: RpcMethod, head: RequestHead, payload: JsonObject): Asked =>
  Either.gen(function* () {
    const headers = yield* headersOf(head.headers, payload)
    const { [id?.member ?? ""]: named, ...members } = membersOf(payload)
    if (id !== undefined && (typeof named !== "string" || named === ""))
      return yield* wrong(id.member, "must be the id of the record")
    // What follows is taken literally, also a slash or a question mark.
    const params = id === undefined ? {} : { [id.parameter]: encodeURIComponent(String(named)) }
    const path = contract.path.replace(/:(\w+)/g, (_, name: string) => params[name] ?? "")
    const isRead = contract.method === "GET"
    const hasBody = contract.input.body !== undefined
    if (!isRead && !hasBody && Object.keys(members).length > 0)
      return yield* wrong(Object.keys(members)[0] ?? "", "is no member of this method's payload")
    const query = isRead ? yield* queryText(members) : ""
    return {
      contract,
      params,
      request: {
        method: contract.method,
        target: `${path}${query}`,
        headers: hasBody ? { ...headers, "content-type": "application/json" } : headers,
        remoteAddress: head.remoteAddress,
        body: hasBody && !isRead ? yield* bodyOf(members) : new Uint8Array()
      }
    }
  })

// --- Calls of providers ---

const proxyContractOf = new Map(proxyContracts.map((one) => [one.method as string, one]))
const callMembers = new Set(["connection", "connector", "method", "path", "headers", "body", "bodyBase64", "timeoutMs"])

const providerHeaders = (sent: Json): Either.Either<Headers, InvalidRequest> => {
  if (sent === null) return Either.right({})
  if (!isObject(sent)) return wrong("headers", "must be an object of texts")
  const headers: { [name: string]: string } = {}
  for (const [name, value] of Object.entries(sent)) {
    const lower = name.toLowerCase()
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || typeof value !== "string" || !/^[\t\x20-\x7e]*$/.test(value))
      return wrong(`headers.${name.slice(0, 100)}`, "is no header with a text of ASCII characters on one line")
    if (ofCaller.test(lower) || /^(?:host|cookie|connection|upgrade|content-length|transfer-encoding)$/.test(lower))
      return wrong(`headers.${name.slice(0, 100)}`, "is set by the service: leave it out")
    headers[lower] = value
  }
  return Either.right(headers)
}

const callBody = (members: JsonObject): Either.Either<Uint8Array, InvalidRequest> => {
  const { body = null, bodyBase64 = null } = members
  if (body !== null && bodyBase64 !== null) return wrong("body", "and bodyBase64 exclude each other: send one")
  if (body !== null)
    return typeof body === "string" ? Either.right(encoder.encode(body)) : wrong("body", "must be a text")
  if (bodyBase64 === null) return Either.right(new Uint8Array())
  return typeof bodyBase64 === "string" && /^[A-Za-z0-9+/]*={0,2}$/.test(bodyBase64) && bodyBase64.length % 4 === 0
    ? Either.right(Buffer.from(bodyBase64, "base64"))
    : wrong("bodyBase64", "must be base64 with padding")
}

/** Of the connection's headers, those that say who calls and for whom. */
const callerHeaders = (headers: Headers): Headers =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => ofCaller.test(name) || name === "idempotency-key"))

const isCallTimeout = (value: Json): boolean =>
  typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= connectedCall.proxyMillis

const askedCall = (head: RequestHead, payload: JsonObject): Asked =>
  Either.gen(function* () {
    const headers = callerHeaders(yield* headersOf(head.headers, payload))
    const members = membersOf(payload)
    const unknown = Object.keys(members).find((name) => !callMembers.has(name))
    if (unknown !== undefined) return yield* wrong(unknown, "is no member of this method's payload")
    const { connection = null, connector = null, method, path, timeoutMs = null } = members
    const contract = typeof method === "string" ? proxyContractOf.get(method) : undefined
    if (contract === undefined)
      return yield* wrong("method", `must be one of ${[...proxyContractOf.keys()].join(", ")}`)
    if (typeof path !== "string" || path.startsWith("/"))
      return yield* wrong("path", "must be the path below the connection's base URL, without a slash in front")
    if (!/^[\x21-\x7e]*$/.test(path)) return yield* wrong("path", "must be percent-encoded")
    if (connection !== null && typeof connection !== "string") return yield* wrong("connection", "must be an id")
    if (connector !== null && typeof connector !== "string") return yield* wrong("connector", "must be a slug")
    if (timeoutMs !== null && !isCallTimeout(timeoutMs))
      return yield* wrong("timeoutMs", `must be a whole number of milliseconds from 1 to ${connectedCall.proxyMillis}`)
    return {
      contract,
      params: { path },
      request: {
        method: contract.method,
        target: contract.path.replace(":path", () => path),
        headers: {
          ...(yield* providerHeaders(members["headers"] ?? null)),
          ...headers,
          ...(connection === null ? {} : { [callHeaderMembers.connection]: headerOfText(connection) }),
          ...(connector === null ? {} : { [callHeaderMembers.connector]: connector }),
          ...(timeoutMs === null ? {} : { [callHeaderMembers.timeoutMs]: `${timeoutMs}` })
        },
        remoteAddress: head.remoteAddress,
        body: yield* callBody(members)
      }
    }
  })

/** The request that a message asks for. `head`: of the connection, with the headers of `connectionHeaders`. */
export const askedBy = (method: RpcMethod, head: RequestHead, payload: unknown): Asked => {
  const members = payload === undefined || payload === null ? {} : (payload as Json)
  if (!isObject(members)) return wrong("payload", "must be an object")
  if (method.kind === "proxy") return askedCall(head, members)
  return askedOperation(method, head, members)
}
