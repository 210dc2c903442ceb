/** JSON values: their type, what of them Postgres can store, and their canonical text. */
import { Schema } from "effect"
import { jsonDepth } from "./Limits.js"

export { isList } from "./expression/List.js"

export type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [member: string]: Json }
/** A value whose members can be read by name. */
export type JsonObject = { readonly [member: string]: Json }

/** A value that is JSON already, so that a row need not write it again. `JSON.stringify` leaves such a member out. */
export class JsonText {
  constructor(readonly text: string) {}

  toJSON(): undefined {
    return undefined
  }
}

/** The `type` of a JSON Schema of any value, since some tools read a schema without members as no schema. */
export const anyType = ["null", "boolean", "object", "array", "number", "string"] as const

const isJson = (value: unknown): value is Json => {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true
    case "number":
      return Number.isFinite(value)
    case "object":
      if (value === null) return true
      if (Array.isArray(value)) return value.every(isJson)
      // Faster than a list of the values: a body of a megabyte has a hundred thousand.
      for (const name in value) if (!isJson(value[name as keyof typeof value])) return false
      return true
    default:
      return false
  }
}

/** Decodes any JSON value, checked in one pass; a union schema would take a second for megabytes. */
export const Json: Schema.Schema<Json> = Schema.declare(isJson, {
  identifier: "Json",
  description: "any JSON value",
  jsonSchema: { type: anyType },
  arbitrary: () => (fc) => fc.jsonValue() as ReturnType<typeof fc.constant<Json>>
})

export const JsonObject: Schema.Schema<JsonObject> = Schema.declare(
  (value: unknown): value is JsonObject =>
    typeof value === "object" && value !== null && !Array.isArray(value) && isJson(value),
  {
    identifier: "JsonObject",
    description: "any JSON object",
    jsonSchema: { type: "object" },
    // A dictionary of JSON values is such an object.
    arbitrary: () => (fc) => fc.dictionary(fc.string(), fc.jsonValue()) as ReturnType<typeof fc.constant<JsonObject>>
  }
)

/** A stored JSON value. Postgres' own parser made it, so its parts are not checked again, which takes long for megabytes. */
export const StoredJson: Schema.Schema<Json> = Schema.declare((value: unknown): value is Json =>
  ["string", "number", "boolean", "object"].includes(typeof value)
)
/** A stored JSON object that this service wrote as an `A`; nothing else of it is checked, either. */
export const storedDocument = <A extends object>(): Schema.Schema<A> =>
  Schema.declare((value: unknown): value is A => typeof value === "object" && value !== null && !Array.isArray(value))
/** A stored JSON object. */
export const StoredObject = storedDocument<JsonObject>()

/**
 * Why a value cannot be stored: Postgres refuses U+0000 and lone surrogates, JSON has no infinite numbers, and nesting
 * beyond the limit could exhaust a stack. `path`: the place in the value.
 */
export interface Unstorable {
  readonly path: string
  readonly reason: "nul" | "loneSurrogate" | "notFinite" | "tooDeep"
}

const unstorableText = (text: string): Unstorable["reason"] | undefined => {
  if (text.indexOf("\u0000") >= 0) return "nul"
  return text.isWellFormed() ? undefined : "loneSurrogate"
}

const joinPath = (step: string, rest: string): string =>
  rest === "" || rest.startsWith("[") ? step + rest : `${step}.${rest}`

/** Prefixes the path with the step that leads to it. */
const prefixPath = (step: string, found: Unstorable): Unstorable => ({ ...found, path: joinPath(step, found.path) })

/** The first part of `value` that cannot be stored; `undefined` if all of it can. */
export const findUnstorable = (value: unknown, depth = 0): Unstorable | undefined => {
  if (typeof value === "string") {
    const reason = unstorableText(value)
    return reason === undefined ? undefined : { path: "", reason }
  }
  if (typeof value === "number") return Number.isFinite(value) ? undefined : { path: "", reason: "notFinite" }
  if (typeof value !== "object" || value === null) return undefined
  if (depth >= jsonDepth) return { path: "", reason: "tooDeep" }
  // Paths are built on the way back, since most values are storable.
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const found = findUnstorable(value[i], depth + 1)
      if (found !== undefined) return prefixPath(`[${i}]`, found)
    }
    return undefined
  }
  // Faster than `Object.entries`.
  for (const key in value) {
    if (!Object.hasOwn(value, key)) continue
    const reason = unstorableText(key)
    if (reason !== undefined) return { path: "(a member name)", reason }
    const found = findUnstorable(value[key as keyof typeof value], depth + 1)
    if (found !== undefined) return prefixPath(key, found)
  }
  return undefined
}

/** What is wrong and what to do, for each reason. */
export const unstorableMessage: Record<Unstorable["reason"], string> = {
  nul: "contains the character U+0000 (`\\u0000` in JSON), which cannot be stored: remove it",
  loneSurrogate: "contains half of a surrogate pair, which is not valid Unicode: send the whole character",
  notFinite: "is a number outside the range of a double: send it as a string",
  tooDeep: `nests deeper than ${jsonDepth} levels: flatten it`
}

/** Whether a value is an object and not a list. */
export const isObject = (value: unknown): value is { readonly [member: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/**
 * The canonical text of a JSON value (RFC 8785): members sorted by UTF-16 code units, no white space, numbers as
 * ECMAScript prints them. Equal values have the same text, so the text can be hashed.
 */
export const canonicalJson = (value: unknown): string => {
  if (value === null) return "null"
  if (isCanonical(value)) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(",")}]`
  if (!isObject(value)) return JSON.stringify(value ?? null)
  let text = ""
  for (const key of Object.keys(value).sort()) {
    const child = value[key]
    if (child !== undefined) text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${canonicalJson(child)}`
  }
  return `{${text}}`
}

/** Whether all members are in canonical order already, so that the much faster `JSON.stringify` suffices. */
const isCanonical = (value: unknown): boolean => {
  if (typeof value !== "object" || value === null) return value !== undefined
  if (Array.isArray(value)) return value.every(isCanonical)
  if (!isObject(value)) return false
  let before: string | undefined
  for (const key of Object.keys(value)) {
    if ((before !== undefined && before >= key) || !isCanonical(value[key])) return false
    before = key
  }
  return true
}
