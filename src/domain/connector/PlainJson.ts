/**
 * JSON within a definition, judged in one pass: definitions hold megabytes of schemas, and trying all alternatives at
 * every value made up half the time of an import.
 */
import { Schema } from "effect"
import { anyType, type Json as AnyJson, type JsonObject as AnyObject } from "../Json.js"

export const Json: Schema.Schema<AnyJson> = Schema.declare((value: unknown): value is AnyJson => isJson(value), {
  identifier: "Json",
  description: "any JSON value",
  jsonSchema: { type: anyType }
})

export const JsonObject: Schema.Schema<AnyObject> = Schema.declare(
  (value: unknown): value is AnyObject =>
    typeof value === "object" && value !== null && !Array.isArray(value) && isJson(value),
  { identifier: "JsonObject", description: "any JSON object", jsonSchema: { type: "object" } }
)

const isJson = (value: unknown): boolean => {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true
    case "number":
      return Number.isFinite(value)
    case "object":
      if (value === null) return true
      return Array.isArray(value) ? value.every(isJson) : Object.values(value).every(isJson)
    default:
      return false
  }
}
