/** The JSON Schemas of common records: of those that are read, whose members may be null, and of those that are written. */
import type { JsonObject } from "../Json.js"
import type { ModelField, ModelFields, FieldType, Model } from "./FieldType.js"

/** The schemas of a model. `write`: of a record that is created; a change has any of its members. */
export interface ModelSchemas {
  readonly read: JsonObject
  readonly write: JsonObject
}

/** The two schemas of a model. */
export const modelSchemas = (model: Model): ModelSchemas => ({
  read: {
    type: "object",
    properties: properties(model.fields, (field, name) =>
      name === "id" ? schemaOf(field.type, true) : nullable(schemaOf(field.type, true))
    ),
    required: ["id"].filter((name) => Object.hasOwn(model.fields, name))
  },
  write: {
    type: "object",
    properties: {
      ...properties(writable(model.fields), ({ type }) => schemaOf(type, false)),
      remoteFields: { type: "object", description: "Members of the provider's own record, which no map changes." }
    },
    required: Object.entries(writable(model.fields)).flatMap(([name, { isRequired }]) => (isRequired ? [name] : [])),
    ...(model.anyOf.length === 0
      ? {}
      : { allOf: model.anyOf.map((names) => ({ anyOf: names.map((name) => ({ required: [name] })) })) }),
    additionalProperties: false
  }
})

const writable = (fields: ModelFields): ModelFields =>
  Object.fromEntries(Object.entries(fields).filter(([, { isReadOnly }]) => !isReadOnly))

const properties = (fields: ModelFields, schema: (field: ModelField, name: string) => JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, schema(field, name)]))

/** The schema, which null fulfils, too. */
const nullable = (schema: JsonObject): JsonObject => {
  const { enum: words, type } = schema
  if (typeof type !== "string") return schema
  return { ...schema, type: [type, "null"], ...(Array.isArray(words) ? { enum: [...words, null] } : {}) }
}

const schemaOf = (type: FieldType, isRead: boolean): JsonObject => {
  const inner = (of: FieldType) => (isRead ? nullable(schemaOf(of, true)) : schemaOf(of, false))
  switch (type.kind) {
    case "enum":
      return { type: "string", enum: [...type.values] }
    case "list":
      return { type: "array", items: inner(type.of) }
    case "object":
      return {
        type: "object",
        properties: properties(type.fields, (field) => inner(field.type)),
        ...(isRead ? {} : { additionalProperties: false })
      }
    case "json":
      return { type: "object" }
    case "any":
      return {}
    case "money":
      return { type: "string", pattern: String.raw`^-?\d+(\.\d{1,6})?$`, description: "A decimal amount." }
    case "dateTime":
      return { type: "string", format: "date-time" }
    case "currency":
      return { type: "string", pattern: "^[A-Z]{3}$", description: "ISO 4217." }
    case "country":
      return { type: "string", pattern: "^[A-Z]{2}$", description: "ISO 3166-1 alpha-2." }
    case "email":
      return { type: "string", description: "An e-mail address in lower case." }
    case "phone":
      return { type: "string", description: "E.164 where it can be read, else as the provider has it." }
    case "integer":
      return { type: "integer" }
    case "share":
      return { type: "number", minimum: 0, maximum: 1 }
    case "number":
      return { type: "number" }
    case "boolean":
      return { type: "boolean" }
    case "text":
      return { type: "string" }
  }
}
