/** Finds the members that a provider's schemas have, through references, within a bound of steps. */
import { isList, isObject, type Json, type JsonObject } from "../../Json.js"
import { listAt, objectAt } from "../import/OpenApiDocument.js"
import type { ProviderDocument } from "./PublishedOperation.js"

/** A step into a value: the name of a member, or `null` for any item of a list. */
export type SchemaStep = string | null

/** SchemaList that apply to a value. */
export type SchemaList = ReadonlyArray<Json | undefined>

/** `present` with the schemas of the member; `open`: the document does not say which members there are. */
export type FoundMember =
  | { readonly tag: "present"; readonly schemas: SchemaList }
  | { readonly tag: "absent"; readonly missing: number }
  | { readonly tag: "open" }

/** Parts of one schema that are read; a larger one counts as open. */
const maxParts = 200

/**
 * The parts of schemas: those that `allOf`, `oneOf` and `anyOf` have instead of the schema. `undefined`: too many. A schema
 * that contains itself is read once.
 */
export const partsOf = ({ resolve }: ProviderDocument, schemas: SchemaList): ReadonlyArray<JsonObject> | undefined => {
  const parts = new Set<JsonObject>()
  const queue = [...schemas]
  for (let at = 0; at < queue.length; at++) {
    if (at > maxParts) return undefined
    const part = resolve(queue[at])
    if (parts.has(part)) continue
    parts.add(part)
    for (const word of ["allOf", "oneOf", "anyOf"]) queue.push(...listAt(part, word).slice(0, maxParts))
  }
  return [...parts]
}

/** The member at a path of steps. */
export const findMember = (
  document: ProviderDocument,
  schemas: SchemaList,
  path: ReadonlyArray<SchemaStep>
): FoundMember => {
  let at = schemas
  for (const [index, step] of path.entries()) {
    const parts = partsOf(document, at)
    if (parts === undefined) return { tag: "open" }
    const below = parts.map((part) => stepInto(part, step))
    const found = below.flatMap((one) => (one === "open" || one === "none" || one === "absent" ? [] : [one]))
    if (found.length === 0)
      return below.includes("open") || !below.includes("absent") ? { tag: "open" } : { tag: "absent", missing: index }
    at = found
  }
  return { tag: "present", schemas: at }
}

/** The schema of a member, or of a list's items. `none`: the schema describes neither members nor items. */
const stepInto = (part: JsonObject, step: SchemaStep): JsonObject | "open" | "absent" | "none" => {
  if (step === null) {
    const { items } = part
    if (isObject(items)) return items
    if (isList(items) || items === true || part["type"] === "array") return "open"
    return isScalar(part) || Object.hasOwn(part, "properties") ? "absent" : "none"
  }
  const properties = objectAt(part, "properties")
  if (Object.hasOwn(properties, step)) {
    const found = properties[step]
    return isObject(found) ? found : "open"
  }
  const { additionalProperties: others } = part
  if (isObject(others)) return Object.keys(others).length === 0 ? "open" : others
  if (others === true || Object.hasOwn(part, "patternProperties")) return "open"
  if (Object.keys(properties).length > 0 || others === false) return "absent"
  return isScalar(part) || Object.hasOwn(part, "items") ? "absent" : "none"
}

const scalars = new Set(["string", "number", "integer", "boolean"])

/** The types that a schema names. */
export const typesOf = ({ type }: JsonObject): ReadonlyArray<string> =>
  (isList(type) ? type : [type]).filter((one) => typeof one === "string")

const isScalar = (part: JsonObject): boolean => {
  const types = typesOf(part).filter((one) => one !== "null")
  return types.length > 0 && types.every((one) => scalars.has(one))
}

/** The members that a value must have. Alternatives require nothing, since each may require others. */
export const requiredMembers = ({ resolve }: ProviderDocument, schema: Json | undefined): ReadonlyArray<string> => {
  const required = new Set<string>()
  const readOnly = new Set<string>()
  const seen = new Set<JsonObject>()
  const queue: Array<Json | undefined> = [schema]
  for (let at = 0; at < queue.length && at < maxParts; at++) {
    const part = resolve(queue[at])
    if (seen.has(part)) continue
    seen.add(part)
    for (const name of listAt(part, "required")) if (typeof name === "string") required.add(name)
    for (const [name, one] of Object.entries(objectAt(part, "properties")))
      if (isObject(one) && one["readOnly"] === true) readOnly.add(name)
    queue.push(...listAt(part, "allOf").slice(0, maxParts))
  }
  return [...required].filter((name) => !readOnly.has(name))
}
