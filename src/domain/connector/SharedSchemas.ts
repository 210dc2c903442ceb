/** Resolves references of a definition's JSON Schemas to its shared `schemas`, written `#/$defs/NAME`. */
import { type Json, type JsonObject, isList, isObject } from "../Json.js"
import type { ConnectorDefinition } from "./Definition.js"

/**
 * The schema with all shared schemas that it needs in its `$defs`.
 * @internal Used by the lock of built-in actions and by tests.
 */
export const standaloneSchema = (definition: Pick<ConnectorDefinition, "schemas">, schema: JsonObject): JsonObject => {
  const needed = new Map<string, Json>()
  const queue: Array<Json> = [schema]
  for (let one = queue.pop(); one !== undefined; one = queue.pop()) {
    for (const name of sharedNamesIn(one)) {
      const shared = Object.hasOwn(definition.schemas, name) ? definition.schemas[name] : undefined
      if (shared === undefined || needed.has(name)) continue
      needed.set(name, shared)
      queue.push(shared)
    }
  }
  if (needed.size === 0) return schema
  const own = schema["$defs"]
  return { ...schema, $defs: { ...Object.fromEntries(needed), ...(own !== undefined && isObject(own) ? own : {}) } }
}

/** The names of the shared schemas that a schema refers to directly. */
export const sharedNamesIn = (schema: Json): ReadonlyArray<string> => {
  if (typeof schema !== "object" || schema === null) return []
  if (isList(schema)) return schema.flatMap(sharedNamesIn)
  const reference = schema["$ref"]
  const name = typeof reference === "string" ? /^#\/\$defs\/([^/]+)$/.exec(reference)?.[1] : undefined
  return [...(name === undefined ? [] : [decodePointer(name)]), ...Object.values(schema).flatMap(sharedNamesIn)]
}

const decodePointer = (name: string): string => decodeURIComponent(name).replaceAll("~1", "/").replaceAll("~0", "~")
