/** Reads the body of a webhook: JSON, or a form as an object of its fields. */
import { Either } from "effect"
import type { WebhookPayload } from "../../actors/management/event/WebhookDelivery.js"
import type { AskedText } from "../../domain/AskedTexts.js"
import { charsetOf, formDecoder } from "../../domain/CharacterSets.js"
import { InvalidRequest, PayloadTooLarge, UnsupportedMediaType, ValidationFailed } from "../../domain/Failure.js"
import type { Json } from "../../domain/Json.js"
import {
  exactIntegerBytes,
  hasLongDigits,
  readLargeIntegers,
  type RoundedIntegers
} from "../../domain/LargeIntegers.js"
import { webhookForm } from "../../domain/Limits.js"
import { bodyForm, formFields } from "../../domain/event/WebhookPayload.js"
import { type BodyFailure, readJson } from "../JsonBody.js"
import type { RawRequest } from "../Wire.js"

const invalidForm = (code: string, message: string) =>
  new ValidationFailed({
    code: "VALIDATION_FAILED",
    message: `the form ${message}`,
    details: [{ path: "", code, message }]
  })

const readForm = (body: Uint8Array, contentType: string | undefined): Either.Either<Json, BodyFailure> => {
  const charset = charsetOf(contentType)
  const decoder = formDecoder(charset)
  if (decoder === undefined)
    return Either.left(
      new UnsupportedMediaType({
        got: (contentType ?? "").slice(0, 100),
        takes: "application/x-www-form-urlencoded, in UTF-8 or a known charset that contains ASCII, such as ISO-8859-1"
      })
    )
  return Either.mapLeft(formFields(body, webhookForm.fields, decoder), (problem): BodyFailure => {
    switch (problem) {
      case "null":
        return invalidForm("NOT_STORABLE", "contains the character U+0000, which cannot be stored: leave it out")
      case "fields":
        return invalidForm("OUT_OF_RANGE", `has more than ${webhookForm.fields} fields`)
      case "encoding":
        return new InvalidRequest({
          code: "INVALID_REQUEST",
          message: `the form is not ${decoder.encoding.toUpperCase()}: name its character set in the content type, such as charset=ISO-8859-1`
        })
    }
  })
}

const asSent = (payload: Json): WebhookPayload => ({ payload, rounded: undefined })

/** Reads JSON that may have integers beyond 2^53. */
const readExactly = (request: RawRequest, limit: number, asked: AskedText | undefined) => {
  let rounded: RoundedIntegers | undefined
  const isTooLarge = request.body.byteLength > exactIntegerBytes
  if (isTooLarge) rounded = { paths: [], more: true }
  const rewrite = (text: string) => {
    const read = readLargeIntegers(text, asked)
    rounded = read.rounded
    return read.text
  }
  return Either.map(readJson(request, limit, undefined, isTooLarge ? undefined : rewrite), (payload) => ({
    payload: payload ?? {},
    rounded
  }))
}

const unsupported = ({ headers }: RawRequest) =>
  new UnsupportedMediaType({
    got: (headers["content-type"] ?? "").slice(0, 100),
    takes: "application/json or application/x-www-form-urlencoded"
  })

/** The request with JSON, whose type its sender calls otherwise. */
const asJson = (request: RawRequest): RawRequest => ({
  ...request,
  headers: { ...request.headers, "content-type": "application/json" }
})

const readJsonPayload = (request: RawRequest, limit: number, asked: AskedText | undefined) =>
  hasLongDigits(request.body)
    ? readExactly(request, limit, asked)
    : Either.map(readJson(request, limit), (payload) => asSent(payload ?? {}))

/** Reads a text that is a JSON object or list; another text is of a type that is not taken. */
const readPlain = (request: RawRequest, limit: number, asked: AskedText | undefined) => {
  if (!startsJson(request.body)) return Either.left(unsupported(request))
  return Either.mapLeft(readJsonPayload(asJson(request), limit, asked), (failure) =>
    failure._tag === "InvalidRequest" ? unsupported(request) : failure
  )
}

const byteOrderMark = [0xef, 0xbb, 0xbf]
const openings = [..."{["].map((letter) => letter.charCodeAt(0))
const blanks = [..." \t\r\n"].map((letter) => letter.charCodeAt(0))

const startsJson = (body: Uint8Array): boolean => {
  const start = byteOrderMark.every((byte, at) => body[at] === byte) ? byteOrderMark.length : 0
  const first = body.subarray(start).find((byte) => !blanks.includes(byte))
  return first !== undefined && openings.includes(first)
}

/**
 * The payload of a request; `{}` for an empty body. Left: why the body is refused. `limit`: bytes. `asked`: where large
 * integers are asked for as text.
 */
export const readPayload = (
  request: RawRequest,
  limit: number,
  asked?: AskedText
): Either.Either<WebhookPayload, BodyFailure> => {
  const { body, headers } = request
  if (body.byteLength > limit) return Either.left(new PayloadTooLarge({ limitBytes: limit }))
  if (body.byteLength === 0) return Either.right(asSent({}))
  switch (bodyForm(headers["content-type"])) {
    case "json":
      return readJsonPayload(asJson(request), limit, asked)
    case "form":
      return Either.map(readForm(body, headers["content-type"]), asSent)
    case "plain":
      return readPlain(request, limit, asked)
    case undefined:
      return Either.left(unsupported(request))
  }
}
