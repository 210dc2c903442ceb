/**
 * JSON Schema (2020-12) by @cfworker/json-schema, which interprets schemas: a tenant's schema never becomes code. Time
 * and stack that a schema or a value takes depend on the tenant, so this runs in a computing worker only.
 */
import { dereference, type OutputUnit, type Schema, Validator } from "@cfworker/json-schema"
import { schemaPatternMistake } from "../../../domain/connector/Pattern.js"
import type { Detail } from "../../../domain/Failure.js"
import type { Json, JsonObject } from "../../../domain/Json.js"
import { answerItems } from "../../../domain/Limits.js"

/** The names in a pointer such as `#/items/0/name`. */
const namesIn = (pointer: string): ReadonlyArray<string> =>
  pointer
    .replace(/^#\/?/, "")
    .split("/")
    .filter((part) => part !== "")
    .map((part) => decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~"))

/** `#/items/0/name` as `items[0].name`. */
const dotted = (pointer: string): string =>
  namesIn(pointer).reduce((path, name) => {
    return /^\d+$/.test(name) ? `${path}[${name}]` : path === "" ? name : `${path}.${name}`
  }, "")

/** Keywords whose errors only report an error further in. */
const wrappers = new Set(["properties", "items", "prefixItems", "allOf", "$ref", "additionalProperties"])

/** The value at an error's location in the schema, after following references. */
const keywordAt = (schema: JsonObject, pointer: string): Json | undefined => {
  let at: Json | undefined = schema
  for (const name of namesIn(pointer)) {
    const found: Json | undefined = Array.isArray(at) ? at[Number(name)] : isObject(at) ? at[name] : undefined
    // A reference into what another refers to is left alone: the library's words do then.
    const place: string = name === "$ref" && typeof found === "string" && !found.includes("$ref") ? found : ""
    at = place.startsWith("#") ? keywordAt(schema, place) : found
  }
  return at
}

const longestMessage = 500

/** The library's message, or a better one where the library's does not say what is expected. */
const messageOf = (schema: JsonObject, { error, keyword, keywordLocation }: OutputUnit): string => {
  const expected = keywordAt(schema, keywordLocation)
  const better: { readonly [keyword: string]: string } = {
    pattern: `String does not match the pattern ${String(expected)}`,
    maxProperties: `Object has more than ${String(expected)} properties.`,
    exclusiveMinimum: `Number is not greater than ${String(expected)}.`,
    exclusiveMaximum: `Number is not less than ${String(expected)}.`,
    false: "Value is not allowed here."
  }
  const message = expected === undefined && keyword !== "false" ? error : (better[keyword] ?? error)
  return message.length > longestMessage ? `${message.slice(0, longestMessage)}…` : message
}

const validatorOf = (schema: JsonObject): Validator =>
  // The library's type of a schema is narrower than JSON; `schemaMistakes` has judged this one.
  new Validator(schema as Schema, "2020-12", false)

/** Validates values against one schema, which `schemaMistakes` accepted. */
export const compileSchema = (schema: JsonObject): ((value: Json) => ReadonlyArray<Detail>) => {
  const validator = validatorOf(schema)
  return (value) => {
    const { errors, valid } = validator.validate(value)
    if (valid) return []
    const precise = errors.filter((error) => !wrappers.has(error.keyword))
    return (precise.length > 0 ? precise : errors).slice(0, answerItems.violations).map((error) => ({
      path: dotted(error.instanceLocation),
      code: error.keyword,
      message: messageOf(schema, error)
    }))
  }
}

/** Checks a schema. One without mistakes validates any value without an exception. */
export const schemaMistakes = (schema: JsonObject): ReadonlyArray<Detail> => {
  const members = badMembers(schema, "")
  if (members.length > 0) return members
  try {
    const parts = subschemas(structuredClone(schema))
    const references = [...parts].flatMap(([at, part]) => referenceMistakes(parts, at, part))
    if (references.length > 0) return references
    const loop = endlessReference(parts)
    if (loop !== undefined) return [loop]
    validatorOf(structuredClone(schema)).validate(null)
    return []
  } catch (error) {
    // The caller handles a stack overflow.
    if (error instanceof RangeError) throw error
    return [{ path: "", code: "INVALID_SCHEMA", message: error instanceof Error ? error.message : String(error) }]
  }
}

// --- References ---

/** All subschemas by their absolute URI, annotated with the URI that their reference resolves to. */
type Parts = ReadonlyMap<string, Schema | boolean>

const subschemas = (schema: JsonObject): Parts => new Map(Object.entries(dereference(schema as Schema)))

/** The path of a schema for messages, from the pointer of its URI. */
const pathOf = (uri: string): string => {
  const hash = uri.indexOf("#")
  return hash < 0 ? "" : dotted(uri.slice(hash))
}

const targetOf = (part: Schema): string | undefined => part.__absolute_ref__ ?? part.$ref

const referenceMistakes = (parts: Parts, at: string, part: Schema | boolean): ReadonlyArray<Detail> => {
  if (typeof part === "boolean") return []
  const target = targetOf(part)
  if (part.$ref === undefined || target === undefined || parts.has(target)) return []
  const path = pathOf(at)
  return [
    {
      path: path === "" ? "$ref" : `${path}.$ref`,
      code: "INVALID_SCHEMA",
      message: `"${String(part.$ref).slice(0, 200)}" names no schema within this one`
    }
  ]
}

/** Keywords that apply to the same value: a cycle of only these never ends. */
const sameValue = ["allOf", "anyOf", "oneOf"] as const
const sameValueOnce = ["not", "if", "then", "else"] as const

const nextOnSameValue = (parts: Parts, part: Schema): ReadonlyArray<Schema> => {
  const target = targetOf(part)
  const referred = target === undefined ? undefined : parts.get(target)
  const inner: ReadonlyArray<unknown> = [
    ...sameValue.flatMap((keyword): ReadonlyArray<unknown> => part[keyword] ?? []),
    ...sameValueOnce.map((keyword): unknown => part[keyword])
  ]
  return [referred, ...inner].filter((one): one is Schema => typeof one === "object" && one !== null)
}

/** Finds a reference cycle that never descends into the value. Depth first, each schema once. */
const endlessReference = (parts: Parts): Detail | undefined => {
  const finished = new Set<Schema>()
  for (const [uri, start] of parts) {
    if (typeof start === "boolean" || finished.has(start)) continue
    const open = new Set<Schema>([start])
    const stack = [{ part: start, next: nextOnSameValue(parts, start).values() }]
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const { done, value } = top.next.next()
      if (done === true) {
        finished.add(top.part)
        open.delete(top.part)
        stack.pop()
      } else if (open.has(value)) {
        return { path: pathOf(uri), code: "INVALID_SCHEMA", message: "refers to itself without end" }
      } else if (!finished.has(value)) {
        open.add(value)
        stack.push({ part: value, next: nextOnSameValue(parts, value).values() })
      }
    }
  }
  return undefined
}

// --- Members ---

const types = new Set(["null", "boolean", "object", "array", "number", "integer", "string"])
const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isCount = (value: Json | undefined) => typeof value === "number" && Number.isInteger(value) && value >= 0

/** Members that hold one schema, a list of schemas, or named schemas. */
const single = [
  "items",
  "additionalItems",
  "unevaluatedItems",
  "contains",
  "additionalProperties",
  "unevaluatedProperties",
  "propertyNames",
  "not",
  "if",
  "then",
  "else"
]
const listed = ["prefixItems", "allOf", "anyOf", "oneOf"]
const named = ["$defs", "definitions", "properties", "patternProperties", "dependentSchemas"]
const counts = [
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
  "minContains",
  "maxContains"
]
const numbers = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]

