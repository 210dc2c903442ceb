/** The worst JSON texts: those that cost most to parse of all that are accepted. Sizes are in bytes. */
import { jsonWeight } from "../../../src/domain/Limits.js"

/** Weights of `src/domain/JsonText.ts`, with the comma that follows a value. */
const weightOf = { number: 1, longInteger: 16, text: 2, emptyList: 6, distinctText: 10, distinctMember: 21, member: 3 }

/** A list or object of parts, as many as the size and the weight allow. `first`: a part that makes it unlike others. */
const listOf =
  (open: string, close: string, weight: number, part: (at: number) => string) =>
  (size: number): string => {
    const parts: Array<string> = []
    let length = 2
    const most = Math.floor((jsonWeight - 30_000) / weight)
    for (let at = 0; parts.length < most; at++) {
      const next = part(at)
      length += next.length + 1
      if (length > size) break
      parts.push(next)
    }
    return `${open}${parts.join(",")}${close}`
  }

/**
 * The same of equal parts, made at once. A copy of bytes is a text in one piece, as a read one is: whoever
 * reads a repeated one first joins its pieces.
 */
const equalOf =
  (open: string, close: string, weight: number, part: string) =>
  (size: number): string => {
    const most = Math.floor((jsonWeight - 30_000) / weight)
    const times = Math.min(most, Math.floor((size - 2) / (part.length + 1)))
    const parts = times > 0 ? `${`${part},`.repeat(times - 1)}${part}` : ""
    return Buffer.from(`${open}${parts}${close}`).toString()
  }

/** A name that was not parsed before: the parser keeps those that it knows. */
let names = 0
const newName = () => (names++).toString(36)

export const worstJson: { readonly [name: string]: (size: number) => string } = {
  "different names in one object": listOf("{", "}", weightOf.distinctMember, () => `"${newName()}":0`),
  "different names in many objects": listOf("[", "]", weightOf.distinctMember + 5, () => `{"${newName()}":0}`),
  "different names in objects of five": listOf("[", "]", 5 * weightOf.distinctMember + 5, () => {
    const members = Array.from({ length: 5 }, () => `"${newName()}":0`)
    return `{${members.join(",")}}`
  }),
  "different short texts": listOf("[", "]", weightOf.distinctText, () => `"${newName()}"`),
  "different numbers as names": listOf("{", "}", weightOf.distinctMember + 1, () => `"${names++ * 7919}":0`),
  "different names, escaped": listOf("{", "}", weightOf.distinctMember + 1, () => `"\\u0061${newName()}":0`),
  "different long names": listOf("{", "}", weightOf.distinctMember + 7, () => `"${newName().padStart(60, "k")}":0`),
  "one name many times": equalOf("{", "}", weightOf.member, `"a":0`),
  "a thousand names in turn": listOf("{", "}", weightOf.member, (at) => `"k${at % 1000}":0`),
  "equal objects": equalOf("[", "]", weightOf.member + 6, `{"a":0}`),
  "short texts": equalOf("[", "]", weightOf.text, `"é"`),
  numbers: equalOf("[", "]", weightOf.number, "0"),
  "long numbers": equalOf("[", "]", weightOf.number, "1.234567890123456e-300"),
  "integers that are rounded": equalOf("[", "]", weightOf.longInteger, "12345678901234567"),
  "large integers that are not rounded": equalOf("[", "]", weightOf.longInteger, "9007199254740992"),
  "large integers as members": equalOf("{", "}", weightOf.longInteger + 2, `"a":12345678901234567`),
  "numbers that may be infinite": equalOf("[", "]", 6, "1e308"),
  "empty lists": equalOf("[", "]", weightOf.emptyList, "[]"),
  "deep lists": equalOf("[", "]", 60 * 5 + 1, `${"[".repeat(60)}${"]".repeat(60)}`),
  "one text of escapes": (size) => `"${"\\u00e9".repeat(size / 6 - 1)}"`,
  "one long text": (size) => `"${"é".repeat(size / 2 - 2)}"`,
  "one long number": (size) => `0.${"1".repeat(size - 3)}`,
  spaces: (size) => `[${" ".repeat(size - 2)}]`,
  "an unclosed text": (size) => `"${"a".repeat(size - 1)}`,
  "too many objects": (size) => `[${"{},".repeat(size / 3 - 2)}{}]`
}

/** Whether the texts of this name are accepted; the others are refused while they are read. */
export const isValidJson = (name: string): boolean => !["an unclosed text", "too many objects"].includes(name)

const encoder = new TextEncoder()

/** The same texts as bytes. */
export const worstJsonBytes: { readonly [name: string]: (size: number) => Uint8Array } = Object.fromEntries(
  Object.entries(worstJson).map(([name, make]) => [name, (size: number) => encoder.encode(make(size))])
)

/** The same text in a list, after an integer that makes it be looked at. */
export const withLargeInteger = (body: Uint8Array): Uint8Array =>
  Buffer.concat([Buffer.from("[12345678901234567,"), body, Buffer.from("]")])

/** Those of the worst texts that are read at all. */
export const readJsonBytes = Object.fromEntries(
  Object.entries(worstJsonBytes).filter(([name]) => name !== "too many objects" && name !== "an unclosed text")
)
