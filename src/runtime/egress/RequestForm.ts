/** Validates the URL, method and headers of a request before it is sent, and derives the request of a redirect. */
import type { Upload } from "../../actors/ports/Egress.js"
import { type AllowList, whyBlocked } from "./Address.js"
import { isAddress } from "../process/IpAddress.js"
import { parseUrl } from "../../domain/Url.js"

/** One request to send. `headers` alternates names and values, as undici takes them. */
export interface Hop {
  readonly url: URL
  readonly method: string
  readonly headers: ReadonlyArray<string>
  readonly body: Uint8Array | string | Upload | null
}

/** Whether the body is streamed from the client. */
export const isUpload = (body: Hop["body"]): body is Upload =>
  body !== null && typeof body === "object" && "pieces" in body

/** Parses a URL, or says why it must not be called. Literal addresses are checked here. */
export const readUrl = (text: string, allow: AllowList): URL | string => {
  const url = parseUrl(text)
  if (url === undefined) return "is not an absolute URL"
  if (url.protocol !== "http:" && url.protocol !== "https:")
    return `has the scheme ${url.protocol} (only http: and https: go out)`
  if (url.username !== "" || url.password !== "") return "carries credentials: send them in a header"
  const host = url.hostname.replace(/^\[|\]$/g, "")
  if (isAddress(host)) {
    const reason = whyBlocked(host, Number(url.port) || (url.protocol === "https:" ? 443 : 80), allow)
    if (reason !== undefined) return `leads to ${host}, which ${reason}`
  }
  return url
}

/** A URL for messages: without its query, which often contains a key. */
export const tellable = (url: string): string => {
  const cut = url.search(/[?#]/)
  return (cut < 0 ? url : url.slice(0, cut)).replace(/\/\/[^/@]*@/, "//")
}

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const badValue = /[^\t\x20-\x7e\x80-\xff]/
const forbiddenMethods: ReadonlySet<string> = new Set(["CONNECT", "TRACE", "TRACK"])

/** The method in upper case, or why it cannot be sent. */
export const readMethod = (method: string): { readonly method: string } | string => {
  const upper = method.toUpperCase()
  if (!token.test(upper)) return "has a method that is not an HTTP token"
  return forbiddenMethods.has(upper) ? `has the method ${upper}, which does not go out` : { method: upper }
}

/** Headers of the connection, which the sender sets. They are dropped, as `fetch` does. */
const connectionHeaders: ReadonlySet<string> = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "keep-alive",
  "te",
  "trailer",
  "upgrade",
  "expect",
  "proxy-authorization",
  "proxy-connection",
  "proxy-authenticate",
  "http2-settings"
])

/** The headers to send, or why they cannot be sent. Adds a `user-agent` if there is none. */
export const readHeaders = (headers: ReadonlyArray<readonly [string, string]>): ReadonlyArray<string> | string => {
  const out: Array<string> = []
  let userAgent = false
  for (const [name, value] of headers) {
    if (!token.test(name)) return `has a header whose name is not an HTTP token: ${JSON.stringify(name.slice(0, 64))}`
    if (badValue.test(value)) return `has a line break or another forbidden character in the header ${name}`
    const lower = name.toLowerCase()
    if (connectionHeaders.has(lower)) continue
    userAgent ||= lower === "user-agent"
    out.push(name, value)
  }
  if (!userAgent) out.push("user-agent", "svc")
  return out
}

// --- Redirects ---

/**
 * Headers that are sent after a redirect to another origin. All others are dropped, since a header of any
 * name may carry a credential.
 */
const crossOriginHeaders: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "accept-language",
  "cache-control",
  "content-language",
  "content-type",
  "if-match",
  "if-modified-since",
  "if-none-match",
  "if-unmodified-since",
  "range",
  "user-agent",
  "traceparent"
])

/** The request that a redirect asks for. `location` must have been read by `readUrl`. */
export const redirectHop = (hop: Hop, status: number, location: URL): Hop => {
  const toGet = (status === 303 && hop.method !== "HEAD") || (status <= 302 && hop.method === "POST")
  const sameOrigin = hop.url.origin === location.origin
  const keeps = (name: string) =>
    (sameOrigin || crossOriginHeaders.has(name)) && !(toGet && name.startsWith("content-"))
  return {
    url: location,
    method: toGet ? "GET" : hop.method,
    headers: hop.headers.filter((_, at) => keeps((hop.headers[at - (at % 2)] ?? "").toLowerCase())),
    body: toGet ? null : hop.body
  }
}
