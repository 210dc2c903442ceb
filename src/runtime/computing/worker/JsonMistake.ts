/** Finds the place at which a text is no JSON, for people who wrote it: V8's own message has no place for most mistakes. */

/** A mistake in a text. Line and column count from 1. */
export interface JsonMistake {
  readonly line: number
  readonly column: number
  readonly message: string
}

/** One token: a sign, a text, a number or a word. */
const token =
  /(?:([{}[\],:])|("[ !#-[\]-\u{10ffff}]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[ !#-[\]-\u{10ffff}]*)*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.]))/uy
const blank = /[ \t\n\r]*/y

/** What may come next, in the words of the message. */
type Expected =
  | "a value"
  | "a value or ]"
  | "a name in quotes"
  | "a name in quotes or }"
  | ":"
  | ", or ]"
  | ", or }"
  | "the end"

/** What comes after a token where it may stand. `after`: after a value. `close`: after the value that the token closes. */
const moves: ReadonlyMap<string, Expected | "after" | "close"> = new Map([
  ...["a value", "a value or ]"].flatMap((place) => [
    [`${place} {`, "a name in quotes or }"] as const,
    [`${place} [`, "a value or ]"] as const,
    [`${place} text`, "after"] as const,
    [`${place} scalar`, "after"] as const
  ]),
  ["a value or ] ]", "close"],
  ["a name in quotes text", ":"],
  ["a name in quotes or } text", ":"],
  ["a name in quotes or } }", "close"],
  [": :", "a value"],
  [", or ] ,", "a value"],
  [", or ] ]", "close"],
  [", or } ,", "a name in quotes"],
  [", or } }", "close"]
])

/** What comes after a value inside of a bracket. */
const afterValue = (around: string | undefined): Expected =>
  around === undefined ? "the end" : around === "[" ? ", or ]" : ", or }"

const mistakeAt = (text: string, at: number, expected: Expected): JsonMistake => {
  const lines = text.slice(0, at).split("\n")
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1, message: `expected ${expected}` }
}

/** The first place at which a text is no JSON; `undefined` if it is JSON. */
export const findJsonMistake = (text: string): JsonMistake | undefined => {
  const open: Array<string> = []
  let expected: Expected = "a value"
  let at = 0
  for (;;) {
    blank.lastIndex = at
    blank.exec(text)
    const start = blank.lastIndex
    if (start === text.length && expected === "the end") return undefined
    token.lastIndex = start
    const [, sign, quoted] = token.exec(text) ?? [undefined, ""]
    const move = moves.get(`${expected} ${sign ?? (quoted === undefined ? "scalar" : "text")}`)
    if (move === undefined) return mistakeAt(text, start, expected)
    if (sign === "{" || sign === "[") open.push(sign)
    if (move === "close") open.pop()
    expected = move === "after" || move === "close" ? afterValue(open.at(-1)) : move
    at = token.lastIndex
  }
}
