/** Reads the body of a webhook: JSON, or a form as an object of its fields. */
import { PayloadTooLarge, UnsupportedMediaType, ValidationFailed } from "../../domain/Failure.js"
import type { Json } from "../../domain/Json.js"
import { webhookForm } from "../../domain/Limits.js"
import { type BodyFailure, readJson } from "../JsonBody.js"
import type { RawRequest } from "../Wire.js"

const formType = /^application\/x-www-form-urlencoded\s*(?:;|$)/i
const jsonType = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i

/** A form's fields; one that is sent several times is a list. The field `payload` of some providers stays text. */
const readForm = (text: string): Json | ValidationFailed => {
  const fields: { [name: string]: string | Array<string> } = Object.create(null) as { [name: string]: string }
  let count = 0
  for (const [name, value] of new URLSearchParams(text)) {
    if (++count > webhookForm.fields)
      return new ValidationFailed({
        code: "VALIDATION_FAILED",
        message: `the form has more than ${webhookForm.fields} fields`,
        details: [{ path: "", code: "OUT_OF_RANGE", message: `send at most ${webhookForm.fields} fields` }]
      })
    const before = fields[name]
    if (before === undefined) fields[name] = value
    else if (typeof before === "string") fields[name] = [before, value]
    else before.push(value)
  }
  return { ...fields }
}

/** The payload of a request; `{}` for an empty body. `limit`: bytes. */
export const readPayload = (request: RawRequest, limit: number): Json | BodyFailure => {
  const { body, headers } = request
  if (body.byteLength > limit) return new PayloadTooLarge({ limitBytes: limit })
  if (body.byteLength === 0) return {}
  const type = headers["content-type"] ?? ""
  if (jsonType.test(type)) {
    const json = readJson(request, limit)
    return json === undefined ? {} : json
  }
  if (!formType.test(type)) return new UnsupportedMediaType({ got: type.slice(0, 100) })
  const text = new TextDecoder().decode(body)
  if (text.includes("%00") || text.includes("\u0000"))
    return new ValidationFailed({
      code: "VALIDATION_FAILED",
      message: "the form contains the character U+0000, which cannot be stored",
      details: [{ path: "", code: "NOT_STORABLE", message: "leave the character U+0000 out" }]
    })
  return readForm(text)
}
