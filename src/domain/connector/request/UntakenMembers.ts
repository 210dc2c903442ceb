/** Finds members of a change that the actions of an update have no argument for: they are set on creation only. */
import { mistakeAt, type Mistakes } from "../../expression/Checks.js"
import { isObject, type JsonObject } from "../../Json.js"
import { firstMember } from "../../mapping/ItemPath.js"
import { type ConnectorDefinition, findAction } from "../Definition.js"
import { actionsOf, argumentsOf } from "../Entity.js"
import type { EntityPlan } from "../EntityPlan.js"
import { readsRecord } from "./EntityArguments.js"

/** A mistake for each common member that an update would not send. `record`: what is to be changed of the provider's. */
export const untakenMistakes = (
  definition: ConnectorDefinition,
  { entity, writing }: EntityPlan,
  record: JsonObject
): Mistakes => {
  const isTaken = (name: string) =>
    actionsOf(entity, "update").some((action, index) => {
      const { additionalProperties, properties } = findAction(definition, action)?.inputSchema ?? {}
      return (
        readsRecord(argumentsOf(entity, "update", index) ?? {}) ||
        additionalProperties !== false ||
        (isObject(properties) && Object.hasOwn(properties, name))
      )
    })
  const untaken = Object.keys(record).filter((name) => !isTaken(name))
  const members = writing.pairs.flatMap(({ from, to }) =>
    from !== undefined && untaken.includes(firstMember(to)) ? [firstMember(from)] : []
  )
  return [...new Set(members)].flatMap((member) =>
    mistakeAt(member, "UNSUPPORTED", `can be set at ${definition.slug} when the record is created, not later`)
  )
}
