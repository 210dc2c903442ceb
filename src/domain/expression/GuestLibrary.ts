/**
 * What the script of a flow evaluates expressions, mappings and conditions with. `npm run generate` bundles this module into
 * `FlowLibrary.ts`; the service calls the same functions, so that both give the same. It imports no library.
 *
 * A script reads its constants by `JSON.parse`: in a literal, a member `__proto__` would set the prototype. A workflow that
 * changes built-ins changes what these functions give in the rest of its own run, and nothing else: no other run sees its
 * objects, and the service reads only the host calls and the result that the guest sends.
 */
import type { Json, JsonObject } from "../Json.js"
import { evaluateMapping } from "../mapping/MappingEvaluation.js"
import { applyTransforms } from "../mapping/TransformEvaluation.js"
import type { Condition } from "./Condition.js"
import { meetsCondition } from "./ConditionEvaluation.js"
import { withValues } from "./FlowCondition.js"
import { timeOf } from "../flow/WaitTime.js"
import { loadPattern, type Pattern, type PatternProgram } from "./PatternProgram.js"
import { conditionSteps, StepBudget } from "./StepBudget.js"
import { renderAll } from "./Template.js"

/** Compiled patterns by how they are written. A pattern without a program matches nothing. */
export type PatternPrograms = { readonly [pattern: string]: PatternProgram }

const loadedPatterns = new WeakMap<PatternProgram, Pattern>()

const loadOnce = (program: PatternProgram): Pattern => {
  const pattern = loadedPatterns.get(program) ?? loadPattern(program)
  loadedPatterns.set(program, pattern)
  return pattern
}

/** The value of every template in a value; a missing path gives null. */
export const value = (template: Json, scope: JsonObject): Json => renderAll(template, scope)

/** Whether the scope meets a flow's condition. Throws a `RangeError` if that takes more than `conditionSteps`. */
export const meets = (condition: Condition, scope: JsonObject, programs: PatternPrograms = {}): boolean => {
  const budget = new StepBudget(conditionSteps)
  const patterns = (text: string): Pattern | undefined => {
    const program = Object.hasOwn(programs, text) ? programs[text] : undefined
    return program && loadOnce(program)
  }
  const isMet = meetsCondition(withValues(condition, scope), scope, { patterns, budget })
  if (budget.isExceeded)
    throw new RangeError(
      `the condition takes more than ${conditionSteps} steps: compare fewer values, or shorter texts`
    )
  return isMet
}

export { timeOf as time, evaluateMapping as map, applyTransforms as transform }
