/** Evaluates conditions over JSON values, within a budget of steps. Guests run this module, so that it imports no library. */
import type { Json, JsonObject } from "../Json.js"
import type { Comparison, Condition } from "./Condition.js"
import { isList } from "./List.js"
import { compareNumbers } from "./Numbers.js"
import { valueAt } from "./Path.js"
import { type PatternLookup, patternSteps } from "./PatternProgram.js"
import type { StepBudget } from "./StepBudget.js"

/** What evaluating conditions takes: the compiled patterns, and the steps that are left. */
export interface Evaluation {
  readonly patterns: PatternLookup
  readonly budget: StepBudget
}

/**
 * Whether a value meets a condition. A path without a value meets only `exists: false`, `neq` and `nin`. A condition that
 * takes more steps than `budget` has left is not met.
 */
export const meetsCondition = (condition: Condition, value: Json | undefined, evaluation: Evaluation): boolean =>
  isMet(condition, value, evaluation) && !evaluation.budget.isExceeded

const isMet = (condition: Condition, value: Json | undefined, evaluation: Evaluation): boolean => {
  const { budget } = evaluation
  if (!budget.take(stepsPerComparison)) return false
  if ("all" in condition) return condition.all.every((one) => isMet(one, value, evaluation))
  if ("any" in condition) return condition.any.some((one) => isMet(one, value, evaluation))
  if ("not" in condition) return !isMet(condition.not, value, evaluation)
  const { op, path, value: expected } = condition
  return budget.take(path.length) && compare(op, valueAt(value, path), expected, evaluation)
}

const isMembers = (value: Json): value is JsonObject => typeof value === "object" && value !== null && !isList(value)

const stepsPerComparison = 10
/** Characters that are compared, searched or read as a number in the time of a step. */
const charactersPerStep = { compared: 200, searched: 200, parsed: 2 }

/** Whether two values are equal as JSON; the order of members does not count. Stops at the first difference. */
const isSame = (a: Json | undefined, b: Json | undefined, budget: StepBudget): boolean => {
  if (a === undefined || b === undefined || !budget.take(1)) return false
  if (typeof a === "string" && typeof b === "string")
    return a.length === b.length && budget.take(a.length / charactersPerStep.compared) && a === b
  if (isList(a) || isList(b))
    return isList(a) && isList(b) && a.length === b.length && a.every((one, at) => isSame(one, b[at], budget))
  if (!isMembers(a) || !isMembers(b)) return a === b
  const names = Object.keys(a)
  return (
    budget.take(names.length * stepsPerComparison) &&
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && isSame(a[name], b[name], budget))
  )
}

/** Compares numbers, and texts that write numbers, as numbers; other texts by code units. `undefined`: not comparable. */
const compareValues = (a: Json | undefined, b: Json | undefined, budget: StepBudget): number | undefined => {
  if ((typeof a !== "number" && typeof a !== "string") || (typeof b !== "number" && typeof b !== "string")) return
  if (!budget.take(`${a}${b}`.length / charactersPerStep.parsed)) return
  const difference = compareNumbers(a, b)
  if (!Number.isNaN(difference)) return difference
  return typeof a === "string" && typeof b === "string" ? (a < b ? -1 : a > b ? 1 : 0) : undefined
}

const compare = (
  op: Comparison,
  found: Json | undefined,
  value: Json | undefined,
  { budget, patterns }: Evaluation
): boolean => {
  const text = typeof found === "string" ? found : undefined
  const expected = typeof value === "string" ? value : undefined
  const texts = (test: (a: string, b: string) => boolean) =>
    text !== undefined && expected !== undefined && test(text, expected)
  const ordered = (test: (difference: number) => boolean) => {
    const difference = compareValues(found, value, budget)
    return difference !== undefined && test(difference)
  }
  switch (op) {
    case "exists":
      return (found !== undefined) === (value !== false)
    case "eq":
      return isSame(found, value, budget)
    case "neq":
      return !isSame(found, value, budget)
    case "gt":
      return ordered((difference) => difference > 0)
    case "gte":
      return ordered((difference) => difference >= 0)
    case "lt":
      return ordered((difference) => difference < 0)
    case "lte":
      return ordered((difference) => difference <= 0)
    case "in":
      return isList(value) && value.some((one) => isSame(found, one, budget))
    case "nin":
      return !isList(value) || !value.some((one) => isSame(found, one, budget))
    case "contains":
      return isList(found)
        ? found.some((one) => isSame(one, value, budget))
        : texts((a, b) => budget.take((a.length * b.length) / charactersPerStep.searched) && a.includes(b))
    case "startsWith":
      return texts((a, b) => a.startsWith(b))
    case "endsWith":
      return texts((a, b) => a.endsWith(b))
    case "matches":
      return texts((a, b) => {
        const pattern = patterns(b)
        return budget.take(patternSteps(pattern, a)) && pattern?.matches(a) === true
      })
  }
}
