/** Patterns that are compiled where they are asked for, for tests of what matches them. */
import { Either } from "effect"
import { compilePattern } from "../../src/domain/expression/Pattern.js"
import { memoize } from "../../src/domain/RecentMap.js"
import { loadPattern, type PatternLookup } from "../../src/domain/expression/PatternProgram.js"

export const compiledPatterns: PatternLookup = memoize((pattern) =>
  Either.match(compilePattern(pattern), { onLeft: () => undefined, onRight: loadPattern })
)

/** Patterns that backtrack without end in an engine that is not linear. */
export const backtracking = [
  "(a+)+$",
  "(a|a)*b",
  "(a?){30}a{30}",
  "(.*)*$",
  "((a)b*)+c",
  "a*a*a*a*b",
  "(x{1,9}){1,9}",
  "(?:a?b?c?)a*a*b$"
]
