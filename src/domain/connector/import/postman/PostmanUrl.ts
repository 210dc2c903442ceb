/** Reads the URLs of a Postman collection's requests, and what they have in common: the base URL. */
import { redacted } from "../../../access/SecretNames.js"
import { isList, isObject, type Json, type JsonObject } from "../../../Json.js"
import { parseUrl } from "../../../Url.js"
import { isDotSegment } from "../../request/ValueEncoding.js"
import { listAt, textAt } from "../OpenApiDocument.js"
import { descriptionOf } from "./PostmanDocument.js"
import { fill, reference, type VariableValue } from "./PostmanVariables.js"

/** A parameter in the query of a request. */
export interface QueryMember {
  readonly name: string
  readonly description: string | undefined
}

/** A request's URL, with variables as `{{name}}`. */
export interface RequestUrl {
  /** Scheme and host; empty without an address. */
  readonly head: string
  readonly segments: ReadonlyArray<string>
  readonly query: ReadonlyArray<QueryMember>
  /** Descriptions of the path's variables. */
  readonly descriptions: ReadonlyMap<string, string>
  /** What is changed of it. */
  readonly warnings: ReadonlyArray<string>
}

/** A server as in an OpenAPI document. */
export interface CollectionServer extends JsonObject {
  readonly url: string
  readonly variables: JsonObject
}

const joined = (value: Json | undefined, separator: string): string =>
  (isList(value) ? value : value === undefined || value === null ? [] : [value])
    .map((part) => (isObject(part) ? (textAt(part, "value") ?? "") : typeof part === "object" ? "" : String(part)))
    .join(separator)

