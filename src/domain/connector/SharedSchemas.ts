/** JSON Schemas of a definition: what several of them share stands once, in `schemas`, and is named `#/$defs/NAME`. */
import type { Json, JsonObject } from "../Json.js"
import type { ConnectorDefinition } from "./Definition.js"
import { isList, isObject } from "./ValueEncoding.js"

/**
 * A schema that stands alone: with every shared one that it needs, and no other, in its `$defs`.
 * @internal The lock of the built-in actions and tests use it.
 */
export const standaloneSchema = (definition: Pick<ConnectorDefinition, "schemas">, schema: JsonObject): JsonObject => {
  const needed = new Map<string, Json>()
  const waiting: Array<Json> = [schema]
  for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
    for (const name of sharedNamesIn(one)) {
      const shared = Object.hasOwn(definition.schemas, name) ? definition.schemas[name] : undefined
      if (shared === undefined || needed.has(name)) continue
      needed.set(name, shared)
      waiting.push(shared)
    }
  }
  if (needed.size === 0) return schema
  const own = schema["$defs"]
  return { ...schema, $defs: { ...Object.fromEntries(needed), ...(own !== undefined && isObject(own) ? own : {}) } }
}

/** The names of shared schemas that a schema refers to. */
export const sharedNamesIn = (schema: Json): ReadonlyArray<string> => {
  if (typeof schema !== "object" || schema === null) return []
  if (isList(schema)) return schema.flatMap(sharedNamesIn)
  const reference = schema["$ref"]
  const name = typeof reference === "string" ? /^#\/\$defs\/([^/]+)$/.exec(reference)?.[1] : undefined
  return [...(name === undefined ? [] : [decoded(name)]), ...Object.values(schema).flatMap(sharedNamesIn)]
}

const decoded = (name: string): string => decodeURIComponent(name).replaceAll("~1", "/").replaceAll("~0", "~")
