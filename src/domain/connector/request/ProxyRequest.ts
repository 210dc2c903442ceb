/**
 * Builds the request that the proxy forwards to a provider: a target below the connector's base URL, and the headers that
 * may be forwarded in both directions. Pure. Contract: proxy.
 */
import { Either } from "effect"
import { resolveBaseUrl, type ConfigValues } from "./BaseUrl.js"
import { headerLists } from "./ProviderAnswer.js"
import { readUsage } from "./RateReading.js"
import type { UnsignedRequest } from "./UnsignedRequest.js"
import type { ConnectorDefinition } from "../Definition.js"
import { type CallMistake, callMistake } from "./ValueEncoding.js"
import { parseUrl } from "../../Url.js"

/** A request as the caller sent it. */
export interface ProxyRequest {
  readonly method: string
  /** Path and query as sent, without the first slash. */
  readonly target: string
  readonly headers: { readonly [name: string]: string }
  /** `null`: no body, or one that is streamed. */
  readonly body: Uint8Array | null
  readonly timeoutMillis: number
}

/** Headers of the hop to the service, and those that identify the caller: they are not forwarded. */
const droppedRequestHeaders =
  /^(?:host|connection|content-length|transfer-encoding|keep-alive|te|trailer|upgrade|expect|authorization|cookie|forwarded|via|idempotency-key|traceparent|tracestate|baggage|accept-encoding|proxy-.*|x-svc-.*|x-forwarded-.*|x-org-id|x-user-id|x-end-org-.*|x-installation-id|x-identity-.*|x-api-key|x-real-ip)$/

/** The forwarded request. The caller's Idempotency-Key is forwarded. Left: the mistake in the target or connector. */
export const buildProxyRequest = (
  definition: ConnectorDefinition,
  config: ConfigValues,
  request: ProxyRequest
): Either.Either<UnsignedRequest, CallMistake> =>
  Either.flatMap(resolveBaseUrl(definition, config), ({ origin, path }) => {
    const [resource = "", ...query] = request.target.split("?")
    if (/[\s#]/.test(resource) || resource.includes("//") || canEscape(resource))
      return callMistake(
        "path",
        'has "." or ".." in some spelling, an empty part or a backslash: it must be below the connector\'s base URL'
      )
    if (definition.transport !== "http") return callMistake("connector", "does not speak HTTP")
    const url = `${origin}${path}/${resource}${query.length === 0 ? "" : `?${query.join("?")}`}`
    if (parseUrl(url)?.origin !== origin) return callMistake("path", "does not make a valid URL")
    const idempotency = request.headers["idempotency-key"]
    return Either.right({
      method: request.method,
      url,
      origin,
      headers: [
        ...Object.entries(request.headers).filter(([name]) => !droppedRequestHeaders.test(name)),
        ...(idempotency === undefined ? [] : [["idempotency-key", idempotency] as const])
      ],
      body: request.body?.length === 0 ? null : request.body,
      timeoutMillis: request.timeoutMillis
    })
  })

/** Whether the body must be complete before the request is sent: a credential is injected into it, or it is signed. */
export const needsWholeBody = ({ auth }: ConnectorDefinition): boolean =>
  auth.some(
    (method) =>
      method.inject.some((part) => part.in === "body") || (method.type === "custom" && method.sign !== undefined)
  )

/**
 * The headers of a provider's answer that are returned to the caller; repeated ones are one list. The names `x-ratelimit-*`
 * are the service's own: the provider's limits are returned as `x-provider-ratelimit-*`.
 */
export const forwardedHeaders = (
  definition: Pick<ConnectorDefinition, "rateLimit">,
  headers: UnsignedRequest["headers"]
): { readonly [name: string]: string } => {
  const lists = headerLists(headers)
  return {
    ...Object.fromEntries(Object.entries(lists).filter(([name]) => !droppedAnswerHeaders.test(name))),
    ...providerLimits(definition, lists)
  }
}

const limitHeader = /^(?:x-)?ratelimit-(.+)$/

/** The provider's limits: every `x-ratelimit-*` and `ratelimit-*`, and those that the connector's definition names. */
const providerLimits = (
  { rateLimit }: Pick<ConnectorDefinition, "rateLimit">,
  lists: { readonly [name: string]: string }
): { readonly [name: string]: string } => {
  const limits = new Map<string, string>()
  for (const [name, value] of Object.entries(lists)) {
    const kind = limitHeader.exec(name)?.[1]
    if (kind !== undefined && (name.startsWith("x-") || !limits.has(kind))) limits.set(kind, value)
  }
  const named = rateLimit?.headers
  const usage = readUsage(textOf(lists, named?.usage))
  if (usage !== undefined) limits.set("limit", String(usage.limit)).set("remaining", String(usage.remaining))
  for (const kind of ["limit", "remaining", "reset"] as const) {
    const value = textOf(lists, named?.[kind])
    if (value !== undefined) limits.set(kind, value)
  }
  return Object.fromEntries([...limits].map(([kind, value]) => [`x-provider-ratelimit-${kind}`, value]))
}

const textOf = (lists: { readonly [name: string]: string }, name: string | undefined): string | undefined => {
  const key = name?.toLowerCase() ?? ""
  return Object.hasOwn(lists, key) ? lists[key] : undefined
}

const droppedAnswerHeaders =
  /^(?:connection|content-length|content-encoding|transfer-encoding|keep-alive|te|trailer|upgrade|set-cookie|proxy-.*|alt-svc|strict-transport-security|x-request-id|x-ratelimit-.*|access-control-.*|content-security-policy.*|x-content-type-options|clear-site-data)$/i

/** More rounds of decoding than any server makes. */
const maxDecodings = 8

/** Overlong forms of `.`, `/` and `\`, which are not valid UTF-8 but which some decoders accept; and `%u002e`. */
const overlong = /%(?:c[01]|e0%80|e0%81|f0%80%8[01]|u[0-9a-f]{4})/i

/** Full-width dots and slashes, which some file systems treat as the ASCII ones. */
const narrowForms: { readonly [letter: string]: string } = {
  "\uff0e": ".",
  "\uff0f": "/",
  "\uff3c": "\\",
  "\u2024": "."
}

/** One round of percent decoding; invalid UTF-8 becomes replacement characters. */
const decodeOnce = (text: string): string =>
  text
    .replace(/(?:%[0-9a-f]{2})+/gi, (run) => {
      const bytes = run
        .slice(1)
        .split("%")
        .map((hex) => Number.parseInt(hex, 16))
      return new TextDecoder().decode(Uint8Array.from(bytes))
    })
    .replace(/[\uff0e\uff0f\uff3c\u2024]/g, (letter) => narrowForms[letter] ?? letter)

const hasEscape = (text: string): boolean =>
  /[\\\p{Cc}]/u.test(text) || text.split("/").some((part) => /^\.{1,2}\s*$/.test(part.split(";")[0] ?? ""))

/** Whether the path escapes in any reading: after each round of decoding, encoded slashes separate parts like others. */
export const canEscape = (path: string): boolean => {
  let text = path
  for (let round = 0; round <= maxDecodings; round++) {
    if (overlong.test(text) || hasEscape(text)) return true
    const next = decodeOnce(text)
    if (next === text) return false
    text = next
  }
  return true
}
