/** Where the provider's answer has what an action's result has. */
import { cachedPath } from "../../expression/Path.js"
import { cachedTemplate } from "../../expression/Template.js"
import { isObject, type Json } from "../../Json.js"
import type { ActionDefinition } from "../Action.js"
import type { SchemaStep } from "./SchemaMembers.js"

/** The path in the answer's body; `undefined`: the result's member is no member of the body. */
export const answerPath = (
  { response }: ActionDefinition,
  path: ReadonlyArray<SchemaStep>
): ReadonlyArray<SchemaStep> | undefined => {
  const { map } = response
  if (map === undefined) return path
  if (typeof map === "string") {
    const parsed = cachedPath(map)
    return "mistake" in parsed ? undefined : [...parsed.value.map(stepOf), ...path]
  }
  let at: Json | undefined = map
  for (const [index, step] of path.entries()) {
    if (typeof at === "string") return bodyPath(at, path.slice(index))
    at = isObject(at) && step !== null && Object.hasOwn(at, step) ? at[step] : undefined
  }
  return typeof at === "string" ? bodyPath(at, []) : undefined
}

/** The path that a template reads, if it is one value of the body. */
const bodyPath = (template: string, below: ReadonlyArray<SchemaStep>): ReadonlyArray<SchemaStep> | undefined => {
  const [part, more] = cachedTemplate(template)
  if (part?._tag !== "Expression" || more !== undefined || part.operands.length > 1) return undefined
  const [operand] = part.operands
  if (operand?._tag !== "Path" || operand.path[0] !== "body") return undefined
  return [...operand.path.slice(1).map(stepOf), ...below]
}

const stepOf = (segment: string | number): SchemaStep => (typeof segment === "number" ? null : segment)
