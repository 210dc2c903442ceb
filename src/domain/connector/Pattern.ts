/**
 * Patterns that a tenant writes. Those of conditions are matched where requests are handled, by an engine whose time is
 * linear in the text (RE2 syntax: no lookaround, no reference to a group). Those of JSON Schemas and of credential
 * fields are ECMAScript's, as their standards want; they are matched in computing workers, which have a deadline.
 */
import { RE2JS } from "re2js"
import { remembering } from "./Path.js"

const longestPattern = { condition: 500, schema: 1_000 }
/** Instructions that a condition's pattern may compile to. */
const mostInstructions = 2_000
/** Instructions times characters that one match may cost: about 50 ms. Longer texts are matched by their beginning. */
const mostSteps = 1_000_000
const patternsKept = 1_000

interface Compiled {
  readonly matches: (text: string) => boolean
}

const compile = (pattern: string): Compiled | string => {
  if (pattern.length > longestPattern.condition) return `has more than ${longestPattern.condition} characters`
  try {
    const expression = RE2JS.compile(RE2JS.translateRegExp(pattern))
    const instructions = Math.max(1, expression.programSize())
    if (instructions > mostInstructions) return "is too complex: repeat less"
    const longestText = Math.floor(mostSteps / instructions)
    return { matches: (text) => expression.matcher(text.slice(0, longestText)).find() }
  } catch (error) {
    // The library's words begin with its own name for what it did.
    return error instanceof Error ? error.message.replace(/^error parsing regexp: /, "") : "is no pattern"
  }
}

const compiled = remembering(compile, patternsKept)

/** Why a condition cannot have this pattern, if it cannot. */
export const patternMistake = (pattern: string): string | undefined => {
  const made = compiled(pattern)
  return typeof made === "string" ? made : undefined
}

/** Whether the pattern of a condition matches somewhere in the text. One that `patternMistake` refuses never does. */
export const matchesPattern = (pattern: string, text: string): boolean => {
  const made = compiled(pattern)
  return typeof made !== "string" && made.matches(text)
}

/** Why a JSON Schema or a credential field cannot have this pattern, if it cannot. */
export const schemaPatternMistake = (pattern: string): string | undefined => {
  if (pattern.length > longestPattern.schema) return `has more than ${longestPattern.schema} characters`
  try {
    void new RegExp(pattern, "u")
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : "is no regular expression"
  }
}
