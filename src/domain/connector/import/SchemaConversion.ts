/**
 * Converts schemas of OpenAPI to JSON Schema 2020-12. Referenced schemas are converted once and shared, so that cycles end
 * and the result is about as large as the document; unreferenced ones are left out.
 */
import { isObject, type Json, type JsonObject, isList } from "../../Json.js"
import { schemaPatternMistake } from "../../expression/Pattern.js"
import { type OpenApiDocument, UniqueNames } from "./OpenApiDocument.js"

/** The conversion of one document's schemas. */
export interface SchemaConversion {
  readonly convert: (schema: Json | undefined) => JsonObject
  /** All shared schemas. To be called after the last `convert`. */
  readonly shared: () => JsonObject
}

/** Makes the conversion of a document. */
export const makeSchemaConversion = (document: OpenApiDocument): SchemaConversion => {
  const names = new Map<string, string>()
  const usedNames = new UniqueNames()
  const converted: { [name: string]: Json } = {}
  const queue: Array<readonly [name: string, reference: string]> = []

  const nameOf = (reference: string): string => {
    const existing = names.get(reference)
    if (existing !== undefined) return existing
    const last = (reference.split("/").at(-1) ?? "").replace(/~[01]|%[0-9a-f]{2}|[^A-Za-z0-9._-]/gi, "_")
    const name = usedNames.take(last === "" || last === "__proto__" ? "schema" : last, 128)
    names.set(reference, name)
    queue.push([name, reference])
    return name
  }

  const convertReference = (reference: string, schema: JsonObject): JsonObject => {
    if (document.at(reference) === undefined) return {}
    const { description } = schema
    const named = { $ref: `#/$defs/${nameOf(reference)}` }
    const nullable = schema["nullable"] === true ? { anyOf: [named, { type: "null" }] } : named
    return typeof description === "string" ? { ...nullable, description } : nullable
  }

  const convert = (schema: Json | undefined): JsonObject => {
    if (schema === false) return { not: {} }
    if (!isObject(schema)) return {}
    const reference = schema["$ref"]
    if (typeof reference === "string") return convertReference(reference, schema)
    const entries = Object.entries(schema).flatMap(([key, value]): ReadonlyArray<readonly [string, Json]> => {
      const member = Object.hasOwn(members, key) ? members[key] : undefined
      const result = member?.(value, schema, convert)
      return result === undefined ? [] : [[key, result]]
    })
    return convertExclusiveBounds(schema, addNull(schema, Object.fromEntries(entries)))
  }

  const shared = (): JsonObject => {
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      const [name, reference] = next
      const target = document.at(reference)
      converted[name] = typeof target === "boolean" ? target : convert(target)
    }
    return converted
  }

  return { convert, shared }
}

type Member = (value: Json, schema: JsonObject, convert: (schema: Json) => JsonObject) => Json | undefined

const keepValue: Member = (value) => value
const keepNumber: Member = (value) => (typeof value === "number" ? value : undefined)
const keepCount: Member = (value) =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : undefined
const keepText: Member = (value) => (typeof value === "string" ? value.slice(0, longestText) : undefined)
const convertOne: Member = (value, _schema, convert) => (typeof value === "boolean" ? value : convert(value))
const convertMany: Member = (value, _schema, convert) =>
  isList(value) && value.length > 0 ? value.map(convert) : undefined
const convertNamed: Member = (value, _schema, convert) =>
  isObject(value)
    ? Object.fromEntries(
        Object.entries(value).map(([name, child]) => [name, typeof child === "boolean" ? child : convert(child)])
      )
    : undefined

const types = new Set(["null", "boolean", "object", "array", "number", "integer", "string"])
const longestText = 1_000

const keepType: Member = (value) => {
  if (value === "file") return "string"
  const knownTypes = (isList(value) ? value : [value]).filter((name) => typeof name === "string" && types.has(name))
  return knownTypes.length === 0 ? undefined : isList(value) ? knownTypes : (knownTypes[0] ?? undefined)
}

const keepPattern: Member = (value) =>
  typeof value === "string" && schemaPatternMistake(value) === undefined ? value : undefined

/** The converted members and how; other members have no meaning in JSON Schema. */
const members: { readonly [name: string]: Member } = {
  type: keepType,
  title: keepText,
  description: keepText,
  format: keepText,
  default: keepValue,
  const: keepValue,
  enum: (value) => (isList(value) && value.length > 0 ? value : undefined),
  minimum: keepNumber,
  maximum: keepNumber,
  exclusiveMinimum: keepNumber,
  exclusiveMaximum: keepNumber,
  multipleOf: (value) => (typeof value === "number" && value > 0 ? value : undefined),
  minLength: keepCount,
  maxLength: keepCount,
  minItems: keepCount,
  maxItems: keepCount,
  minProperties: keepCount,
  maxProperties: keepCount,
  uniqueItems: (value) => (typeof value === "boolean" ? value : undefined),
  pattern: keepPattern,
  required: (value) =>
    isList(value) && value.every((name) => typeof name === "string") && value.length > 0 ? value : undefined,
  properties: convertNamed,
  additionalProperties: convertOne,
  items: (value, _schema, convert) => (isList(value) ? undefined : typeof value === "boolean" ? value : convert(value)),
  prefixItems: convertMany,
  contains: convertOne,
  propertyNames: convertOne,
  allOf: convertMany,
  anyOf: convertMany,
  oneOf: convertMany,
  not: convertOne,
  if: convertOne,
  then: convertOne,
  else: convertOne
}

/** Converts `nullable: true` of OpenAPI 3.0 and `x-nullable` of Swagger. */
const addNull = (schema: JsonObject, made: JsonObject): JsonObject => {
  if (schema["nullable"] !== true && schema["x-nullable"] !== true) return made
  const { enum: values, type: named } = made
  return {
    ...made,
    ...(typeof named === "string" ? { type: [named, "null"] } : {}),
    ...(isList(values) && !values.includes(null) ? { enum: [...values, null] } : {})
  }
}

/** Converts boolean `exclusiveMinimum` and `exclusiveMaximum` of OpenAPI 3.0. */
const convertExclusiveBounds = (schema: JsonObject, made: JsonObject): JsonObject => {
  const above = schema["exclusiveMinimum"] === true
  const below = schema["exclusiveMaximum"] === true
  if (!above && !below) return made
  const { maximum, minimum, ...rest } = made
  return {
    ...rest,
    ...(minimum === undefined ? {} : { [above ? "exclusiveMinimum" : "minimum"]: minimum }),
    ...(maximum === undefined ? {} : { [below ? "exclusiveMaximum" : "maximum"]: maximum })
  }
}
