/**
 * Reads a request's body as JSON and refuses what cannot be stored: other media types, too large or too deep values,
 * characters that Postgres does not take. Schemas decode the value afterwards.
 */
import { Either } from "effect"
import { InvalidRequest, invalid, PayloadTooLarge, UnsupportedMediaType, ValidationFailed } from "../domain/Failure.js"
import { type AskedText, memberAsked } from "../domain/AskedTexts.js"
import { type Json, findUnstorable, isObject, unstorableMessage } from "../domain/Json.js"
import { findProblem, type JsonProblem, locatedLength, tooHeavyMessage } from "../domain/JsonText.js"
import {
  firstRounded,
  hasLongDigits,
  isSchemaBound,
  readLargeIntegers,
  type RoundedIntegers
} from "../domain/LargeIntegers.js"
import type { RawRequest } from "./Wire.js"

/** Why a body is refused. */
export type BodyFailure = InvalidRequest | PayloadTooLarge | UnsupportedMediaType | ValidationFailed

const decoder = new TextDecoder("utf-8", { fatal: true })

/** The path of a member called `__proto__`, which decoding would drop silently. */
const findProtoMember = (value: Json, path = ""): string | undefined => {
  if (typeof value !== "object" || value === null) return undefined
  for (const [name, child] of Object.entries(value)) {
    const at = Array.isArray(value) ? `${path}[${name}]` : path === "" ? name : `${path}.${name}`
    const found = name === "__proto__" ? at : findProtoMember(child, at)
    if (found !== undefined) return found
  }
  return undefined
}

/** Whether a member of a JSON text may be called `__proto__`: the name as it is, or with characters written as escapes. */
const mayNameProto = (text: string): boolean => text.includes("__proto__") || text.includes("\\u")

/** Whether an integer at this path may be rounded: in a bound of a schema, and in a document that is imported. */
const mayBeRounded = (path: string): boolean => isSchemaBound(path) || path.startsWith("import.source")

/** The refusal of an integer that parsing would round. `how`: what keeps its digits. */
export const roundedRefusal = (path: string, how: string): ValidationFailed =>
  invalid(path, "INTEGER_ROUNDED", `is an integer beyond 2^53, which a number cannot hold: ${how}`)

/**
 * Like `readJson`, for a body that a schema decodes: also refuses a member called `__proto__`, and integers that a number
 * cannot hold. `keepsIntegers`: those are the handler's matter.
 */
export const readRecord = (request: RawRequest, limit: number, keepsIntegers = false) =>
  readJson(request, limit, (text, value) => {
    const at = mayNameProto(text) ? findProtoMember(value) : undefined
    if (at !== undefined)
      return Either.left(invalid(at, "NOT_STORABLE", "cannot be the name of a member: choose another"))
    const rounded = keepsIntegers || !hasLongDigits(request.body) ? undefined : firstRounded(text, mayBeRounded)
    return rounded === undefined ? Either.right(value) : Either.left(roundedRefusal(rounded, "send it as text"))
  })

/**
 * A member of a body that was read, with its integers beyond 2^53 as text where `asked` says so. `undefined`: the body has none
 * of them.
 */
export const exactMember = (
  { body }: Pick<RawRequest, "body">,
  name: string,
  asked: AskedText | undefined
): { readonly value: Json; readonly rounded: RoundedIntegers | undefined } | undefined => {
  if (!hasLongDigits(body)) return undefined
  const text = decoder.decode(body)
  const read = readLargeIntegers(text, memberAsked(name, asked))
  if (read.text === text && read.rounded === undefined) return undefined
  const value: Json = JSON.parse(read.text)
  return { value: isObject(value) ? (value[name] ?? null) : null, rounded: read.rounded }
}

const refused = (text: string, problem: JsonProblem): ValidationFailed => {
  const message = problem === "tooHeavy" ? tooHeavyMessage : unstorableMessage[problem]
  const isLocated = problem !== "tooHeavy" && problem !== "tooDeep" && text.length <= locatedLength
  const { path = "" } = (isLocated ? findUnstorable(JSON.parse(text)) : undefined) ?? {}
  return new ValidationFailed({
    code: "VALIDATION_FAILED",
    message: `${path === "" ? "the body" : path} ${message}`,
    details: [{ path, code: "NOT_STORABLE", message }]
  })
}

/**
 * The body's JSON value; `undefined` for an empty body. Left: why the body is refused. `limit`: bytes. `check`: a further check of the value. `rewrite`:
 * changes the text, whose weight and depth are within their bounds, before it is parsed.
 */
export const readJson = (
  request: RawRequest,
  limit: number,
  check: (text: string, value: Json) => Either.Either<Json, BodyFailure> = (_text, value) => Either.right(value),
  rewrite: (text: string) => string = (text) => text
): Either.Either<Json | undefined, BodyFailure> => {
  if (request.body.byteLength > limit) return Either.left(new PayloadTooLarge({ limitBytes: limit }))
  if (request.body.byteLength === 0) return Either.right(undefined)
  const type = request.headers["content-type"] ?? ""
  if (!/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type))
    return Either.left(new UnsupportedMediaType({ got: type.slice(0, 100) }))
  try {
    const text = decoder.decode(request.body)
    const problem = findProblem(text)
    if (problem !== undefined) return Either.left(refused(text, problem))
    const value: Json = JSON.parse(rewrite(text))
    return check(text, value)
  } catch (error) {
    const why = error instanceof SyntaxError ? error.message : "it is not UTF-8"
    return Either.left(
      new InvalidRequest({ code: "INVALID_REQUEST", message: `the body is not JSON: ${why.slice(0, 200)}` })
    )
  }
}
