/**
 * Encodes values into path, query, headers and host of a request so that they cannot change its structure. Values that
 * cannot be encoded are refused.
 */
import { Data, Either } from "effect"
import { type Json, type JsonObject, isList, isObject } from "../../Json.js"
import { guest } from "../../Limits.js"
import type { ListStyle } from "../Action.js"
import { asText } from "../../expression/Template.js"

/** A mistake in the arguments or the config of a call. The message never has the value. */
export class CallMistake extends Data.TaggedError("CallMistake")<{
  /** `args.id`, `connection.config.subdomain` … or the part of the request. */
  readonly path: string
  readonly message: string
}> {}

/** A mistake as the left side of a result. */
export const callMistake = (path: string, message: string): Either.Either<never, CallMistake> =>
  Either.left(new CallMistake({ path, message }))

/**
 * A value in a path: one segment, or several with `many`. The items of a list are joined by commas, and their own commas are
 * encoded. Empty and dot segments and control characters are refused.
 */
export const encodePathValue = (value: Json, path: string, many: boolean): Either.Either<string, CallMistake> => {
  if (isObject(value)) return callMistake(path, "is an object, which cannot be a part of a path")
  const items = isList(value) ? value.map(asText) : [asText(value)]
  const text = items.join(",")
  if (text === "") return callMistake(path, "is required by the path and is empty")
  if (text.length > guest.fetchHead) return callMistake(path, `has more than ${guest.fetchHead} characters`)
  if (!text.isWellFormed() || hasControl(text)) return callMistake(path, "has characters that a path cannot hold")
  // Also for encoded slashes, since some servers decode before they resolve dot segments.
  const parts = text.split(/[/\\]/)
  if (parts.some(isDotSegment)) return callMistake(path, 'has "." or ".." as a part, which would change the path')
  if (!many) return Either.right(encodeItems(value))
  const segments = text.replace(/^\/+/, "").split("/")
  if (segments.some((segment, at) => segment === "" && at < segments.length - 1)) {
    return callMistake(path, "has an empty part")
  }
  const encoded = items.map((item) => item.split("/").map(encodeURIComponent).join("/")).join(",")
  return Either.right(encoded.replace(/^\/+/, ""))
}

/** A value that is a part of a host: letters, digits, hyphens and dots, optionally a port. */
export const checkHostValue = (value: Json, path: string): Either.Either<string, CallMistake> => {
  const text = asText(value)
  return /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?(?::\d{1,5})?$/.test(text) && !text.includes("..")
    ? Either.right(text)
    : callMistake(path, "is not a part of a host name")
}

/**
 * A parameter as encoded `name=value` pairs; none for null. In a list that is joined by commas the commas of its items are
 * encoded. Spaces, pipes and tabs are encoded between the items as within them: an item that has the one that joins the
 * list is refused.
 */
export const encodeQueryPairs = (
  name: string,
  value: Json,
  style: ListStyle,
  path: string
): Either.Either<ReadonlyArray<string>, CallMistake> => {
  if (value === null) return Either.right([])
  const pairs = pairsOf(name, value, style)
  const joint = ambiguousJoints[style]
  if (
    joint !== undefined &&
    pairs.some(({ isJoined, parts }) => isJoined && parts.some((item) => item.includes(joint.character)))
  )
    return callMistake(
      path,
      `has an item with a ${joint.name} in it, which also joins the items: send one without, or change the style "${style}" of this list`
    )
  return pairs.every((pair) => pair.name.isWellFormed() && pair.parts.every((part) => part.isWellFormed()))
    ? Either.right(
        pairs.map((pair) => {
          const parts = pair.parts.map(pair.isJoined ? encodeItem : encodeQueryText)
          return `${encodeQueryText(pair.name)}=${parts.join(separators[style] ?? "")}`
        })
      )
    : callMistake(path, "is not valid Unicode")
}

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/

/** Headers of HTTP framing, which only the sender can set. */
const framingHeaders = new Set(
  "connection content-length expect host keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding upgrade".split(
    " "
  )
)

/** A header's name in lower case and its value. */
export const encodeHeader = (
  name: string,
  value: Json,
  path: string
): Either.Either<readonly [string, string], CallMistake> => {
  const key = name.toLowerCase()
  if (!headerName.test(name)) return callMistake(path, "is not a header name")
  if (framingHeaders.has(key)) return callMistake(path, `the header ${key} is set by the service and cannot be sent`)
  const text = isList(value) ? value.map(asText).join(", ") : asText(value)
  return isHeaderText(text)
    ? Either.right([key, text.trim()])
    : callMistake(path, "has characters that a header cannot hold")
}

/** Whether a text can be the name of a header or a cookie. */
export const isHeaderName = (name: string): boolean => headerName.test(name)

/** A value as one percent-encoded text; the items of a list are joined by commas, and their own commas are encoded. */
export const encodeItems = (value: Json): string =>
  (isList(value) ? value : [value]).map((item) => encodeURIComponent(asText(item).toWellFormed())).join(",")

/** Cookies as `name=value`, encoded so that no value adds another one; none for null. */
export const encodeCookies = (cookies: JsonObject): ReadonlyArray<string> =>
  Object.entries(cookies).flatMap(([name, value]) => (value === null ? [] : [`${name}=${encodeItems(value)}`]))

/** Whether a text can be a header's value: Latin-1 without line breaks and other control characters. */
export const isHeaderText = (text: string): boolean => /^[\t\x20-\x7e\x80-\xff]*$/.test(text)

/** Whether a segment is `.` or `..`, also percent-encoded. */
export const isDotSegment = (segment: string): boolean => /^(?:\.|%2e){1,2}$/i.test(segment)

const hasControl = (text: string) => /\p{Cc}/u.test(text)
const encodeItem = (text: string) => encodeURIComponent(text).replace(/%3A/g, ":")
/** Leaves `:` and `,` unencoded, which have no meaning in a query. */
const encodeQueryText = (text: string) => encodeItem(text).replace(/%2C/g, ",")

const separators: { readonly [style in ListStyle]?: string } = { comma: ",", space: "%20", pipe: "%7C", tab: "%09" }

/** The characters that join a list and can be told from those of its items by no encoding. */
const ambiguousJoints: { readonly [style in ListStyle]?: { readonly character: string; readonly name: string } } = {
  space: { character: " ", name: "space" },
  pipe: { character: "|", name: "pipe (|)" },
  tab: { character: "\t", name: "tab" }
}

/** `isJoined`: the parts are items of a list, which a separator joins. */
interface Pair {
  readonly name: string
  readonly parts: ReadonlyArray<string>
  readonly isJoined: boolean
}

const onePair = (name: string, text: string): ReadonlyArray<Pair> => [{ name, parts: [text], isJoined: false }]

const pairsOf = (name: string, value: Json, style: ListStyle): ReadonlyArray<Pair> => {
  if (typeof value !== "object" || value === null) return value === null ? [] : onePair(name, asText(value))
  if (style === "json") return onePair(name, JSON.stringify(value))
  if (isList(value)) {
    if (separators[style] !== undefined)
      return value.length === 0 ? [] : [{ name, parts: value.map(asText), isJoined: true }]
    return value.flatMap((item, at) => pairsOf(`${name}${itemSuffix(style, at)}`, item, style))
  }
  return Object.entries(value).flatMap(([member, child]) =>
    style === "members" ? pairsOf(member, child, "repeat") : pairsOf(`${name}[${member}]`, child, style)
  )
}

const itemSuffix = (style: ListStyle, at: number): string => {
  if (style === "repeat" || style === "members") return ""
  return style === "indexed" ? `[${at}]` : "[]"
}
