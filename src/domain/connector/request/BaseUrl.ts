/** Resolves a connector's base URL and other URLs with a connection's config, and the origins that requests may reach. */
import { Either } from "effect"
import type { Json, JsonObject } from "../../Json.js"
import type { ActionDefinition } from "../Action.js"
import type { ConnectorDefinition } from "../Definition.js"
import { type CallMistake, checkHostValue, isDotSegment, callMistake, encodePathValue } from "./ValueEncoding.js"
import { evaluate, type Expression, cachedTemplate } from "../../expression/Template.js"
import { parseUrl } from "../../Url.js"

/** A resolved base URL. `origin`: scheme, host and port. `path`: without a final slash; empty for none. */
export interface BaseUrl {
  readonly origin: string
  readonly path: string
}

/** The values of a connection's config. */
export type ConfigValues = { readonly [name: string]: Json }

/** The base URL of one connection. */
export const resolveBaseUrl = (
  definition: Pick<ConnectorDefinition, "baseUrl" | "transport">,
  config: ConfigValues
): Either.Either<BaseUrl, CallMistake> => urlBase(definition.baseUrl, definition.transport, { connection: { config } })

/** The base URL of an action: its own origin if its path is a full URL, else the connector's. */
export const actionBaseUrl = (
  definition: Pick<ConnectorDefinition, "baseUrl" | "transport">,
  action: Pick<ActionDefinition, "request">,
  config: ConfigValues
): Either.Either<BaseUrl, CallMistake> => {
  const own = ownOrigin(action.request.path)
  return own === undefined ? resolveBaseUrl(definition, config) : Either.right({ origin: own, path: "" })
}

/** The origin in a path that is a full URL: `https://uploads.example.com/files/{{args.id}}`. */
export const ownOrigin = (path: string): string | undefined =>
  /^https?:\/\/[a-z0-9.-]+(?::\d+)?(?=\/|$)/.exec(path)?.[0]

/** All origins of a connection's requests; its credential is sent to no others. */
export const connectionOrigins = (
  definition: ConnectorDefinition,
  config: ConfigValues
): Either.Either<ReadonlyArray<string>, CallMistake> =>
  Either.map(resolveBaseUrl(definition, config), ({ origin }) => [
    ...new Set([origin, ...definition.actions.flatMap((action) => ownOrigin(action.request.path) ?? [])])
  ])

const schemes = { http: /^https?:$/, smtp: /^smtps?:$/ } as const

/**
 * A URL of a definition (authorization, token …) with the config filled in. Only `http` and `https` are allowed, since
 * browsers are redirected to some of these URLs.
 */
export const configuredUrl = (text: string, config: ConfigValues): Either.Either<string, CallMistake> =>
  Either.flatMap(renderUrl(text, { connection: { config } }), (url) => {
    const parsed = parseUrl(url)
    if (parsed === undefined) return callMistake("url", "is not a URL")
    const { protocol } = parsed
    return schemes.http.test(protocol) ? Either.right(url) : callMistake("url", `has the scheme ${protocol}`)
  })

const urlBase = (text: string, transport: "http" | "smtp", scope: JsonObject): Either.Either<BaseUrl, CallMistake> =>
  Either.flatMap(renderUrl(text, scope), (url) => {
    const parsed = parseUrl(url)
    if (parsed === undefined) return callMistake("baseUrl", "is not a URL")
    const { hash, host, password, pathname, protocol, search, username } = parsed
    if (!schemes[transport].test(protocol)) return callMistake("baseUrl", `has the scheme ${protocol}`)
    if (username !== "" || password !== "") return callMistake("baseUrl", "names a user")
    if (host === "") return callMistake("baseUrl", "names no host")
    if (search !== "" || hash !== "") return callMistake("baseUrl", "has a query or a fragment")
    return Either.right({ origin: `${protocol}//${host}`, path: pathname.replace(/(?<!\/)\/+$/, "") })
  })

/** Renders text and values in order; the text before a value tells whether it is a full URL, a part of the host or of the path. */
const renderUrl = (text: string, scope: JsonObject): Either.Either<string, CallMistake> => {
  let url = ""
  for (const part of cachedTemplate(text)) {
    if (part._tag === "Text") {
      url += part.text
      continue
    }
    const value = valueFor(url, evaluate(part.operands, scope), expressionName(part.operands))
    if (Either.isLeft(value)) return Either.left(value.left)
    url += value.right
  }
  return url.split(/[?#]/)[0]?.split("/").some(isDotSegment)
    ? callMistake("baseUrl", 'has "." or ".." as a part')
    : Either.right(url)
}

const valueFor = (before: string, value: Json, path: string): Either.Either<string, CallMistake> => {
  if (before === "") return typeof value === "string" ? Either.right(value.trim()) : callMistake(path, "is required")
  if (!before.includes("://")) return callMistake(path, "cannot be a part of the scheme")
  if (before.includes("?")) return Either.right(encodeURIComponent(String(value ?? "").toWellFormed()))
  return /:\/\/[^/]*$/.test(before) ? checkHostValue(value, path) : encodePathValue(value, path, true)
}

/** The name of an expression in a mistake: its first path. */
export const expressionName = (operands: Expression): string => {
  const [first] = operands
  return first?._tag === "Path" ? first.path.join(".") : "value"
}
