/**
 * Regular expressions that tenants write. Patterns of conditions are matched on the main loop by RE2, in time linear in the
 * text (no lookaround, no back-references). Patterns of JSON Schemas and credential fields are ECMAScript's; they are
 * matched in computing workers, which have a deadline.
 */
import { RE2JS } from "re2js"
import { memoize } from "./Path.js"

const maxPatternLength = { condition: 500, schema: 1_000 }
/** The most instructions of a compiled pattern. */
const maxInstructions = 2_000
/** The most instructions times characters of one match, about 50 ms. Of longer texts only the beginning is matched. */
const maxSteps = 1_000_000
const patternCacheSize = 1_000

interface CompiledPattern {
  readonly instructions: number
  readonly matches: (text: string) => boolean
}

const compile = (pattern: string): CompiledPattern | string => {
  if (pattern.length > maxPatternLength.condition) return `has more than ${maxPatternLength.condition} characters`
  try {
    const expression = RE2JS.compile(RE2JS.translateRegExp(pattern))
    const instructions = Math.max(1, expression.programSize())
    if (instructions > maxInstructions) return "is too complex: repeat less"
    const longestText = Math.floor(maxSteps / instructions)
    return { instructions, matches: (text) => expression.matcher(text.slice(0, longestText)).find() }
  } catch (error) {
    // Without the library's prefix.
    return error instanceof Error ? error.message.replace(/^error parsing regexp: /, "") : "is not a valid pattern"
  }
}

const compileCached = memoize(compile, patternCacheSize)

/** Why a pattern cannot be used in a condition; `undefined` if it can. */
export const patternMistake = (pattern: string): string | undefined => {
  const compiled = compileCached(pattern)
  return typeof compiled === "string" ? compiled : undefined
}

/** The most instructions times characters that matching the text takes; 0 for an invalid pattern. */
export const patternSteps = (pattern: string, text: string): number => {
  const compiled = compileCached(pattern)
  return typeof compiled === "string" ? 0 : Math.min(compiled.instructions * text.length, maxSteps)
}

/** Whether a condition's pattern matches anywhere in the text; an invalid pattern never matches. */
export const matchesPattern = (pattern: string, text: string): boolean => {
  const compiled = compileCached(pattern)
  return typeof compiled !== "string" && compiled.matches(text)
}

/** Why a pattern cannot be used in a JSON Schema or credential field; `undefined` if it can. */
export const schemaPatternMistake = (pattern: string): string | undefined => {
  if (pattern.length > maxPatternLength.schema) return `has more than ${maxPatternLength.schema} characters`
  try {
    void new RegExp(pattern, "u")
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : "is not a regular expression"
  }
}
