/** Reads the body of a webhook: JSON, or a form as an object of its fields. */
import { PayloadTooLarge, UnsupportedMediaType, ValidationFailed } from "../../domain/Failure.js"
import type { Json } from "../../domain/Json.js"
import { webhookForm } from "../../domain/Limits.js"
import { bodyForm, fieldsOf } from "../../domain/WebhookPayload.js"
import { type BodyFailure, readJson } from "../JsonBody.js"
import type { RawRequest } from "../Wire.js"

const invalidForm = (code: string, message: string) =>
  new ValidationFailed({
    code: "VALIDATION_FAILED",
    message: `the form ${message}`,
    details: [{ path: "", code, message }]
  })

const readForm = (text: string): Json | ValidationFailed => {
  if (text.includes("%00") || text.includes("\u0000"))
    return invalidForm("NOT_STORABLE", "contains the character U+0000, which cannot be stored: leave it out")
  // Counted before anything is decoded.
  let count = 1
  for (let at = text.indexOf("&"); at >= 0; at = text.indexOf("&", at + 1)) count++
  if (count > webhookForm.fields) return invalidForm("OUT_OF_RANGE", `has more than ${webhookForm.fields} fields`)
  return fieldsOf(text)
}

/** The payload of a request; `{}` for an empty body. `limit`: bytes. */
export const readPayload = (request: RawRequest, limit: number): Json | BodyFailure => {
  const { body, headers } = request
  if (body.byteLength > limit) return new PayloadTooLarge({ limitBytes: limit })
  if (body.byteLength === 0) return {}
  switch (bodyForm(headers["content-type"])) {
    case "json":
      return readJson(request, limit) ?? {}
    case "form":
      return readForm(new TextDecoder().decode(body))
    case undefined:
      return new UnsupportedMediaType({
        got: (headers["content-type"] ?? "").slice(0, 100),
        takes: "application/json or application/x-www-form-urlencoded"
      })
  }
}