const patternError = (pattern: Json | undefined): string | undefined =>
  typeof pattern === "string" ? schemaPatternMistake(pattern) : "must be a text"

type Add = (member: string, message: string) => void

const checkNumbers = (schema: JsonObject, add: Add): void => {
  for (const name of counts)
    if (schema[name] !== undefined && !isCount(schema[name])) add(name, "must be a whole number, 0 or more")
  for (const name of numbers)
    if (schema[name] !== undefined && typeof schema[name] !== "number") add(name, "must be a number")
}

/** Mistakes in the members of a schema that hold no schemas. */
const checkMembers = (schema: JsonObject, add: Add): void => {
  const { $ref, pattern, required, type } = schema
  for (const name of Array.isArray(type) ? type : type === undefined ? [] : [type]) {
    if (typeof name !== "string" || !types.has(name))
      add("type", `"${String(name).slice(0, 100)}" is not a type; there are ${[...types].join(", ")}`)
  }
  if (required !== undefined && !(Array.isArray(required) && required.every((name) => typeof name === "string")))
    add("required", "must be an array of member names")
  if ($ref !== undefined && typeof $ref !== "string") add("$ref", "must be a text")
  if (schema["enum"] !== undefined && !Array.isArray(schema["enum"])) add("enum", "must be an array")
  checkNumbers(schema, add)
  const why = pattern === undefined ? undefined : patternError(pattern)
  if (why !== undefined) add("pattern", why)
  for (const key of Object.keys(isObject(schema["patternProperties"]) ? schema["patternProperties"] : {})) {
    const wrong = patternError(key)
    if (wrong !== undefined) add("patternProperties", wrong)
  }
}

type Child = readonly [place: string, schema: Json]

/** The schemas that a schema holds, each with its place; `add` is told of members that cannot hold any. */
const childrenOf = (schema: JsonObject, add: Add): ReadonlyArray<Child> => {
  const found: Array<Child> = []
  const addAll = (name: string, children: ReadonlyArray<Json>) =>
    children.forEach((one, at) => found.push([`${name}[${at}]`, one]))
  for (const name of single) {
    const child = schema[name]
    // Before 2020-12 `items` could be a list.
    if (name === "items" && isList(child)) addAll(name, child)
    else if (child !== undefined) found.push([name, child])
  }
  for (const name of listed) {
    const children = schema[name]
    if (isList(children)) addAll(name, children)
    else if (children !== undefined) add(name, "must be an array of schemas")
  }
  for (const name of named) {
    const children = schema[name]
    if (isObject(children)) for (const [key, one] of Object.entries(children)) found.push([`${name}.${key}`, one])
    else if (children !== undefined) add(name, "must be an object of schemas")
  }
  return found
}

const isList = (value: Json | undefined): value is ReadonlyArray<Json> => Array.isArray(value)

/**
 * Mistakes that an interpreter passes over or meets only with some values: unknown types, wrong shapes, bad patterns.
 */
const badMembers = (schema: JsonObject, path: string): ReadonlyArray<Detail> => {
  const found: Array<Detail> = []
  const at = (name: string) => (path === "" ? name : `${path}.${name}`)
  const add: Add = (name, message) => found.push({ path: at(name), code: "INVALID_SCHEMA", message })
  checkMembers(schema, add)
  for (const [name, child] of childrenOf(schema, add)) {
    if (isObject(child)) found.push(...badMembers(child, at(name)))
    else if (typeof child !== "boolean") add(name, "must be a schema")
  }
  return found
}
