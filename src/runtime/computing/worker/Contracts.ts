/**
 * Validates with JSON Schema (2020-12) by @cfworker/json-schema, which interprets schemas: a tenant's schema never
 * becomes code. The tenant determines how much time and stack a validation takes, so this runs in a computing worker
 * only.
 */
import { dereference, type OutputUnit, type Schema, Validator } from "@cfworker/json-schema"
import { schemaPatternMistake } from "../../../domain/expression/Pattern.js"
import type { Detail } from "../../../domain/Failure.js"
import type { Json, JsonObject } from "../../../domain/Json.js"
import { answerItems } from "../../../domain/Limits.js"
import { violationMessage } from "./ContractMessages.js"

/** The names in a pointer such as `#/items/0/name`. */
const parsePointer = (pointer: string): ReadonlyArray<string> =>
  pointer
    .replace(/^#\/?/, "")
    .split("/")
    .filter((part) => part !== "")
    .map((part) => decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~"))

/** `#/items/0/name` as `items[0].name`. */
const toDottedPath = (pointer: string): string =>
  parsePointer(pointer).reduce((path, name) => {
    return /^\d+$/.test(name) ? `${path}[${name}]` : path === "" ? name : `${path}.${name}`
  }, "")

/** Keywords whose error only says that a nested keyword reported one. */
const wrapperKeywords = new Set(["properties", "items", "prefixItems", "allOf", "$ref", "additionalProperties"])

/** The value at an error's location in the schema, after following references. */
const keywordAt = (schema: JsonObject, pointer: string): Json | undefined => {
  let at: Json | undefined = schema
  for (const name of parsePointer(pointer)) {
    const found: Json | undefined = Array.isArray(at) ? at[Number(name)] : isObject(at) ? at[name] : undefined
    // A reference to another reference is not followed: the message then has no expected value.
    const reference: string = name === "$ref" && typeof found === "string" && !found.includes("$ref") ? found : ""
    at = reference.startsWith("#") ? keywordAt(schema, reference) : found
  }
  return at
}

const maxMessageLength = 500

/** The message for a violation; the library quotes the name of a member, if it is about one. */
const messageOf = (schema: JsonObject, { error, keyword, keywordLocation }: OutputUnit): string => {
  const name = /"((?:[^"\\]|\\.)*)"/.exec(error)?.[1] ?? ""
  const message = violationMessage(keyword, keywordAt(schema, keywordLocation), name)
  return message.length > maxMessageLength ? `${message.slice(0, maxMessageLength)}…` : message
}

const validatorOf = (schema: JsonObject): Validator =>
  // The library's type of a schema is narrower than JSON; `findSchemaMistakes` has accepted this one.
  new Validator(schema as Schema, "2020-12", false)

/** Validates values against one schema, which `findSchemaMistakes` accepted. */
export const compileSchema = (schema: JsonObject): ((value: Json) => ReadonlyArray<Detail>) => {
  const validator = validatorOf(schema)
  return (value) => {
    const { errors, valid } = validator.validate(value)
    if (valid) return []
    const innerErrors = errors.filter((error) => !wrapperKeywords.has(error.keyword))
    return (innerErrors.length > 0 ? innerErrors : errors).slice(0, answerItems.violations).map((error) => ({
      path: toDottedPath(error.instanceLocation),
      code: error.keyword,
      message: messageOf(schema, error)
    }))
  }
}

/** Checks a schema. A schema without mistakes validates any value without throwing. */
export const findSchemaMistakes = (schema: JsonObject): ReadonlyArray<Detail> => {
  const members = findMemberMistakes(schema, "")
  if (members.length > 0) return members
  try {
    const parts = collectSubschemas(structuredClone(schema))
    const references = [...parts].flatMap(([at, part]) => findReferenceMistakes(parts, at, part))
    if (references.length > 0) return references
    const cycle = findEndlessReference(parts)
    if (cycle !== undefined) return [cycle]
    validatorOf(structuredClone(schema)).validate(null)
    return []
  } catch (error) {
    // A stack overflow: the caller handles it.
    if (error instanceof RangeError) throw error
    return [{ path: "", code: "INVALID_SCHEMA", message: error instanceof Error ? error.message : String(error) }]
  }
}

// --- References ---

/** All subschemas by their absolute URI, annotated with the URI that their reference resolves to. */
type Subschemas = ReadonlyMap<string, Schema | boolean>

const collectSubschemas = (schema: JsonObject): Subschemas => new Map(Object.entries(dereference(schema as Schema)))

/** The path of a schema for messages, from the pointer of its URI. */
const pathOf = (uri: string): string => {
  const hash = uri.indexOf("#")
  return hash < 0 ? "" : toDottedPath(uri.slice(hash))
}

const targetOf = (part: Schema): string | undefined => part.__absolute_ref__ ?? part.$ref

