/** Reads the URLs of servers in an OpenAPI document, and tells in words what an import changes of them. */
import { isObject, type Json, type JsonObject } from "../../Json.js"
import { parseUrl } from "../../Url.js"
import { listAt, objectAt, textAt } from "./OpenApiDocument.js"

/** The server that an import takes. `warnings`: what it changes or leaves out, and what to do. */
export interface ServerChoice {
  readonly url: string
  readonly variables: JsonObject
  readonly warnings: ReadonlyArray<string>
}

/** The first server with HTTPS, or else the first. `remedy`: how another one is used. */
export const chooseServer = (given: ReadonlyArray<Json>, remedy: string): ServerChoice => {
  const servers = given.filter(isObject)
  const urlOf = (server: JsonObject) => withScheme(textAt(server, "url") ?? "/")
  const best = servers.find((server) => urlOf(server).startsWith("https://")) ?? servers[0] ?? {}
  const [url, variables] = [urlOf(best), objectAt(best, "variables")]
  const others = servers.filter((server) => toHttps(urlOf(server)) !== toHttps(url)).map(nameOf)
  const more = others.length > namedServers ? ` and ${others.length - namedServers} more` : ""
  return {
    url,
    variables,
    warnings: [
      ...(others.length === 0
        ? []
        : [`${url} is used, not ${others.slice(0, namedServers).join(", ")}${more}. ${remedy}`]),
      ...(isPlainScheme(textAt(best, "url") ?? "", variables) ? [tlsWarning(textAt(best, "url") ?? "", url)] : [])
    ]
  }
}

/** Servers that a warning names. */
const namedServers = 5

const nameOf = (server: JsonObject): string => {
  const description = textAt(server, "description")?.trim().replace(/\s+/g, " ").slice(0, 100)
  const url = (textAt(server, "url") ?? "/").trim().slice(0, 200)
  return description === undefined ? url : `${url} (${description})`
}

/** Replaces a variable scheme by HTTPS. */
const withScheme = (url: string) => url.trim().replace(/^\{[^{}]+\}:\/\//, "https://")

/** Whether the variable that stands for the scheme is http, without a choice of https. */
const isPlainScheme = (url: string, variables: JsonObject): boolean => {
  const [, name] = /^\s*\{([^{}]+)\}:\/\//.exec(url) ?? []
  if (name === undefined) return false
  const variable = objectAt(variables, name)
  return textAt(variable, "default") === "http" && !listAt(variable, "enum").includes("https")
}

const toHttps = (url: string) => url.trim().replace(/^http:\/\//i, "https://")

/** What an import says of an http:// URL. */
export const tlsWarning = (given: string, used: string): string =>
  `${given.trim()} is imported as ${used}, since credentials are sent over TLS only. If the server has no https://, calls fail: change the URL in the definition (http:// is for hosts that SVC_EGRESS_ALLOW covers).`

/** A server's URL. `absolute`: with HTTPS; absent: each connection has its base URL, to which `path` is added. */
export interface ServerUrl {
  readonly absolute?: string
  readonly path: string
  readonly isRelative: boolean
  readonly warnings: ReadonlyArray<string>
}

const isAbsolute = (url: string) => /^https:\/\/[^/\s?#@]+/i.test(url)

/** `api.example.com/v1`, `{host}:8080`: a URL whose author left the scheme out. */
const hasHost = (url: string) => /^(?:\{|[\w-]+(?:\.[\w-]+)*\.(?!json\b|ya?ml\b)[a-z]{2,}(?::\d+)?(?:\/|$))/i.test(url)

/** Reads a URL, always with HTTPS, so that a typing error in a document cannot disable TLS. `location`: of the document. */
export const readServerUrl = (given: string, location: string | undefined): ServerUrl => {
  const url = given.trim()
  const secure = toHttps(url).replace(/^\/\/(?=[^/])/, "https://")
  const [plain = ""] = secure.split(/[?#]/, 1)
  const dropped =
    plain === secure
      ? []
      : [`${secure.slice(plain.length)} is left out: a base URL has no query. Add it to the actions.`]
  if (isAbsolute(plain))
    return {
      absolute: plain,
      path: "",
      isRelative: false,
      warnings: [...(/^http:/i.test(url) ? [tlsWarning(url, plain)] : []), ...dropped]
    }
  if (hasHost(plain)) {
    const absolute = `https://${plain}`
    const warnings = [`${url} has no scheme: it is imported as ${absolute}.`, ...dropped]
    return { absolute, path: "", isRelative: false, warnings }
  }
  const address = location === undefined ? undefined : parseUrl(location)
  // A URL with another scheme, such as `wss://`, has no path that could be used.
  const isRelative = !/^[a-z][a-z\d+.-]*:/i.test(plain)
  const path = isRelative ? resolvePath(plain, address?.pathname ?? "/") : ""
  if (address === undefined || !isRelative) return { path, isRelative, warnings: [noAddress(url, path), ...dropped] }
  return { absolute: `https://${address.host}${path}`, path, isRelative, warnings: dropped }
}

const noAddress = (url: string, path: string): string =>
  `${url} has no address: each connection needs its base URL as connection.config.baseUrl${path === "/" || path === "" ? "." : `, to which ${path} is added.`}`

/** What an import says of a URL that it resolved against the document's. */
export const relativeWarnings = (
  url: string,
  { absolute, isRelative }: ServerUrl,
  location: string | undefined
): ReadonlyArray<string> =>
  !isRelative || absolute === undefined || location === undefined
    ? []
    : [
        `${url} is relative to the document, ${location}: it is imported as ${absolute}. If the system is elsewhere, change baseUrl in the definition.`,
        ...(/^http:/i.test(location) ? [tlsWarning(location, absolute)] : [])
      ]

/** The absolute path of a relative one, as a browser resolves it; variables stay as they are. */
const resolvePath = (path: string, base: string): string => {
  const from = path.startsWith("/") ? [] : base.split("/").slice(1, -1)
  const segments: Array<string> = []
  for (const segment of [...from, ...path.split("/")]) {
    if (segment === "..") segments.pop()
    else if (segment !== "" && segment !== ".") segments.push(segment)
  }
  return `/${segments.join("/")}`
}
