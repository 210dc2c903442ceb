/**
 * Schemas of OpenAPI as JSON Schema 2020-12. What is named by a reference is converted once and shared, so that cycles
 * end and a document stays about as large as it is; what is never named is left out.
 */
import { isObject, type Json, type JsonObject } from "../../Json.js"
import { schemaPatternMistake } from "../Pattern.js"
import { type Document, isList, UniqueNames } from "./Document.js"

export interface SchemaConversion {
  readonly convert: (schema: Json | undefined) => JsonObject
  /** Every shared schema that was named so far. To be asked at the end. */
  readonly shared: () => JsonObject
}

export const schemaConversion = (document: Document): SchemaConversion => {
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
    return withBounds(schema, withNull(schema, Object.fromEntries(made)))
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

const plain: Member = (value) => value
const number: Member = (value) => (typeof value === "number" ? value : undefined)
const count: Member = (value) =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : undefined
const text: Member = (value) => (typeof value === "string" ? value.slice(0, longestText) : undefined)
const one: Member = (value, _schema, convert) => (typeof value === "boolean" ? value : convert(value))
const many: Member = (value, _schema, convert) => (isList(value) && value.length > 0 ? value.map(convert) : undefined)
const named: Member = (value, _schema, convert) =>
  isObject(value)
    ? Object.fromEntries(
        Object.entries(value).map(([name, child]) => [name, typeof child === "boolean" ? child : convert(child)])
      )
    : undefined

const types = new Set(["null", "boolean", "object", "array", "number", "integer", "string"])
const longestText = 1_000

const type: Member = (value) => {
  if (value === "file") return "string"
  const known = (isList(value) ? value : [value]).filter((name) => typeof name === "string" && types.has(name))
  return known.length === 0 ? undefined : isList(value) ? known : (known[0] ?? undefined)
}

const pattern: Member = (value) =>
  typeof value === "string" && schemaPatternMistake(value) === undefined ? value : undefined

/** What is kept, and as what; every other member says nothing about a value. */
const members: { readonly [name: string]: Member } = {
  type,
  title: text,
  description: text,
  format: text,
  default: plain,
  const: plain,
  enum: (value) => (isList(value) && value.length > 0 ? value : undefined),
  minimum: number,
  maximum: number,
  exclusiveMinimum: number,
  exclusiveMaximum: number,
  multipleOf: (value) => (typeof value === "number" && value > 0 ? value : undefined),
  minLength: count,
  maxLength: count,
  minItems: count,
  maxItems: count,
  minProperties: count,
  maxProperties: count,
  uniqueItems: (value) => (typeof value === "boolean" ? value : undefined),
  pattern,
  required: (value) =>
    isList(value) && value.every((name) => typeof name === "string") && value.length > 0 ? value : undefined,
  properties: named,
  additionalProperties: one,
  items: (value, _schema, convert) => (isList(value) ? undefined : typeof value === "boolean" ? value : convert(value)),
  prefixItems: many,
  contains: one,
  propertyNames: one,
  allOf: many,
  anyOf: many,
  oneOf: many,
  not: one,
  if: one,
  then: one,
  else: one
}

/** `nullable: true` of OpenAPI 3.0, and `x-nullable` of its elders. */
const withNull = (schema: JsonObject, made: JsonObject): JsonObject => {
  if (schema["nullable"] !== true && schema["x-nullable"] !== true) return made
  const { enum: values, type: named } = made
  return {
    ...made,
    ...(typeof named === "string" ? { type: [named, "null"] } : {}),
    ...(isList(values) && !values.includes(null) ? { enum: [...values, null] } : {})
  }
}

/** `exclusiveMinimum: true` beside a minimum. */
const withBounds = (schema: JsonObject, made: JsonObject): JsonObject => {
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
