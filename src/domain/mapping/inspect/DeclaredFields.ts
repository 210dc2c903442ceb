/** The fields that a connector's version declares of an entity's records, in the result schemas of the actions that read them. */
import type { ConnectorDefinition } from "../../connector/Definition.js"
import { findAction } from "../../connector/Definition.js"
import { actionsOf, type EntityDefinition } from "../../connector/Entity.js"
import { isList } from "../../expression/List.js"
import { cachedPath, type Path } from "../../expression/Path.js"
import { isObject, type Json, type JsonObject } from "../../Json.js"
import { scanItemPath } from "../ItemPath.js"

/** Levels of references that are followed. */
const maxReferences = 8

/** Whether a path into an entity's record is declared; `undefined`: no schema tells. */
export const isDeclared = (
  definition: ConnectorDefinition,
  entity: EntityDefinition,
  from: string
): boolean | undefined => {
  const path = scanItemPath(from)
  if ("mistake" in path) return undefined
  const answers = recordSchemas(definition, entity).map((schema) =>
    path.value.reduce<Found>(
      (at, part, index) => below(definition, index === 0 ? at : itemsOf(definition, at), part),
      schema
    )
  )
  if (answers.some((one) => one !== "absent" && one !== "unknown")) return true
  return answers.includes("absent") && !answers.includes("unknown") ? false : undefined
}

/** A schema, or that none tells, or that the schema on the way lacks the member. */
type Found = JsonObject | "absent" | "unknown"

/** The schemas of a record, of the actions that list records and that read one. */
const recordSchemas = (definition: ConnectorDefinition, entity: EntityDefinition): ReadonlyArray<Found> => {
  const schemaOf = (operation: "read" | "get") => findAction(definition, actionsOf(entity, operation).at(-1) ?? "")
  const listed = schemaOf("read")
  const got = schemaOf("get")
  return [
    ...(listed === undefined
      ? []
      : [itemsOf(definition, at(definition, listed.outputSchema, listed.pagination?.items))]),
    ...(got === undefined ? [] : [at(definition, got.outputSchema, entity.record)])
  ].filter((one) => one !== "unknown")
}

const at = (definition: ConnectorDefinition, schema: JsonObject, path: string | undefined): Found => {
  const parsed = cachedPath((path ?? "$").replace(/\[\*\]$/, ""))
  return "mistake" in parsed ? "unknown" : below(definition, schema, parsed.value)
}

const below = (definition: ConnectorDefinition, from: Found, path: Path): Found =>
  path.reduce<Found>((schema, segment) => {
    if (typeof segment === "number") return itemsOf(definition, schema)
    const resolved = resolve(definition, schema)
    if (resolved === "absent" || resolved === "unknown") return resolved
    const { properties } = resolved
    if (!isObject(properties)) return "unknown"
    const member = Object.hasOwn(properties, segment) ? properties[segment] : undefined
    return isObject(member) ? member : member === undefined ? "absent" : "unknown"
  }, from)

const itemsOf = (definition: ConnectorDefinition, from: Found): Found => {
  const resolved = resolve(definition, from)
  if (resolved === "absent" || resolved === "unknown") return resolved
  return isObject(resolved["items"]) ? resolved["items"] : "unknown"
}

/** The schema that a reference leads to. Alternatives tell nothing. */
const resolve = ({ schemas }: ConnectorDefinition, from: Found): Found => {
  let found: Json | undefined = typeof from === "string" ? undefined : from
  if (typeof from === "string") return from
  for (let depth = 0; depth < maxReferences; depth += 1) {
    if (!isObject(found) || isList(found)) return "unknown"
    const ref: Json | undefined = found["$ref"]
    if (typeof ref !== "string") return found
    const name: string = ref.startsWith("#/$defs/") ? ref.slice(8) : ""
    found = Object.hasOwn(schemas, name) ? schemas[name] : undefined
  }
  return "unknown"
}
