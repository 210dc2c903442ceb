/** The patterns of conditions match as RE2 does, at a cost that is bounded before they are compiled. */
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck } from "effect"
import { RE2JS } from "re2js"
import { compilePattern } from "../../../src/domain/expression/Pattern.js"
import { patternExtent } from "../../../src/domain/expression/PatternExtent.js"
import { loadPattern } from "../../../src/domain/expression/PatternProgram.js"
import { isLong } from "../../support/longForm.js"

const oracle = (pattern: string, text: string): boolean =>
  RE2JS.compile(RE2JS.translateRegExp(pattern)).matcher(text).find()

const matches = (pattern: string, text: string): boolean =>
  loadPattern(Either.getOrThrow(compilePattern(pattern))).matches(text)

const atoms = [
  "a",
  "b",
  "K",
  "ß",
  "é",
  ".",
  "\\w",
  "\\d",
  "[^a]",
  "[a-c\\p{L}]",
  "\\p{Lu}",
  "\\n",
  "^",
  "$",
  "\\b",
  "\\B",
  "\\A",
  "\\z",
  "(?:ab|a)",
  "(b)",
  "\u{1F600}",
  "(?i:ka)",
  "(?s:.)",
  "(?m:^)"
]
const quantifiers = ["", "", "", "*", "+", "?", "{2}", "{0,2}", "{1,}", "*?", "{0}"]
const pattern = FastCheck.array(
  FastCheck.tuple(FastCheck.constantFrom(...atoms), FastCheck.constantFrom(...quantifiers)),
  {
    maxLength: 6
  }
).map((parts) =>
  parts.map(([atom, quantifier]) => (/^[\^$]$|^\\[bBAz]$/.test(atom) ? atom : atom + quantifier)).join("")
)
const wholePattern = FastCheck.tuple(FastCheck.constantFrom("", "(?i)", "(?s)", "(?m)"), pattern, pattern).map(
  ([flags, one, other]) => (other === "" ? `${flags}${one}` : `${flags}${one}|${other}`)
)
const letters = ["a", "b", "A", "k", "\u212a", "s", "ſ", "ß", "é", "É", "1", "_", " ", "\n", "\u{1F600}", "\ud800"]
const text = FastCheck.array(FastCheck.constantFrom(...letters), { maxLength: 8 }).map((all) => all.join(""))

describe("a pattern", () => {
  it("matches what RE2 matches", () => {
    FastCheck.assert(
      FastCheck.property(wholePattern, text, (one, found) => {
        assert.strictEqual(matches(one, found), oracle(one, found), JSON.stringify([one, found]))
      }),
      { numRuns: isLong ? 20_000 : 10_000 }
    )
  })

  it.each(["é", "k", "s", "ß", "σ", "ǆ", "ӏ", "ⴀ", "𞤢", "1", "K", "µ", "θ"])("%s is matched in any case", (letter) => {
    const folded = loadPattern(Either.getOrThrow(compilePattern(`(?i)^${letter}$`)))
    const expected = RE2JS.compile(`(?i)^${letter}$`)
    for (let rune = 0; rune < 0x1_f000; rune++) {
      const one = String.fromCodePoint(rune)
      if (folded.matches(one) !== expected.matcher(one).find()) assert.fail(`${letter} and ${rune.toString(16)}`)
    }
  })
})

describe("what a pattern expands to", () => {
  it.each([
    ["a{1000}b{1000}c{1000}d{1000}e{1000}", 5_000],
    ["(?:a{1000}b{1000}c{1000}d{1000}e{1000}){0}", 5_000],
    ["(?:(?:a{10}){10}){100}", 10_000],
    ["\\pL{1000}[\\p{L}]{1000}\\p{L}{1000}[[:alpha:]]{1000}[]a]{1000}", 5_000],
    ["(?P<n>a{100}){50}", 5_000],
    ["(?i)[^\\]x{9}]{0,1000}[a{1000}]{0,1000}.{999}.{999}.{999}", 4_900]
  ])("%s is refused before it is compiled", (one, least) => {
    assert.isAtLeast(patternExtent(one), least)
    assert.include(
      Either.getOrElse(Either.flip(compilePattern(one)), () => "compiled"),
      "too complex"
    )
  })

  it("is not far above the instructions", () => {
    FastCheck.assert(
      FastCheck.property(wholePattern, (one) => {
        const instructions = RE2JS.compile(RE2JS.translateRegExp(one)).programSize()
        assert.isAtMost(instructions, 3 * patternExtent(one) + 4, one)
      }),
      { numRuns: 2_000 }
    )
  })

  it("of a usual pattern is accepted", () => {
    for (const one of [
      "^order\\.(created|paid)$",
      "(?i)^[\\p{L}\\d ._-]{1,200}$",
      "a{1000}",
      "\\Qa{9999}\\E",
      "x{",
      "[a{1000}]"
    ])
      assert.isTrue(Either.isRight(compilePattern(one)), one)
  })
})
