/**
 * A request that somebody writes for a provider, passed through a connection: its target below the connector's base
 * URL, and the headers that may go along. Pure. Contract: proxy.
 */
import { Either } from "effect"
import { resolveBaseUrl, type ConfigValues } from "./BaseUrl.js"
import type { UnsignedRequest } from "./UnsignedRequest.js"
import type { ConnectorDefinition } from "./Definition.js"
import { canEscape } from "./PathEscape.js"
import { type CallMistake, callMistake } from "./ValueEncoding.js"
import { parseUrl } from "../Url.js"

export interface ProxyRequest {
  readonly method: string
  /** Path and query as they were sent, without a slash at the beginning. */
  readonly target: string
  readonly headers: { readonly [name: string]: string }
  /** `null`: none, or one that is sent on while it comes. */
  readonly body: Uint8Array | null
  readonly timeoutMillis: number
}

/** What belongs to the way here, or says who asked: nothing of it concerns the provider. */
const droppedRequestHeaders =
  /^(?:host|connection|content-length|transfer-encoding|keep-alive|te|trailer|upgrade|expect|authorization|cookie|forwarded|via|idempotency-key|traceparent|tracestate|baggage|accept-encoding|proxy-.*|x-svc-.*|x-forwarded-.*|x-org-id|x-user-id|x-end-org-.*|x-installation-id|x-identity-.*|x-api-key|x-real-ip)$/

/** The idempotency key goes along where the caller sent one: it is the provider's to judge. */
export const buildProxyRequest = (
  definition: ConnectorDefinition,
  config: ConfigValues,
  passed: ProxyRequest
): Either.Either<UnsignedRequest, CallMistake> =>
  Either.flatMap(resolveBaseUrl(definition, config), ({ origin, path }) => {
    const [resource = "", ...query] = passed.target.split("?")
    if (/[\s#]|%2f/i.test(resource) || resource.includes("//") || canEscape(resource))
      return callMistake(
        "path",
        'has ".." in some spelling, an empty part, a backslash or an encoded slash: it must lie below the connector\'s base URL'
      )
    if (definition.transport !== "http") return callMistake("connector", "does not speak HTTP")
    const url = `${origin}${path}/${resource}${query.length === 0 ? "" : `?${query.join("?")}`}`
    if (parseUrl(url)?.origin !== origin) return callMistake("path", "makes no URL")
    const idempotency = passed.headers["idempotency-key"]
    return Either.right({
      method: passed.method,
      url,
      origin,
      headers: [
        ...Object.entries(passed.headers).filter(([name]) => !droppedRequestHeaders.test(name)),
        ...(idempotency === undefined ? [] : [["idempotency-key", idempotency] as const])
      ],
      body: passed.body?.length === 0 ? null : passed.body,
      timeoutMillis: passed.timeoutMillis
    })
  })

/** Whether a request can be sent only when its body is known: a credential goes into it, or it is signed. */
export const needsWholeBody = ({ auth }: ConnectorDefinition): boolean =>
  auth.some(
    (method) =>
      method.inject.some((part) => part.in === "body") || (method.type === "custom" && method.sign !== undefined)
  )

/** Headers of an answer that may go back to the caller. */
export const forwardedHeaders = (headers: UnsignedRequest["headers"]): { readonly [name: string]: string } =>
  Object.fromEntries(
    headers.filter(([name]) => !droppedAnswerHeaders.test(name)).map(([name, value]) => [name.toLowerCase(), value])
  )

const droppedAnswerHeaders =
  /^(?:connection|content-length|content-encoding|transfer-encoding|keep-alive|te|trailer|upgrade|set-cookie|proxy-.*|alt-svc|strict-transport-security|x-request-id|x-ratelimit-.*|access-control-.*)$/i
