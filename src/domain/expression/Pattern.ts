/**
 * Compiles the regular expressions that tenants write. It runs in computing workers only: what it costs, tenants choose.
 * Patterns of conditions become programs, which the main loop matches (no lookaround, no back-references). Patterns of JSON
 * Schemas and credential fields are ECMAScript's; they are also matched in workers.
 */
import { Either } from "effect"
import { RE2JS } from "re2js"
import { patternExtent } from "./PatternExtent.js"
import { Instruction, type PatternProgram } from "./PatternProgram.js"

const maxPatternLength = { condition: 500, schema: 1_000 }
/** The most instructions of a compiled pattern, and how far the estimate before compiling may exceed them. */
const maxInstructions = 2_000
const estimateMargin = 2
/** The most ranges in the classes of a compiled pattern. */
const maxRanges = 10_000

const tooComplex = Either.left("is too complex: repeat less, and name fewer classes of characters")

/** Compiles the pattern of a condition. Left: why it cannot be used. */
export const compilePattern = (pattern: string): Either.Either<PatternProgram, string> => {
  if (pattern.length > maxPatternLength.condition)
    return Either.left(`has more than ${maxPatternLength.condition} characters`)
  if (patternExtent(pattern) > estimateMargin * maxInstructions) return tooComplex
  try {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern))
    if (compiled.programSize() > maxInstructions) return tooComplex
    const program = programOf(compiled.re2().prog)
    const ranges = program.classes.reduce((sum, { length }) => sum + length / 2, 0)
    return ranges > maxRanges ? tooComplex : Either.right(program)
  } catch (error) {
    // Without the library's prefix.
    return Either.left(
      error instanceof Error ? error.message.replace(/^error parsing regexp: /, "") : "is not a valid pattern"
    )
  }
}

/** Why a pattern cannot be used in a condition; `undefined` if it can. */
export const patternMistake = (pattern: string): string | undefined =>
  Either.match(compilePattern(pattern), { onLeft: (why) => why, onRight: () => undefined })

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

// --- Programs ---

/** The library's program. */
interface Compiled {
  readonly start: number
  readonly inst: ReadonlyArray<CompiledInstruction>
  readonly startCond: () => number
}

interface CompiledInstruction {
  readonly op: number
  readonly out: number
  readonly arg: number
  readonly runes: Int32Array
  readonly matchRune: (rune: number) => boolean
}

/** The library's numbers of its instructions. */
const Op = {
  alt: 1,
  altMatch: 2,
  capture: 3,
  emptyWidth: 4,
  match: 6,
  nop: 7,
  rune: 8,
  rune1: 9,
  runeAny: 10,
  runeAnyNotNewline: 11
} as const

const lastRune = 0x10_ffff
const anyRune = [0, lastRune]
const anyButNewline = [0, 0x09, 0x0b, lastRune]
const beginText = 4

const programOf = (compiled: Compiled): PatternProgram => {
  const classes = new Map<string, readonly [number: number, ranges: ReadonlyArray<number>]>()
  const numberOfClass = (ranges: ReadonlyArray<number>): number => {
    const key = ranges.join()
    const found = classes.get(key)
    if (found !== undefined) return found[0]
    classes.set(key, [classes.size, ranges])
    return classes.size - 1
  }
  const codeOf = (one: CompiledInstruction): readonly [kind: number, out: number, arg: number] => {
    const { arg, op, out, runes } = one
    const [first = 0] = runes
    switch (op) {
      case Op.alt:
      case Op.altMatch:
        return [Instruction.branch, out, arg]
      case Op.capture:
      case Op.nop:
        return [Instruction.skip, out, 0]
      case Op.emptyWidth:
        return [Instruction.assert, out, arg]
      case Op.match:
        return [Instruction.match, 0, 0]
      case Op.rune1:
        return [Instruction.character, out, first]
      case Op.rune:
        return [Instruction.class, out, numberOfClass(runes.length === 1 ? foldedRanges(one, first) : [...runes])]
      case Op.runeAny:
        return [Instruction.class, out, numberOfClass(anyRune)]
      case Op.runeAnyNotNewline:
        return [Instruction.class, out, numberOfClass(anyButNewline)]
      default:
        return [Instruction.fail, 0, 0]
    }
  }
  const code = compiled.inst.flatMap(codeOf)
  return {
    start: compiled.start,
    isAnchored: (compiled.startCond() & beginText) !== 0,
    code,
    classes: Array.from(classes.values(), ([, ranges]) => ranges)
  }
}

/** Characters that differ in case only, by their upper-case form. Made when a pattern first ignores case. */
let caseVariants: Map<string, Array<number>> | undefined

/** The last character that has an upper-case or a lower-case form. */
const lastCased = 0x1_e943

const variantsOf = (rune: number): ReadonlyArray<number> => {
  if (caseVariants === undefined) {
    caseVariants = new Map()
    for (let one = 0; one <= lastCased; one++) {
      const text = String.fromCodePoint(one)
      const upper = text.toLowerCase().toUpperCase()
      if (upper === text && text.toLowerCase() === text) continue
      const variants = caseVariants.get(upper)
      if (variants === undefined) caseVariants.set(upper, [one])
      else variants.push(one)
    }
  }
  return caseVariants.get(String.fromCodePoint(rune).toLowerCase().toUpperCase()) ?? []
}

/** The ranges of a character that is matched in any case. */
const foldedRanges = (one: CompiledInstruction, rune: number): ReadonlyArray<number> =>
  [...new Set([rune, ...variantsOf(rune)])]
    .filter((variant) => one.matchRune(variant))
    .sort((a, b) => a - b)
    .flatMap((variant) => [variant, variant])
