/**
 * Encodes values into path, query, headers and host of a request so that they cannot change its structure. Values that
 * cannot be encoded are refused.
 */
import { Data, Either } from "effect"
import { type Json, isList, isObject } from "../../Json.js"
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

/** A value in a path: one segment, or several with `many`. Empty and dot segments and control characters are refused. */
export const encodePathValue = (value: Json, path: string, many: boolean): Either.Either<string, CallMistake> => {
  if (isObject(value)) return callMistake(path, "is an object, which cannot be a part of a path")
  const text = isList(value) ? value.map(asText).join(",") : asText(value)
  if (text === "") return callMistake(path, "is required by the path and is empty")
  if (text.length > guest.fetchHead) return callMistake(path, `has more than ${guest.fetchHead} characters`)
  if (!text.isWellFormed() || hasControl(text)) return callMistake(path, "has characters that a path cannot hold")
  // Also for encoded slashes, since some servers decode before they resolve dot segments.
  const parts = text.split(/[/\\]/)
  if (parts.some(isDotSegment)) return callMistake(path, 'has "." or ".." as a part, which would change the path')
  if (!many) return Either.right(encodeURIComponent(text))
  const segments = text.replace(/^\/+/, "").split("/")
  if (segments.some((segment, at) => segment === "" && at < segments.length - 1)) {
    return callMistake(path, "has an empty part")
  }
  return Either.right(segments.map((segment) => encodeURIComponent(segment)).join("/"))
}

/** A value that is a part of a host: letters, digits, hyphens and dots, optionally a port. */
export const checkHostValue = (value: Json, path: string): Either.Either<string, CallMistake> => {
  const text = asText(value)
  return /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?(?::\d{1,5})?$/.test(text) && !text.includes("..")
    ? Either.right(text)
    : callMistake(path, "is not a part of a host name")
}

/** A parameter as encoded `name=value` pairs; none for null. */
export const encodeQueryPairs = (
  name: string,
  value: Json,
  style: ListStyle,
  path: string
): Either.Either<ReadonlyArray<string>, CallMistake> => {
  if (value === null) return Either.right([])
  const pairs = pairsOf(name, value, style)
  return pairs.every(([key, text]) => key.isWellFormed() && text.every((part) => part.isWellFormed()))
    ? Either.right(
        pairs.map(([key, text]) => `${encodeQueryText(key)}=${text.map(encodeQueryText).join(separators[style] ?? "")}`)
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

/** Whether a text can be a header's value: Latin-1 without line breaks and other control characters. */
export const isHeaderText = (text: string): boolean => /^[\t\x20-\x7e\x80-\xff]*$/.test(text)

/** Whether a segment is `.` or `..`, also percent-encoded. */
export const isDotSegment = (segment: string): boolean => /^(?:\.|%2e){1,2}$/i.test(segment)

const hasControl = (text: string) => /\p{Cc}/u.test(text)
/** Leaves `:` and `,` unencoded, which have no meaning in a query. */
const encodeQueryText = (text: string) => encodeURIComponent(text).replace(/%3A/g, ":").replace(/%2C/g, ",")

const separators: { readonly [style in ListStyle]?: string } = { comma: ",", space: "%20", pipe: "%7C" }

type Pair = readonly [name: string, parts: ReadonlyArray<string>]

const pairsOf = (name: string, value: Json, style: ListStyle): ReadonlyArray<Pair> => {
  if (typeof value !== "object" || value === null) return value === null ? [] : [[name, [asText(value)]]]
  if (style === "json") return [[name, [JSON.stringify(value)]]]
  if (isList(value)) {
    if (separators[style] !== undefined) return value.length === 0 ? [] : [[name, value.map(asText)]]
    return value.flatMap((item, at) =>
      pairsOf(style === "repeat" ? name : `${name}[${style === "indexed" ? at : ""}]`, item, style)
    )
  }
  return Object.entries(value).flatMap(([member, child]) => pairsOf(`${name}[${member}]`, child, style))
}
