/**
 * One request on its way through the typed API: its bytes, who asks, and what its reply's headers gather on the way.
 * The API's own request object carries it, so that handlers reach it without a global.
 */
import { HttpServerRequest } from "@effect/platform"
import type { AuditEntry } from "../domain/Audit.js"
import type { Sharing } from "./Endpoint.js"
import type { Principal } from "./auth/Caller.js"
import type { RawRequest } from "./Wire.js"

export class Exchange {
  /** Headers that the reply will have. */
  readonly replyHeaders: { [name: string]: string } = {}
  /** The customer that the call turned out to be about. */
  customerId: AuditEntry["customerId"] = null
  /** A change was recorded with its own audit entry. */
  audited = false
  /** Its handler has begun: the request was read, and what is wrong from now on is not the client's. */
  handled = false

  constructor(
    readonly request: RawRequest,
    readonly caller: Principal,
    readonly audit: { readonly action: string; readonly resource: string } | null,
    readonly sharing: Sharing | undefined
  ) {}
}

const exchanges = new WeakMap<object, Exchange>()

/** The gate has read the body: whatever kind of JSON its client calls it, it is JSON. */
const ofTheBody: ReadonlySet<string> = new Set(["content-length", "content-type", "transfer-encoding"])
const nothing = new TextEncoder().encode("{}")

/** The typed API's view of the request. */
export const serverRequest = (exchange: Exchange, path: string): HttpServerRequest.HttpServerRequest => {
  const { body, headers, method } = exchange.request
  const hasBody = method !== "GET" && method !== "HEAD" && (body.byteLength > 0 || method !== "DELETE")
  const source = new Request(`http://svc${path}`, {
    method,
    headers: [
      ...Object.entries(headers).filter(([name]) => !ofTheBody.has(name)),
      ["content-type", "application/json"]
    ],
    // A view of a pooled buffer is a body like any other, and none at all says nothing: what is lacking is told.
    ...(hasBody ? { body: body.byteLength > 0 ? Uint8Array.from(body) : nothing } : {})
  })
  exchanges.set(source, exchange)
  return HttpServerRequest.fromWeb(source)
}

/** The exchange of a request that `serverRequest` made. */
export const exchangeOf = (request: HttpServerRequest.HttpServerRequest): Exchange | undefined =>
  typeof request.source === "object" && request.source !== null ? exchanges.get(request.source) : undefined
