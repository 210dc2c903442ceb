/**
 * Patterns that a tenant writes. Those of conditions are matched where requests are handled, by an engine whose time is
 * linear in the text (RE2 syntax: no lookaround, no reference to a group). Those of JSON Schemas and of credential
 * fields are ECMAScript's, as their standards want; they are matched in computing workers, which have a deadline.
 */
import { RE2JS } from "re2js"
import { memoize } from "./Path.js"

const maxPatternLength = { condition: 500, schema: 1_000 }
/** Instructions that a condition's pattern may compile to. */
const maxInstructions = 2_000
/** Instructions times characters that one match may cost: about 50 ms. Longer texts are matched by their beginning. */
const maxSteps = 1_000_000
const patternCacheSize = 1_000

interface CompiledPattern {
  readonly matches: (text: string) => boolean
}

const compile = (pattern: string): CompiledPattern | string => {
  if (pattern.length > maxPatternLength.condition) return `has more than ${maxPatternLength.condition} characters`
  try {
    const expression = RE2JS.compile(RE2JS.translateRegExp(pattern))
    const instructions = Math.max(1, expression.programSize())
    if (instructions > maxInstructions) return "is too complex: repeat less"
    const longestText = Math.floor(maxSteps / instructions)
    return { matches: (text) => expression.matcher(text.slice(0, longestText)).find() }
  } catch (error) {
    // The library's words begin with its own name for what it did.
    return error instanceof Error ? error.message.replace(/^error parsing regexp: /, "") : "is no pattern"
  }
}

const compileCached = memoize(compile, patternCacheSize)

/** Why a condition cannot have this pattern, if it cannot. */
export const patternMistake = (pattern: string): string | undefined => {
  const made = compileCached(pattern)
  return typeof made === "string" ? made : undefined
}

/** Whether the pattern of a condition matches somewhere in the text. One that `patternMistake` refuses never does. */
export const matchesPattern = (pattern: string, text: string): boolean => {
  const made = compileCached(pattern)
  return typeof made !== "string" && made.matches(text)
}

/** Why a JSON Schema or a credential field cannot have this pattern, if it cannot. */
export const schemaPatternMistake = (pattern: string): string | undefined => {
  if (pattern.length > maxPatternLength.schema) return `has more than ${maxPatternLength.schema} characters`
  try {
    void new RegExp(pattern, "u")
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : "is no regular expression"
  }
}
