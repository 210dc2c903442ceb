/** Postman collections for tests. */
import type { Json, JsonObject } from "../../src/domain/Json.js"

/** The schema that collections of version 2.1 name. */
export const collectionSchema = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"

/** A collection with these items. */
export const collection = (item: ReadonlyArray<Json>, more: JsonObject = {}): JsonObject => ({
  info: { name: "Acme API", schema: collectionSchema, description: "All of Acme", version: "2.1" },
  item,
  ...more
})

/** An auth with attributes, as version 2.1 has them. */
export const authOf = (type: string, attributes: JsonObject = {}): JsonObject => ({
  type,
  [type]: Object.entries(attributes).map(([key, value]) => ({ key, value, type: "string" }))
})
