/**
 * Schemas of OpenAPI as JSON Schema 2020-12. What is named by a reference is converted once and shared, so that cycles
 * end and a document stays about as large as it is; what is never named is left out.
 */
import { isObject, type Json, type JsonObject } from "../../Json.js"
import { schemaPatternMistake } from "../Pattern.js"
import { type OpenApiDocument, isList, UniqueNames } from "./OpenApiDocument.js"

export interface SchemaConversion {
  readonly convert: (schema: Json | undefined) => JsonObject
  /** Every shared schema that was named so far. To be asked at the end. */
  readonly shared: () => JsonObject
}

export const makeSchemaConversion = (document: OpenApiDocument): SchemaConversion => {
  const names = new Map<string, string>()
  const taken = new UniqueNames()
  const done: { [name: string]: Json } = {}
  const waiting: Array<readonly [name: string, reference: string]> = []

  const nameOf = (reference: string): string => {
    const known = names.get(reference)
    if (known !== undefined) return known
    const last = (reference.split("/").at(-1) ?? "").replace(/~[01]|%[0-9a-f]{2}|[^A-Za-z0-9._-]/gi, "_")
    const name = taken.give(last === "" || last === "__proto__" ? "schema" : last, 128)
    names.set(reference, name)
    waiting.push([name, reference])
    return name
  }

  const referred = (reference: string, schema: JsonObject): JsonObject => {
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
    if (typeof reference === "string") return referred(reference, schema)
    const made = Object.entries(schema).flatMap(([key, value]): ReadonlyArray<readonly [string, Json]> => {
      const member = Object.hasOwn(members, key) ? members[key] : undefined
      const converted = member?.(value, schema, convert)
      return converted === undefined ? [] : [[key, converted]]
    })
    return convertExclusiveBounds(schema, addNull(schema, Object.fromEntries(made)))
  }

  const shared = (): JsonObject => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const [name, reference] = next
      const target = document.at(reference)
      done[name] = typeof target === "boolean" ? target : convert(target)
    }
    return done
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
  const known = (isList(value) ? value : [value]).filter((name) => typeof name === "string" && types.has(name))
  return known.length === 0 ? undefined : isList(value) ? known : (known[0] ?? undefined)
}

const keepPattern: Member = (value) =>
  typeof value === "string" && schemaPatternMistake(value) === undefined ? value : undefined

/** What is kept, and as what; every other member says nothing about a value. */
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

/** `nullable: true` of OpenAPI 3.0, and `x-nullable` of its elders. */
const addNull = (schema: JsonObject, made: JsonObject): JsonObject => {
  if (schema["nullable"] !== true && schema["x-nullable"] !== true) return made
  const { enum: values, type: named } = made
  return {
    ...made,
    ...(typeof named === "string" ? { type: [named, "null"] } : {}),
    ...(isList(values) && !values.includes(null) ? { enum: [...values, null] } : {})
  }
}

/** `exclusiveMinimum: true` beside a minimum. */
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
