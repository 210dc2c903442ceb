/** Reads the body of a webhook: JSON, or a form as an object of its fields. */
import { PayloadTooLarge, UnsupportedMediaType, ValidationFailed } from "../../domain/Failure.js"
import type { Json } from "../../domain/Json.js"
import { webhookForm } from "../../domain/Limits.js"
import { bodyForm, formFields } from "../../domain/WebhookPayload.js"
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

/** The payload of a request; `{}` for an empty body. `limit`: bytes. */
export const readPayload = (request: RawRequest, limit: number): Json | BodyFailure => {
  const { body, headers } = request
  if (body.byteLength > limit) return new PayloadTooLarge({ limitBytes: limit })
  if (body.byteLength === 0) return {}
  switch (bodyForm(headers["content-type"])) {
    case "json":
      return readJson(request, limit) ?? {}
    case "form":
      return readForm(body)
    case undefined:
      return new UnsupportedMediaType({
        got: (headers["content-type"] ?? "").slice(0, 100),
        takes: "application/json or application/x-www-form-urlencoded"
      })
  }
}
