/** Imports the successful response of an operation. */
import { isObject, type Json, type JsonObject } from "../../Json.js"
import { type OpenApiDocument, listAt, objectAt } from "./OpenApiDocument.js"

/** The type and schema of an action's answer. */
export interface SuccessAnswer {
  /** `response.type` of the action. */
  readonly type: "json" | "text" | "base64" | "auto"
  readonly schema: Json | undefined
}

/** The answer of the operation's first success status. */
export const successAnswer = (document: OpenApiDocument, operation: JsonObject): SuccessAnswer => {
  const responses = objectAt(operation, "responses")
  const status = Object.keys(responses)
    .filter((one) => /^2(?:\d\d|XX)$/i.test(one))
    .sort()
    .at(0)
  if (status === undefined) return { type: "auto", schema: undefined }
  const response = document.part(responses[status])
  if (document.generation === 2) {
    const produces = [...listAt(operation, "produces"), ...listAt(document.root, "produces")].map(String)
    const { schema } = response
    return { type: isObject(schema) && schema["type"] === "file" ? "base64" : typeOf(produces), schema }
  }
  const content = objectAt(response, "content")
  const types = Object.keys(content)
  const json = types.find(isJson)
  return { type: typeOf(types), schema: json === undefined ? undefined : objectAt(content, json)["schema"] }
}

const isJson = (type: string) => /^(?:application|text)\/(?:[\w.+-]*\+)?json\b/i.test(type)

const typeOf = (types: ReadonlyArray<string>): SuccessAnswer["type"] => {
  if (types.every(isJson)) return "json"
  if (types.some(isJson) || types.some((type) => type.includes("*"))) return "auto"
  return types.every((type) => /^text\/|[/+]xml\b/i.test(type)) ? "text" : "base64"
}
