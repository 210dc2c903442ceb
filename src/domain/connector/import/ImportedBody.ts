/** Imports the request body of an operation: its schema and encoding. */
import { isObject, type Json, type JsonObject } from "../../Json.js"
import { type OpenApiDocument, listAt, objectAt, textAt } from "./OpenApiDocument.js"
import type { SchemaConversion } from "./SchemaConversion.js"

/** The body of an action. */
export interface ImportedBody {
  readonly schema: JsonObject
  readonly required: boolean
  /** `bodyType` and `contentType` of the request. */
  readonly form: JsonObject
}

type Convert = SchemaConversion["convert"]

/** The body of an operation; `undefined` without one. `shared`: parameters of the path item. */
export const importBody = (
  document: OpenApiDocument,
  convert: Convert,
  operation: JsonObject,
  shared: ReadonlyArray<Json>
): ImportedBody | undefined =>
  document.generation === 3
    ? openApiBody(document, convert, operation)
    : swaggerBody(document, convert, operation, shared)

const openApiBody = (document: OpenApiDocument, convert: Convert, operation: JsonObject): ImportedBody | undefined => {
  if (operation["requestBody"] === undefined) return undefined
  const body = document.part(operation["requestBody"])
  const content = objectAt(body, "content")
  const type = preferredType(Object.keys(content))
  if (type === undefined) return undefined
  const schema = objectAt(content, type)["schema"]
  return {
    schema: callerSchema(type, convert(schema), document.part(schema)),
    required: body["required"] === true,
    form: formOf(type)
  }
}

const swaggerBody = (
  document: OpenApiDocument,
  convert: Convert,
  operation: JsonObject,
  shared: ReadonlyArray<Json>
): ImportedBody | undefined => {
  const parameters = [...shared, ...listAt(operation, "parameters")].map(document.part)
  const consumes = [...listAt(operation, "consumes"), ...listAt(document.root, "consumes")].map(String)
  const bodyParameter = parameters.find((one) => one["in"] === "body")
  if (bodyParameter !== undefined) {
    const type = preferredType(consumes) ?? "application/json"
    const form = type.startsWith("multipart/") || type.includes("urlencoded") ? "application/json" : type
    return {
      schema: convert(bodyParameter["schema"]),
      required: bodyParameter["required"] === true,
      form: formOf(form)
    }
  }
  const fields = parameters.filter((one) => one["in"] === "formData")
  if (fields.length === 0) return undefined
  const files = fields.some((one) => one["type"] === "file")
  const multipart = files || (consumes.some((one) => one.startsWith("multipart/")) && !consumes.some(isForm))
  const required = fields.filter((one) => one["required"] === true).map((one) => textAt(one, "name") ?? "")
  return {
    schema: {
      type: "object",
      properties: Object.fromEntries(
        fields.map((one) => [textAt(one, "name") ?? "", one["type"] === "file" ? fileSchema : convert(one)])
      ),
      ...(required.length === 0 ? {} : { required })
    },
    required: required.length > 0,
    form: { bodyType: multipart ? "multipart" : "form" }
  }
}

const isJson = (type: string) => /^(?:application|text)\/(?:[\w.+-]*\+)?json\b/i.test(type)
const isForm = (type: string) => /^application\/x-www-form-urlencoded\b/i.test(type)

const preferredType = (types: ReadonlyArray<string>): string | undefined =>
  types.find(isJson) ?? types.find(isForm) ?? types.find((type) => type.startsWith("multipart/")) ?? types[0]

const formOf = (type: string): JsonObject => {
  if (isJson(type)) return /^application\/json\b/i.test(type) ? {} : { contentType: type }
  if (isForm(type)) return { bodyType: "form" }
  if (type.startsWith("multipart/")) return { bodyType: "multipart" }
  const plain = /^[\w.+-]+\/[\w.+-]+(?:;[\x20-\x7e]*)?$/.test(type)
  const contentType = plain ? { contentType: type } : {}
  return { bodyType: /^text\/|[/+]xml\b|yaml|graphql/i.test(type) ? "text" : "base64", ...contentType }
}

/** The schema of a file in a form. */
const fileSchema: JsonObject = {
  type: "object",
  properties: {
    base64: { type: "string", description: "The file's content in base64" },
    filename: { type: "string" },
    contentType: { type: "string" }
  },
  required: ["base64"]
}

/** The schema of the argument: binary parts are files, binary bodies are base64. */
const callerSchema = (type: string, schema: JsonObject, source: JsonObject): JsonObject => {
  if (isJson(type) || isForm(type)) return schema
  if (!type.startsWith("multipart/")) {
    return formOf(type)["bodyType"] === "text"
      ? { type: "string" }
      : { type: "string", description: "The content in base64" }
  }
  const properties = objectAt(schema, "properties")
  const sources = objectAt(source, "properties")
  if (Object.keys(properties).length === 0) return schema
  return {
    ...schema,
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, one]) => {
        const original = sources[name]
        const binary =
          isObject(original) && (original["format"] === "binary" || original["contentMediaType"] !== undefined)
        return [name, binary ? fileSchema : one]
      })
    )
  }
}
