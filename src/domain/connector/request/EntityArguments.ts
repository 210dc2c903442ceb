/** The arguments of the actions that read and write an entity's records. Contract: connector definition. */
import { isList } from "../../expression/List.js"
import { valueAt } from "../../expression/Path.js"
import { cachedTemplate, renderMembers, templatePaths, textsIn } from "../../expression/Template.js"
import { isObject, type Json, type JsonObject } from "../../Json.js"
import type { ActionDefinition } from "../Action.js"
import { argumentsOf, type EntityDefinition, type EntityOperation } from "../Entity.js"

/** What templates of arguments read. */
export interface ArgumentScope {
  readonly query: JsonObject
  readonly id: string | null
  /** The provider's record that is written; null where none is. */
  readonly record: JsonObject | null
  /** The provider's record as it is. */
  readonly before: JsonObject | null
  /** Of the operation's earlier actions. */
  readonly results: ReadonlyArray<Json>
}

/** The arguments of an operation's action. `schemas`: those that the action's refer to. */
export const entityArguments = (
  entity: EntityDefinition,
  operation: EntityOperation,
  index: number,
  action: ActionDefinition,
  scope: ArgumentScope,
  schemas: JsonObject
): JsonObject => {
  const templates = argumentsOf(entity, operation, index)
  const record = scope.record ?? {}
  const args =
    templates === undefined
      ? { ...record, ...idArgument(action, scope.id, record) }
      : {
          ...(readsRecord(templates) ? {} : record),
          ...renderMembers(templates, { ...scope, results: scope.results })
        }
  const isRead = operation === "read" || operation === "search"
  const fitted = fitToSchema(args, action.inputSchema, { schemas, isClamped: isRead }, 0)
  return isObject(fitted) ? fitted : args
}

/** By templates, which each call of a definition's action asks for. */
const cachedReads = new WeakMap<JsonObject, boolean>()

/** Whether the templates of an action read the record as a whole. */
export const readsRecord = (templates: JsonObject): boolean => {
  const known = cachedReads.get(templates)
  if (known !== undefined) return known
  const reads = textsIn(templates, "").some(([, text]) =>
    templatePaths(cachedTemplate(text)).some(([root, ...below]) => root === "record" && below.length === 0)
  )
  cachedReads.set(templates, reads)
  return reads
}

/** Without templates the id is the only argument that the action requires and the record lacks. */
const idArgument = (action: ActionDefinition, id: string | null, record: JsonObject): JsonObject => {
  const { required } = action.inputSchema
  if (id === null || !isList(required)) return {}
  const lacking = required.filter((name) => typeof name === "string" && !Object.hasOwn(record, name))
  const [only, ...more] = lacking
  return typeof only === "string" && more.length === 0 ? { [only]: id } : {}
}

// --- Types of arguments ---

/** Levels of schemas that are followed. */
const maxDepth = 12

interface Fitting {
  readonly schemas: JsonObject
  /** Whether numbers are kept within the schema's bounds: a page is as large as the provider allows. */
  readonly isClamped: boolean
}

/** The value with scalars in the type that the schema wants: maps write amounts and ids as text. */
const fitToSchema = (value: Json, schema: Json | undefined, fitting: Fitting, depth: number): Json => {
  const resolved = resolve(schema, fitting.schemas)
  if (!isObject(resolved) || depth > maxDepth) return value
  if (isList(value)) {
    const { items } = resolved
    return items === undefined ? value : value.map((item) => fitToSchema(item, items, fitting, depth + 1))
  }
  if (isObject(value)) {
    const { properties } = resolved
    if (!isObject(properties)) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        name,
        Object.hasOwn(properties, name) ? fitToSchema(member, properties[name], fitting, depth + 1) : member
      ])
    )
  }
  return fitScalar(value, resolved, fitting)
}

const resolve = (schema: Json | undefined, schemas: JsonObject): Json | undefined => {
  const ref = isObject(schema) ? schema["$ref"] : undefined
  return typeof ref === "string" && ref.startsWith("#/$defs/") ? valueAt(schemas, `["${ref.slice(8)}"]`) : schema
}

const fitScalar = (value: Json, schema: JsonObject, { isClamped }: Fitting): Json => {
  const { maximum, minimum, type } = schema
  const types = isList(type) ? type : [type]
  const clamp = (number: number) =>
    isClamped
      ? Math.max(
          typeof minimum === "number" ? minimum : -Infinity,
          Math.min(typeof maximum === "number" ? maximum : Infinity, number)
        )
      : number
  const wants = (name: string) => types.includes(name)
  const isNumeric = wants("number") || wants("integer")
  if (typeof value === "string" && !wants("string")) {
    if (isNumeric && /^-?\d+(\.\d+)?$/.test(value) && Number.isSafeInteger(Math.trunc(Number(value))))
      return clamp(Number(value))
    if (wants("boolean") && (value === "true" || value === "false")) return value === "true"
    return value
  }
  if (typeof value === "number") return isNumeric ? clamp(value) : wants("string") ? String(value) : value
  return typeof value === "boolean" && wants("string") && !wants("boolean") ? String(value) : value
}
