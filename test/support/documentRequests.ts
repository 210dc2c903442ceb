/**
 * The operations of the OpenAPI documents, and a request of each that fits its schema, or nearly: tests send it with one
 * value replaced, so that they cover new parameters and members by themselves.
 */
import { documentText } from "../../src/http/Documents.js"
import { isObject, type Json, type JsonObject } from "../../src/domain/Json.js"

const document: JsonObject = JSON.parse(documentText("all"))
export const members = (value: Json | undefined): JsonObject => (isObject(value) ? value : {})
const listOf = (value: Json | undefined): ReadonlyArray<Json> => (Array.isArray(value) ? value : [])

/** A schema without a reference. */
export const resolved = (schema: Json | undefined): JsonObject => {
  const found = members(schema)
  return found["$ref"] === undefined ? found : component("schemas", found["$ref"])
}

/** A value that fits the schema, or nearly. */
export const ordinary = (schema: Json | undefined, depth = 0): Json => {
  const { anyOf, enum: choices, items, properties, required, type, minimum } = resolved(schema)
  const [choice] = listOf(choices)
  if (choice !== undefined) return choice
  const [first] = listOf(anyOf)
  if (first !== undefined) return ordinary(first, depth + 1)
  const kind = Array.isArray(type) ? "object" : type
  if (kind === "object" && depth < 6)
    return Object.fromEntries(
      listOf(required).map((name) => [name, ordinary(members(properties)[String(name)], depth + 1)])
    )
  if (kind === "array") return items === undefined || depth > 5 ? [] : [ordinary(items, depth + 1)]
  if (kind === "integer" || kind === "number") return typeof minimum === "number" ? minimum : 1
  if (kind === "boolean") return true
  return kind === "null" ? null : "abc"
}

export type Path = ReadonlyArray<string>

/** The places of all members, also the optional ones. */
export const places = (schema: Json | undefined, at: Path = [], depth = 0): ReadonlyArray<Path> => {
  const { anyOf, items, properties } = resolved(schema)
  if (depth > 4) return [at]
  return [
    at,
    ...listOf(anyOf).flatMap((one) => places(one, at, depth + 1).filter((path) => path.length > at.length)),
    ...Object.entries(members(properties)).flatMap(([name, child]) => places(child, [...at, name], depth + 1)),
    ...(items === undefined ? [] : places(items, [...at, "0"], depth + 1))
  ]
}

/** The schemas of a place: several where one of several may fit. */
export const schemaAt = (schema: Json | undefined, [name, ...rest]: Path): ReadonlyArray<Json | undefined> => {
  if (name === undefined) return [schema]
  const { anyOf, items, properties } = resolved(schema)
  const own = name === "0" ? items : members(properties)[name]
  return [
    ...(own === undefined ? [] : schemaAt(own, rest)),
    ...listOf(anyOf).flatMap((one) => schemaAt(one, [name, ...rest]))
  ]
}

/** Whether a number fits the schema, or may. */
export const takesNumbers = (schema: Json | undefined): boolean => {
  const { anyOf, enum: choices, type } = resolved(schema)
  const types = [type ?? []].flat()
  if (anyOf !== undefined) return listOf(anyOf).some(takesNumbers)
  return types.length === 0 ? choices === undefined : types.includes("number") || types.includes("integer")
}

export const withAt = (whole: Json, [name, ...rest]: Path, value: Json): Json => {
  if (name === undefined) return value
  if (name === "0") return [withAt(Array.isArray(whole) ? (whole[0] ?? {}) : {}, rest, value)]
  return { ...members(whole), [name]: withAt(members(whole)[name] ?? {}, rest, value) }
}

export interface Operation {
  readonly method: string
  readonly path: string
  readonly parameters: ReadonlyArray<JsonObject>
  readonly body: Json | undefined
}

const component = (kind: string, reference: Json | undefined): JsonObject =>
  typeof reference === "string"
    ? members(members(members(document["components"])[kind])[reference.split("/").at(-1) ?? ""])
    : {}

/** Shared headers are read in one place, so one operation of each tag sends them. */
const sentWith = new Set<string>()
const parametersOf = (operation: JsonObject): ReadonlyArray<JsonObject> =>
  listOf(operation["parameters"])
    .map(members)
    .flatMap((parameter) => {
      const { $ref } = parameter
      if ($ref === undefined) return [parameter]
      const place = `${String($ref)} ${String(listOf(operation["tags"])[0])}`
      if (sentWith.has(place)) return []
      sentWith.add(place)
      return [component("parameters", $ref)]
    })

export const operations: ReadonlyArray<Operation> = Object.entries(members(document["paths"])).flatMap(([path, item]) =>
  Object.entries(members(item)).map(([method, operation]) => {
    const content = members(members(members(operation)["requestBody"])["content"])
    return {
      method: method.toUpperCase(),
      path,
      parameters: parametersOf(members(operation)),
      body: members(content["application/json"])["schema"]
    }
  })
)
