/** References to what operations share, replaced by what they refer to. Schemas stay references: the page links them. */
import { isObject, type Json, type JsonObject } from "../../domain/Json.js"

const shared = /^#\/components\/(parameters|responses|headers)\/(.+)$/

const members = (value: Json | undefined): JsonObject => (value !== undefined && isObject(value) ? value : {})

export const resolved = (value: Json, components: JsonObject): Json => {
  if (Array.isArray(value)) return value.map((one) => resolved(one, components))
  if (!isObject(value)) return value
  const { $ref } = value
  const [, kind = "", name = ""] = typeof $ref === "string" ? (shared.exec($ref) ?? []) : []
  const found = members(components[kind])[name]
  if (found !== undefined) return resolved(found, components)
  return Object.fromEntries(Object.entries(value).map(([member, child]) => [member, resolved(child, components)]))
}
