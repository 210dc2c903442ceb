/** Where a connector's requests go: its base URL with the connection's config in it, and the origins that it may reach. */
import { Either } from "effect"
import type { Json, JsonObject } from "../Json.js"
import type { ActionDefinition } from "./Action.js"
import type { ConnectorDefinition } from "./Definition.js"
import { type CallMistake, hostValue, isDotSegment, mistake, pathValue } from "./Place.js"
import { evaluate, type Expression, template } from "./Template.js"
import { parseUrl } from "../Url.js"

/** `origin`: scheme, host and port. `path`: without a slash at its end; empty for none. */
export interface Base {
  readonly origin: string
  readonly path: string
}

export type Config = { readonly [name: string]: Json }

/** The base URL of one connection. */
export const baseOf = (
  definition: Pick<ConnectorDefinition, "baseUrl" | "transport">,
  config: Config
): Either.Either<Base, CallMistake> => urlBase(definition.baseUrl, definition.transport, { connection: { config } })

/** The base of an action: its own origin where its path is a whole URL, else the connector's. */
export const actionBase = (
  definition: Pick<ConnectorDefinition, "baseUrl" | "transport">,
  action: Pick<ActionDefinition, "request">,
  config: Config
): Either.Either<Base, CallMistake> => {
  const own = ownOrigin(action.request.path)
  return own === undefined ? baseOf(definition, config) : Either.right({ origin: own, path: "" })
}

/** The origin that a path names itself, in plain text: `https://uploads.example.com/files/{{args.id}}`. */
export const ownOrigin = (path: string): string | undefined =>
  /^https?:\/\/[a-z0-9.-]+(?::\d+)?(?=\/|$)/.exec(path)?.[0]

/** Every origin that requests of a connection go to: its credential is given to these and no others. */
export const originsOf = (
  definition: ConnectorDefinition,
  config: Config
): Either.Either<ReadonlyArray<string>, CallMistake> =>
  Either.map(baseOf(definition, config), ({ origin }) => [
    ...new Set([origin, ...definition.actions.flatMap((action) => ownOrigin(action.request.path) ?? [])])
  ])

const schemes = { http: /^https?:$/, smtp: /^smtps?:$/ } as const

/**
 * A URL of a definition (authorization, token …) with the config in it: every value stays in its place. A person's
 * browser is sent to some of them, hence `http` and `https` only.
 */
export const configuredUrl = (text: string, config: Config): Either.Either<string, CallMistake> =>
  Either.flatMap(written(text, { connection: { config } }), (url) => {
    const parsed = parseUrl(url)
    if (parsed === undefined) return mistake("url", "is no URL")
    const { protocol } = parsed
    return schemes.http.test(protocol) ? Either.right(url) : mistake("url", `has the scheme ${protocol}`)
  })

const urlBase = (text: string, transport: "http" | "smtp", scope: JsonObject): Either.Either<Base, CallMistake> =>
  Either.flatMap(written(text, scope), (url) => {
    const parsed = parseUrl(url)
    if (parsed === undefined) return mistake("baseUrl", "is no URL")
    const { hash, host, password, pathname, protocol, search, username } = parsed
    if (!schemes[transport].test(protocol)) return mistake("baseUrl", `has the scheme ${protocol}`)
    if (username !== "" || password !== "") return mistake("baseUrl", "names a user")
    if (host === "") return mistake("baseUrl", "names no host")
    if (search !== "" || hash !== "") return mistake("baseUrl", "has a query or a fragment")
    return Either.right({ origin: `${protocol}//${host}`, path: pathname.replace(/\/+$/, "") })
  })

/** Text and values in turn: what stands before a value tells whether it is a whole URL, part of a host or of a path. */
const written = (text: string, scope: JsonObject): Either.Either<string, CallMistake> => {
  let url = ""
  for (const part of template(text)) {
    if (part._tag === "Text") {
      url += part.text
      continue
    }
    const value = valueFor(url, evaluate(part.operands, scope), nameOf(part.operands))
    if (Either.isLeft(value)) return Either.left(value.left)
    url += value.right
  }
  return url.split(/[?#]/)[0]?.split("/").some(isDotSegment)
    ? mistake("baseUrl", 'has "." or ".." as a part')
    : Either.right(url)
}

const valueFor = (before: string, value: Json, path: string): Either.Either<string, CallMistake> => {
  if (before === "") return typeof value === "string" ? Either.right(value.trim()) : mistake(path, "is needed")
  if (!before.includes("://")) return mistake(path, "stands where a scheme is")
  if (before.includes("?")) return Either.right(encodeURIComponent(String(value ?? "").toWellFormed()))
  return /:\/\/[^/]*$/.test(before) ? hostValue(value, path) : pathValue(value, path, true)
}

/** What a mistake about an expression is told of. */
export const nameOf = (operands: Expression): string => {
  const [first] = operands
  return first?._tag === "Path" ? first.path.join(".") : "value"
}
