/** Where a connector's requests go: its base URL with the connection's config in it, and the origins that it may reach. */
import { Either } from "effect"
import type { Json, JsonObject } from "../Json.js"
import type { ActionDefinition } from "./Action.js"
import type { ConnectorDefinition } from "./Definition.js"
import { type CallMistake, checkHostValue, isDotSegment, callMistake, encodePathValue } from "./ValueEncoding.js"
import { evaluate, type Expression, cachedTemplate } from "./Template.js"
import { parseUrl } from "../Url.js"

/** `origin`: scheme, host and port. `path`: without a slash at its end; empty for none. */
export interface BaseUrl {
  readonly origin: string
  readonly path: string
}

export type ConfigValues = { readonly [name: string]: Json }

/** The base URL of one connection. */
export const resolveBaseUrl = (
  definition: Pick<ConnectorDefinition, "baseUrl" | "transport">,
  config: ConfigValues
): Either.Either<BaseUrl, CallMistake> => urlBase(definition.baseUrl, definition.transport, { connection: { config } })

/** The base of an action: its own origin where its path is a whole URL, else the connector's. */
export const actionBaseUrl = (
  definition: Pick<ConnectorDefinition, "baseUrl" | "transport">,
  action: Pick<ActionDefinition, "request">,
  config: ConfigValues
): Either.Either<BaseUrl, CallMistake> => {
  const own = ownOrigin(action.request.path)
  return own === undefined ? resolveBaseUrl(definition, config) : Either.right({ origin: own, path: "" })
}

/** The origin that a path names itself, in plain text: `https://uploads.example.com/files/{{args.id}}`. */
export const ownOrigin = (path: string): string | undefined =>
  /^https?:\/\/[a-z0-9.-]+(?::\d+)?(?=\/|$)/.exec(path)?.[0]

/** Every origin that requests of a connection go to: its credential is given to these and no others. */
export const connectionOrigins = (
  definition: ConnectorDefinition,
  config: ConfigValues
): Either.Either<ReadonlyArray<string>, CallMistake> =>
  Either.map(resolveBaseUrl(definition, config), ({ origin }) => [
    ...new Set([origin, ...definition.actions.flatMap((action) => ownOrigin(action.request.path) ?? [])])
  ])

const schemes = { http: /^https?:$/, smtp: /^smtps?:$/ } as const

/**
 * A URL of a definition (authorization, token …) with the config in it: every value stays in its place. A person's
 * browser is sent to some of them, hence `http` and `https` only.
 */
export const configuredUrl = (text: string, config: ConfigValues): Either.Either<string, CallMistake> =>
  Either.flatMap(renderUrl(text, { connection: { config } }), (url) => {
    const parsed = parseUrl(url)
    if (parsed === undefined) return callMistake("url", "is no URL")
    const { protocol } = parsed
    return schemes.http.test(protocol) ? Either.right(url) : callMistake("url", `has the scheme ${protocol}`)
  })

const urlBase = (text: string, transport: "http" | "smtp", scope: JsonObject): Either.Either<BaseUrl, CallMistake> =>
  Either.flatMap(renderUrl(text, scope), (url) => {
    const parsed = parseUrl(url)
    if (parsed === undefined) return callMistake("baseUrl", "is no URL")
    const { hash, host, password, pathname, protocol, search, username } = parsed
    if (!schemes[transport].test(protocol)) return callMistake("baseUrl", `has the scheme ${protocol}`)
    if (username !== "" || password !== "") return callMistake("baseUrl", "names a user")
    if (host === "") return callMistake("baseUrl", "names no host")
    if (search !== "" || hash !== "") return callMistake("baseUrl", "has a query or a fragment")
    return Either.right({ origin: `${protocol}//${host}`, path: pathname.replace(/\/+$/, "") })
  })

/** Text and values in turn: what stands before a value tells whether it is a whole URL, part of a host or of a path. */
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
  if (before === "") return typeof value === "string" ? Either.right(value.trim()) : callMistake(path, "is needed")
  if (!before.includes("://")) return callMistake(path, "stands where a scheme is")
  if (before.includes("?")) return Either.right(encodeURIComponent(String(value ?? "").toWellFormed()))
  return /:\/\/[^/]*$/.test(before) ? checkHostValue(value, path) : encodePathValue(value, path, true)
}

/** What a mistake about an expression is told of. */
export const expressionName = (operands: Expression): string => {
  const [first] = operands
  return first?._tag === "Path" ? first.path.join(".") : "value"
}
