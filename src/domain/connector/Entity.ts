/**
 * The schema of an entity of a connector: the actions that read and write its records, the arguments of these actions, and
 * the maps between the provider's records and the common ones. Contract: connector definition.
 */
import { Schema } from "effect"
import { Condition } from "../expression/Condition.js"
import { JsonObject } from "../Json.js"
import { FieldMap } from "../mapping/FieldMap.js"
import type { Verb } from "../model/FieldType.js"
import { optional, optionalList, required, withDefault } from "./Members.js"

const text = Schema.String

/** One action, or several, which are called in turn. */
const Actions = Schema.Union(text, Schema.Array(text).pipe(Schema.minItems(1), Schema.maxItems(5)))
/** The arguments of one action, or of each. */
const Arguments = Schema.Union(JsonObject, Schema.Array(JsonObject).pipe(Schema.minItems(1), Schema.maxItems(5)))

const Descriptions = Schema.Struct({
  action: required(text, "The action that reads the account's own schema."),
  args: optional(JsonObject, "Its arguments."),
  items: required(text, "A path into the action's result to the list of fields."),
  name: required(text, "A path into a field to its name."),
  title: optional(text, "A path into a field to what people call it."),
  type: optional(text, "A path into a field to its type, as the provider names it."),
  required: optional(Condition, "Holds for fields that creating a record needs."),
  readOnly: optional(Condition, "Holds for fields that only the provider sets."),
  custom: optional(Condition, "Holds for fields that the account has defined.")
}).annotations({ identifier: "EntityDescription" })

/** An entity, with the actions that read and write it and its field maps. */
export const EntityDefinition = Schema.Struct({
  name: text,
  cdm: optional(text, "The common entity that its records become."),
  unified: optional(text, "`category/entity` of the unified API."),
  variant: optional(
    text.pipe(
      Schema.pattern(/^[a-z][a-z0-9-]{0,31}$/, { message: () => "must be lower-case letters, digits and hyphens" })
    ),
    "Several entities with the same `unified` each have their own; ids are `variant:id`."
  ),
  read: optional(
    Actions,
    "The action that lists records; `get`, `create`, `update` and `delete` likewise. The last of several gives the record."
  ),
  search: optional(
    Actions,
    "The action that lists records instead of `read` if the caller asks for those after a time."
  ),
  get: optional(Actions),
  create: optional(Actions),
  update: optional(Actions),
  delete: optional(Actions),
  args: withDefault(
    Schema.Struct({
      read: optional(Arguments),
      search: optional(Arguments),
      get: optional(Arguments),
      create: optional(Arguments),
      update: optional(Arguments),
      delete: optional(Arguments)
    }).annotations({ identifier: "EntityArguments" }),
    () => ({}),
    "The arguments of the actions, as templates over `query`, `id`, `record`, `before` and `results`."
  ),
  where: optional(
    Condition,
    "Which of the records that its actions read are the entity's; the others are left out of lists, and not found."
  ),
  record: optional(text, "A path into the results of `get`, `create` and `update` to the record."),
  fieldsAt: optional(text, "The member of a record with the fields, such as `properties`; absent: the record itself."),
  describe: optional(Descriptions),
  minorUnits: optional(
    Schema.Struct({
      currency: required(text, "A path into the record to its currency."),
      decimals: withDefault(
        Schema.Record({
          key: text.pipe(Schema.pattern(/^[A-Z]{3}$/, { message: () => "must be three capital letters, such as EUR" })),
          value: Schema.Int.pipe(Schema.between(0, 4))
        }),
        () => ({}),
        "Currencies whose amounts do not have two decimals at the provider."
      )
    }),
    "Required if a pair of the map is in `minorUnits`."
  ),
  fields: optionalList(FieldMap, "The map for reading `cdm`."),
  fieldsOut: optional(
    Schema.Array(FieldMap),
    "The map for writing `cdm`; absent: `fields` in reverse, which requires pairs without transforms."
  ),
  unifiedFields: optional(
    Schema.Array(FieldMap),
    "The map for reading `unified`; absent: the members of `fields` that both models share."
  ),
  unifiedFieldsOut: optional(
    Schema.Array(FieldMap),
    "The map for writing `unified`; absent: its map for reading in reverse."
  )
}).annotations({ identifier: "EntityDefinition" })
export type EntityDefinition = typeof EntityDefinition.Type

/** The members that name actions: `search` besides the verbs, and `read` for `list`. */
export type EntityOperation = "read" | "search" | "get" | "create" | "update" | "delete"
export const entityOperations: ReadonlyArray<EntityOperation> = ["read", "search", "get", "create", "update", "delete"]

/** The operation of a verb. */
export const operationOf = (verb: Verb): EntityOperation => (verb === "list" ? "read" : verb)

/** The actions of an operation in their order; empty if the entity lacks it. */
export const actionsOf = (entity: EntityDefinition, operation: EntityOperation): ReadonlyArray<string> => {
  const actions = entity[operation]
  return actions === undefined ? [] : typeof actions === "string" ? [actions] : actions
}

/** The argument templates of one action of an operation; `undefined` without `args` for it. */
export const argumentsOf = (
  { args }: EntityDefinition,
  operation: EntityOperation,
  index: number
): JsonObject | undefined => {
  const found = args[operation]
  return found === undefined || !isArgumentList(found) ? (index === 0 ? found : undefined) : found[index]
}

const isArgumentList = (args: JsonObject | ReadonlyArray<JsonObject>): args is ReadonlyArray<JsonObject> =>
  Array.isArray(args)