const findReferenceMistakes = (parts: Subschemas, at: string, part: Schema | boolean): ReadonlyArray<Detail> => {
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

/** Keywords whose schemas apply to the same value. A reference cycle through these alone never ends. */
const schemaListsOnSameValue = ["allOf", "anyOf", "oneOf"] as const
const schemasOnSameValue = ["not", "if", "then", "else"] as const

const nextOnSameValue = (parts: Subschemas, part: Schema): ReadonlyArray<Schema> => {
  const target = targetOf(part)
  const referred = target === undefined ? undefined : parts.get(target)
  const inner: ReadonlyArray<unknown> = [
    ...schemaListsOnSameValue.flatMap((keyword): ReadonlyArray<unknown> => part[keyword] ?? []),
    ...schemasOnSameValue.map((keyword): unknown => part[keyword])
  ]
  return [referred, ...inner].filter((schema): schema is Schema => typeof schema === "object" && schema !== null)
}

/** Finds a reference cycle that never descends into the value. Visits each schema once, depth first. */
const findEndlessReference = (parts: Subschemas): Detail | undefined => {
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

const typeNames = new Set(["null", "boolean", "object", "array", "number", "integer", "string"])
const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isCount = (value: Json | undefined) => typeof value === "number" && Number.isInteger(value) && value >= 0

/** Keywords that hold one schema. */
const schemaKeywords = [
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
/** Keywords that hold a list of schemas. */
const schemaListKeywords = ["prefixItems", "allOf", "anyOf", "oneOf"]
/** Keywords that hold schemas by name. */
const namedSchemasKeywords = ["$defs", "definitions", "properties", "patternProperties", "dependentSchemas"]
const countKeywords = [
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
  "minContains",
  "maxContains"
]
const numberKeywords = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]

/** Why a pattern cannot be used; `undefined` if it can. */
const findPatternMistake = (pattern: Json | undefined): string | undefined =>
  typeof pattern === "string" ? schemaPatternMistake(pattern) : "must be a text"

type Add = (member: string, message: string) => void

const checkNumbers = (schema: JsonObject, add: Add): void => {
  for (const name of countKeywords)
    if (schema[name] !== undefined && !isCount(schema[name])) add(name, "must be a whole number, 0 or more")
  for (const name of numberKeywords)
    if (schema[name] !== undefined && typeof schema[name] !== "number") add(name, "must be a number")
}

/** Checks the members of a schema that hold no schemas. */
const checkMembers = (schema: JsonObject, add: Add): void => {
  const { $ref, pattern, required, type } = schema
  for (const name of Array.isArray(type) ? type : type === undefined ? [] : [type]) {
    if (typeof name !== "string" || !typeNames.has(name))
      add("type", `"${String(name).slice(0, 100)}" is not a type; there are ${[...typeNames].join(", ")}`)
  }
  if (required !== undefined && !(Array.isArray(required) && required.every((name) => typeof name === "string")))
    add("required", "must be an array of member names")
  if ($ref !== undefined && typeof $ref !== "string") add("$ref", "must be a text")
  if (schema["enum"] !== undefined && !Array.isArray(schema["enum"])) add("enum", "must be an array")
  checkNumbers(schema, add)
  const mistake = pattern === undefined ? undefined : findPatternMistake(pattern)
  if (mistake !== undefined) add("pattern", mistake)
  for (const key of Object.keys(isObject(schema["patternProperties"]) ? schema["patternProperties"] : {})) {
    const keyMistake = findPatternMistake(key)
    if (keyMistake !== undefined) add("patternProperties", keyMistake)
  }
}

type Child = readonly [place: string, schema: Json]

/**
 * The schemas that a schema holds, each with its place. Calls `add` for members that should hold schemas and do not.
 */
const childrenOf = (schema: JsonObject, add: Add): ReadonlyArray<Child> => {
  const found: Array<Child> = []
  const addAll = (name: string, children: ReadonlyArray<Json>) =>
    children.forEach((child, index) => found.push([`${name}[${index}]`, child]))
  for (const name of schemaKeywords) {
    const child = schema[name]
    // Before 2020-12 `items` could be a list.
    if (name === "items" && isList(child)) addAll(name, child)
    else if (child !== undefined) found.push([name, child])
  }
  for (const name of schemaListKeywords) {
    const children = schema[name]
    if (isList(children)) addAll(name, children)
    else if (children !== undefined) add(name, "must be an array of schemas")
  }
  for (const name of namedSchemasKeywords) {
    const children = schema[name]
    if (isObject(children)) for (const [key, child] of Object.entries(children)) found.push([`${name}.${key}`, child])
    else if (children !== undefined) add(name, "must be an object of schemas")
  }
  return found
}

const isList = (value: Json | undefined): value is ReadonlyArray<Json> => Array.isArray(value)

/**
 * Finds mistakes that the library ignores or reports only for some values: unknown types, wrong shapes, bad patterns.
 */
const findMemberMistakes = (schema: JsonObject, path: string): ReadonlyArray<Detail> => {
  const found: Array<Detail> = []
  const pathOfMember = (name: string) => (path === "" ? name : `${path}.${name}`)
  const add: Add = (name, message) => found.push({ path: pathOfMember(name), code: "INVALID_SCHEMA", message })
  checkMembers(schema, add)
  for (const [name, child] of childrenOf(schema, add)) {
    if (isObject(child)) found.push(...findMemberMistakes(child, pathOfMember(name)))
    else if (typeof child !== "boolean") add(name, "must be a schema")
  }
  return found
}
