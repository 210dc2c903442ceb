/**
 * Builds the request that the proxy forwards to a provider: a target below the connector's base URL, and the headers that
 * may be forwarded in both directions. Pure. Contract: proxy.
 */
import { Either } from "effect"
import { resolveBaseUrl, type ConfigValues } from "./BaseUrl.js"
import type { UnsignedRequest } from "./UnsignedRequest.js"
import type { ConnectorDefinition } from "../Definition.js"
import { canEscape } from "../expression/PathEscape.js"
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
    if (/[\s#]|%2f/i.test(resource) || resource.includes("//") || canEscape(resource))
      return callMistake(
        "path",
        'has ".." in some spelling, an empty part, a backslash or an encoded slash: it must be below the connector\'s base URL'
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

/** The headers of a provider's answer that are returned to the caller. */
export const forwardedHeaders = (headers: UnsignedRequest["headers"]): { readonly [name: string]: string } =>
  Object.fromEntries(
    headers.filter(([name]) => !droppedAnswerHeaders.test(name)).map(([name, value]) => [name.toLowerCase(), value])
  )

const droppedAnswerHeaders =
  /^(?:connection|content-length|content-encoding|transfer-encoding|keep-alive|te|trailer|upgrade|set-cookie|proxy-.*|alt-svc|strict-transport-security|x-request-id|x-ratelimit-.*|access-control-.*)$/i
