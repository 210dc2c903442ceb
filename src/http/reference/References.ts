/** Replaces references to shared parameters, responses and headers by their targets; references to schemas stay, as links. */
import { isObject, type Json, type JsonObject } from "../../domain/Json.js"

const sharedReference = /^#\/components\/(parameters|responses|headers)\/(.+)$/

const members = (value: Json | undefined): JsonObject => (value !== undefined && isObject(value) ? value : {})

/** `components`: the components of the document. */
export const resolveReferences = (value: Json, components: JsonObject): Json => {
  if (Array.isArray(value)) return value.map((one) => resolveReferences(one, components))
  if (!isObject(value)) return value
  const { $ref } = value
  const [, kind = "", name = ""] = typeof $ref === "string" ? (sharedReference.exec($ref) ?? []) : []
  const found = members(components[kind])[name]
  if (found !== undefined) return resolveReferences(found, components)
  return Object.fromEntries(
    Object.entries(value).map(([member, child]) => [member, resolveReferences(child, components)])
  )
}
