/** Reads the body of a webhook: JSON, or a form as an object of its fields. */
import type { WebhookPayload } from "../../actors/management/event/WebhookDelivery.js"
import type { AskedText } from "../../domain/AskedTexts.js"
import { PayloadTooLarge, UnsupportedMediaType, ValidationFailed } from "../../domain/Failure.js"
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

const readForm = (body: Uint8Array): Json | ValidationFailed => {
  const fields = formFields(body, webhookForm.fields)
  if (fields === "null")
    return invalidForm("NOT_STORABLE", "contains the character U+0000, which cannot be stored: leave it out")
  return fields === "fields" ? invalidForm("OUT_OF_RANGE", `has more than ${webhookForm.fields} fields`) : fields
}

/** A value, or why there is none. */
const payloadOf = (read: Json | BodyFailure): WebhookPayload | BodyFailure =>
  read instanceof Error ? read : { payload: read, rounded: undefined }

/** Reads JSON that may have integers beyond 2^53. */
const readExactly = (request: RawRequest, limit: number, asked: AskedText | undefined) => {
  if (request.body.byteLength > exactIntegerBytes) {
    const read = readJson(request, limit)
    return read instanceof Error ? read : { payload: read ?? {}, rounded: { paths: [], more: true } }
  }
  let rounded: RoundedIntegers | undefined
  const payload = readJson(request, limit, undefined, (text) => {
    const read = readLargeIntegers(text, asked)
    rounded = read.rounded
    return read.text
  })
  return payload instanceof Error ? payload : { payload: payload ?? {}, rounded }
}

/** The payload of a request; `{}` for an empty body. `limit`: bytes. `asked`: where large integers are asked for as text. */
export const readPayload = (request: RawRequest, limit: number, asked?: AskedText): WebhookPayload | BodyFailure => {
  const { body, headers } = request
  if (body.byteLength > limit) return new PayloadTooLarge({ limitBytes: limit })
  if (body.byteLength === 0) return payloadOf({})
  switch (bodyForm(headers["content-type"])) {
    case "json":
      return hasLongDigits(body) ? readExactly(request, limit, asked) : payloadOf(readJson(request, limit) ?? {})
    case "form":
      return payloadOf(readForm(body))
    case undefined:
      return new UnsupportedMediaType({
        got: (headers["content-type"] ?? "").slice(0, 100),
        takes: "application/json or application/x-www-form-urlencoded"
      })
  }
}
