/** JSON Schema by @cfworker/json-schema: it interprets schemas, so a tenant's schema never becomes code. */
import { type OutputUnit, Validator, type Schema } from "@cfworker/json-schema"
import { Layer } from "effect"
import { Contracts } from "../actors/ports/Contracts.js"
import type { Detail } from "../domain/Failure.js"
import type { Json, JsonObject } from "../domain/Json.js"

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

/** Errors that only say that something further in is wrong. */
const wrappers = new Set(["properties", "items", "prefixItems", "allOf", "$ref", "additionalProperties"])

/** What stands at the place of a schema that an error names; references within the schema are followed. */
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

/** The library's words, but where they leave out what was expected, or say another thing. */
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

const make = () => {
  const compiled = new WeakMap<JsonObject, Validator>()
  const validator = (schema: JsonObject): Validator => {
    const known = compiled.get(schema)
    if (known !== undefined) return known
    // The library's type of a schema is narrower than JSON; `mistakes` has judged this one.
    const made = new Validator(schema as Schema, "2020-12", false)
    compiled.set(schema, made)
    return made
  }

  const violations = (schema: JsonObject, value: unknown): ReadonlyArray<Detail> => {
    const { errors, valid } = validator(schema).validate(value)
    if (valid) return []
    const precise = errors.filter((error) => !wrappers.has(error.keyword))
    return (precise.length > 0 ? precise : errors).slice(0, 20).map((error) => ({
      path: dotted(error.instanceLocation),
      code: error.keyword,
      message: messageOf(schema, error)
    }))
  }

  const mistakes = (schema: JsonObject): ReadonlyArray<Detail> => {
    try {
      new Validator(schema as Schema, "2020-12", false).validate(null)
      return badMembers(schema, "")
    } catch (error) {
      return [{ path: "", code: "INVALID_SCHEMA", message: error instanceof Error ? error.message : String(error) }]
    }
  }

  return Contracts.of({ violations, mistakes })
}

const types = new Set(["null", "boolean", "object", "array", "number", "integer", "string"])
const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The mistakes that people make in schemas and that an interpreter passes over: unknown types, wrong shapes. */
const badMembers = (schema: JsonObject, path: string): ReadonlyArray<Detail> => {
  const at = (name: string) => (path === "" ? name : `${path}.${name}`)
  const found: Array<Detail> = []
  const { properties, required, type } = schema
  const named = Array.isArray(type) ? type : type === undefined ? [] : [type]
  for (const name of named) {
    if (typeof name !== "string" || !types.has(name)) {
      found.push({
        path: at("type"),
        code: "INVALID_SCHEMA",
        message: `"${String(name)}" is not a type; there are ${[...types].join(", ")}`
      })
    }
  }
  if (required !== undefined && !(Array.isArray(required) && required.every((name) => typeof name === "string"))) {
    found.push({ path: at("required"), code: "INVALID_SCHEMA", message: "must be an array of member names" })
  }
  if (properties !== undefined && !isObject(properties)) {
    found.push({ path: at("properties"), code: "INVALID_SCHEMA", message: "must be an object of schemas" })
  } else {
    for (const [name, child] of Object.entries(properties ?? {})) {
      if (isObject(child)) found.push(...badMembers(child, at(`properties.${name}`)))
      else if (typeof child !== "boolean")
        found.push({ path: at(`properties.${name}`), code: "INVALID_SCHEMA", message: "must be a schema" })
    }
  }
  if (isObject(schema["items"])) found.push(...badMembers(schema["items"], at("items")))
  return found
}

export const layer = Layer.sync(Contracts, make)