/** The URL as one text, without a query that the object has as a list. */
const textOfUrl = (url: JsonObject): string => {
  const host = joined(url["host"], ".")
  const path = joined(url["path"], "/").replace(/^\//, "")
  if (host === "" && path === "") return textAt(url, "raw") ?? ""
  const protocol = textAt(url, "protocol")?.replace(/:?\/*$/, "")
  const port = joined(url["port"], "")
  const scheme = protocol === undefined || /^[^/]*:\/\//.test(host) ? "" : `${protocol}://`
  const rest = path.replaceAll("?", "%3F").replaceAll("#", "%23")
  return `${scheme}${host}${port === "" ? "" : `:${port}`}${path === "" ? "" : `/${rest}`}`
}

/** A text that begins with a variable whose value is a URL, with that value. */
const withBase = (text: string, valueOf: VariableValue): string => {
  const [whole, name] = /^\{\{\s*([^{}]*?)\s*\}\}/.exec(text) ?? []
  const value = name === undefined ? undefined : valueOf(name)?.trim()
  if (whole === undefined || value === undefined || !/^https?:\/\/./i.test(value)) return text
  const rest = text.slice(whole.length)
  const base = value.split(/[?#]/, 1)[0] ?? ""
  return base.endsWith("/") ? `${base}${rest.replace(/^\//, "")}` : `${base}${rest}`
}

/** Reads a URL in any form of the collection format. */
export const readRequestUrl = (given: Json | undefined, valueOf: VariableValue): RequestUrl => {
  const url = isObject(given) ? given : { raw: typeof given === "string" ? given : "" }
  const [plain = ""] = withBase(textOfUrl(url).trim(), valueOf).split("#", 1)
  const [address = "", ...search] = plain.split("?")
  const [, scheme = "", host = "", path = ""] =
    /^((?:[a-z][a-z\d+.-]*|\{\{[^{}]*\}\}):\/\/)?([^/]*)(.*)$/is.exec(address) ?? []
  const login = /^.*@/.exec(host)?.[0] ?? ""
  const { head, warnings } = checkHead(scheme, host.slice(login.length))
  const listed = listAt(url, "query").filter(isObject)
  return {
    head,
    segments: segmentsOf(path),
    query: listed.length > 0 ? listed.flatMap(memberOf) : queryNames(search.join("?")),
    descriptions: new Map(
      listAt(url, "variable").flatMap((one) => {
        if (!isObject(one)) return []
        const [name, description] = [textAt(one, "key") ?? textAt(one, "id"), descriptionOf(one, 1_000)]
        return name === undefined || description === undefined ? [] : [[name, description] as const]
      })
    ),
    warnings: [
      ...(login === ""
        ? []
        : ["has a user name or password in the URL, which is left out: it is sent as a credential."]),
      ...warnings
    ]
  }
}

/** The names of the parameters in the text of a query or a form. */
export const queryNames = (text: string): ReadonlyArray<QueryMember> =>
  text.split("&").flatMap((pair) => {
    const name = decodeOrKeep((pair.split("=", 1)[0] ?? "").replaceAll("+", " ")).trim()
    return name === "" || name.includes("{{") ? [] : [{ name, description: undefined }]
  })

/** The parameter of a list's entry; one whose name is a variable has none. */
const memberOf = (one: JsonObject): ReadonlyArray<QueryMember> => {
  const name = textAt(one, "key")?.trim()
  return name === undefined || name.includes("{{") ? [] : [{ name, description: descriptionOf(one, 1_000) }]
}

const decodeOrKeep = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The parts of a path without `.` and `..`, and without braces that are no variable's. */
const segmentsOf = (path: string): ReadonlyArray<string> => {
  if (path === "") return []
  const segments: Array<string> = []
  for (const part of path.slice(1).split(/[/\\]/)) {
    const segment = part.replace(/(\{\{[^{}]*\}\}|\{[^{}]+\})|[{}]/g, (_whole, variable: string = "") => variable)
    if (!isDotSegment(segment)) segments.push(segment)
    else if (/^(?:\.|%2e){2}$/i.test(segment)) segments.pop()
  }
  return segments
}

const checkHead = (scheme: string, host: string) => {
  if (host === "") return { head: "", warnings: [] }
  const shown = `${scheme}${host}`.slice(0, 200)
  if (!/^(?:https?:\/\/|\{\{[^{}]*\}\}:\/\/|)$/i.test(scheme)) return { head: "", warnings: [`${shown} ${noHttp}`] }
  const ascii = host.includes("{") ? host : (parseUrl(`https://${host}`)?.host ?? host)
  // `localhost:3000`: Postman sends it without TLS.
  const full = scheme === "" && /^[\w-]+(?::\d+)?$/.test(ascii) ? "http://" : scheme.replace(/^https?:/i, lowerCase)
  const probe = ascii.replace(reference, "x").replace(/\{[^{}]+\}/g, "x")
  const isHost = /^[\w.-]+(?::\d+)?$/.test(probe) && parseUrl(`https://${probe}`) !== undefined
  return isHost && !host.includes(redacted)
    ? { head: `${full}${ascii}`, warnings: [] }
    : { head: "", warnings: [`${shown} is no valid address: the request is sent to the connector's base URL.`] }
}

const lowerCase = (text: string) => text.toLowerCase()

const noHttp = "is no address of HTTP: the request is sent to the connector's base URL."

/** The name that a variable has as an argument or member of the config. */
export const variableName = (name: string): string => {
  const plain = name
    .replace(/[{}:*+?\\"]/g, "_")
    .trim()
    .slice(0, 100)
  return plain === "" ? "value" : plain === "__proto__" ? "proto" : plain
}

const configName = (name: string): string => variableName(name).replace(/^(?=\d)/, "_")

const literal = (text: string) => encodeURI(text.toWellFormed()).replace(/%25/g, "%")

/** A segment of a path as OpenAPI writes it: with `{name}` for `:name`, `{{name}}` and `{name}`. */
export const segmentTemplate = (segment: string): string => {
  if (segment.includes(redacted)) return "{secret}"
  const [, name, rest = ""] = /^:([\p{L}_$][\p{L}\d_$-]*)(.*)$/su.exec(segment) ?? []
  return name === undefined ? braced(segment, variableName) : `{${variableName(name)}}${braced(rest, variableName)}`
}

const braced = (text: string, nameOf: (name: string) => string): string =>
  text
    .split(/(\{\{[^{}]*\}\}|\{[^{}]+\})/)
    .map((part, at) =>
      at % 2 === 0 ? literal(part.replace(/[{}]/g, "")) : `{${nameOf(part.replace(/[{}]/g, "").trim())}}`
    )
    .join("")

/** The names in a path's template. */
export const namesIn = (path: string): ReadonlyArray<string> => [
  ...new Set([...path.matchAll(/\{([^{}]+)\}/g)].map(([, name = ""]) => name))
]

/** A server with this address and beginning of the path, and the values of its variables as defaults. */
export const serverOf = (head: string, prefix: ReadonlyArray<string>, valueOf: VariableValue): CollectionServer => {
  const text = [head, ...prefix].join("/")
  const variables = [...text.matchAll(reference)].map(([, name = ""]): readonly [string, JsonObject] => {
    const value = fill(`{{${name}}}`, valueOf)
    return [configName(name), value === undefined || /[\p{Cc}\s"\\]/u.test(value) ? {} : { default: value }]
  })
  const [scheme = "", rest = ""] = /^([^/]*:\/\/)?(.*)$/s.exec(text)?.slice(1) ?? []
  return { url: `${braced(scheme, configName)}${braced(rest, configName)}`, variables: Object.fromEntries(variables) }
}

/** What the requests have in common: the most frequent address, and the beginning of its paths. */
export const commonBase = (urls: ReadonlyArray<RequestUrl>, valueOf: VariableValue) => {
  const counts = new Map<string, number>()
  for (const { head } of urls) if (head !== "") counts.set(head, (counts.get(head) ?? 0) + 1)
  const head = [...counts].reduce((best, one) => (one[1] > best[1] ? one : best), ["", 0] as const)[0]
  const paths = urls.filter((url) => url.head === head || url.head === "").map(({ segments }) => segments)
  const [first = []] = paths
  // The last part stays in the action.
  const longest = paths.reduce((least, path) => Math.min(least, path.length - 1), Infinity)
  let length = 0
  while (length < longest && isFixed(first[length], valueOf) && paths.every((path) => path[length] === first[length]))
    length++
  return { head, prefix: first.slice(0, length) }
}

/** Whether a part of the path is text, or a variable that has a value. */
const isFixed = (segment: string | undefined, valueOf: VariableValue): boolean =>
  segment !== undefined &&
  segment !== "" &&
  !segment.startsWith(":") &&
  !segment.includes(redacted) &&
  !/[{}]/.test(segment.replace(reference, (whole) => (fill(whole, valueOf) === undefined ? whole : "")))
