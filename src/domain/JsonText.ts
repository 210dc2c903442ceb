/**
 * Bounds the depth and the number of values of a JSON text before it is parsed, without recursion: a client chooses both,
 * and a megabyte of empty objects takes a second to process, as does one of different names. Finds what of it cannot be
 * stored as well, since the text is shorter than the walk through its values.
 */
import type { Json, Unstorable } from "./Json.js"
import { jsonDepth, jsonWeight } from "./Limits.js"

const [quote, comma, colon, backslash, space] = [34, 44, 58, 92, 32]
const [letterU, letterE, upperE, plus, minus] = [117, 101, 69, 43, 45]
const [openArray, closeArray, openObject, closeObject] = [91, 93, 123, 125]

/** The weight of an object or array; a number has weight 1. */
const containerWeight = 5
/**
 * The further weights of a text, of a name, and of either that the parser looks up in its table and that is new there,
 * beside an eighth of its length: a name costs again where its object is used.
 */
const textWeight = 1
const nameWeight = 2
const distinctNameWeight = 18
const distinctTextWeight = 8
/** The parser looks up names, and texts up to this length; a character may be written as an escape of six. */
const lookedUpLength = 10
const escapedLength = 6 * lookedUpLength
/** The further weight of an integer that may be rounded: it costs the parser ten times as much, and is looked at again. */
const longIntegerWeight = 15
const longInteger = 16
/** A number with fewer characters is finite if it has no exponent. */
const finiteLength = 300

/** The deepest nesting and the largest weight. */
export interface JsonBounds {
  readonly depth: number
  readonly weight: number
}

/** What a text exceeds or contains. */
export type JsonProblem = Unstorable["reason"] | "tooHeavy"

const defaultBounds: JsonBounds = { depth: jsonDepth, weight: jsonWeight }

/** That a JSON text is too heavy, or its first other problem; `undefined` if none. Meaningless for text that is not JSON. */
export const findProblem = (text: string, bounds: JsonBounds = defaultBounds): JsonProblem | undefined =>
  new JsonScan(text, bounds).run()

/** Like `findProblem`, with the number of values inside objects and arrays, as far as the text was read. */
export const measureJson = (
  text: string,
  bounds: JsonBounds
): { readonly problem: JsonProblem | undefined; readonly values: number } => {
  const scan = new JsonScan(text, bounds)
  const problem = scan.run()
  return { problem, values: scan.values }
}

/** The value of a JSON text; `undefined` for text that is not JSON, or too heavy to be parsed. */
export const parseBounded = (text: string): Json | undefined => {
  if (findProblem(text) === "tooHeavy") return undefined
  try {
    const value: Json = JSON.parse(text)
    return value
  } catch {
    return undefined
  }
}

/** Texts up to this length are parsed to find the place of what cannot be stored. */
export const locatedLength = 256 * 1024

/** The error message for a text that is too heavy. */
export const tooHeavyMessage =
  `holds too many values: at most ${jsonWeight} in all, of which an object or an array counts ${containerWeight}, ` +
  `a text ${1 + textWeight}, an integer of ${longInteger} digits ${1 + longIntegerWeight}, a member ${1 + nameWeight}, each different name ${1 + nameWeight + distinctNameWeight}, and each different short text ${1 + textWeight + distinctTextWeight}`

class JsonScan {
  /** Absent: the text is too short to be too heavy, as no text has more weight than one of opening brackets. */
  private readonly texts: DistinctTexts | undefined
  private weight = 0
  /** Objects, arrays and commas. */
  values = 0
  private found: JsonProblem | undefined
  /** Where the value or name that ends next begins, and where it ended if space follows it; -1 until then. */
  private start = 0
  private end = -1
  private hasLargeExponent = false

  constructor(
    private readonly text: string,
    private readonly bounds: JsonBounds
  ) {
    this.texts = text.length * containerWeight > bounds.weight ? new DistinctTexts() : undefined
  }

  run(): JsonProblem | undefined {
    const { bounds, text } = this
    let depth = 0
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      // Most of a text that is not in strings; neither ends a value.
      if (isDigit(code)) continue
      if (code <= space) {
        at = this.skipSpace(at)
        continue
      }
      if (code === quote) at = this.readString(at + 1)
      else if (code === openArray || code === openObject) {
        this.beginAt(at + 1)
        this.weight += containerWeight
        this.values += 1
        depth += 1
        if (depth > bounds.depth) this.found ??= "tooDeep"
      } else if (code === closeArray || code === closeObject) {
        this.checkNumber(at)
        depth -= 1
      } else if (code === comma) {
        this.checkNumber(at)
        this.weight += 1
        this.values += 1
      } else if (code === colon) {
        this.checkNumber(at)
      } else if (code === letterE || code === upperE) this.hasLargeExponent ||= isLargeExponent(text, at)
      if (this.weight > bounds.weight) return "tooHeavy"
    }
    this.checkNumber(text.length)
    return this.found
  }

  private beginAt(start: number): void {
    this.start = start
    this.end = -1
  }

  /** Reads the space that begins at `from`; returns the index of its last character. */
  private skipSpace(from: number): number {
    const { text } = this
    let at = from
    while (text.charCodeAt(at + 1) <= space) at++
    if (this.start === from) this.start = at + 1
    else if (this.end < 0) this.end = from
    return at
  }

  /** Reads the string that begins at `from`; returns the index of its closing quote. */
  private readString(from: number): number {
    const { text, texts } = this
    let at = from
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code === quote) break
      if (code !== backslash) continue
      at += 1
      if (text.charCodeAt(at) === letterU) at = this.readEscape(at + 1)
    }
    this.beginAt(at + 1)
    if (texts === undefined) return at
    const isName = this.isBeforeColon(at + 1)
    this.weight += isName ? nameWeight : textWeight
    if ((isName || this.isShort(from, at)) && texts.add(text, from, at))
      this.weight += (isName ? distinctNameWeight : distinctTextWeight) + ((at - from) >> 3)
    return at
  }

  /** Reads the four digits of an escape, and those of the other half of a surrogate pair; returns their last index. */
  private readEscape(from: number): number {
    const { text } = this
    const code = hexAt(text, from)
    if (code === 0) this.found ??= "nul"
    if (code < 0xd800 || code > 0xdfff) return from + 3
    const isPair =
      code < 0xdc00 &&
      text.charCodeAt(from + 4) === backslash &&
      text.charCodeAt(from + 5) === letterU &&
      hexAt(text, from + 6) >> 10 === 0xdc00 >> 10
    if (!isPair) this.found ??= "loneSurrogate"
    return isPair ? from + 9 : from + 3
  }

  private isBeforeColon(from: number): boolean {
    let at = from
    while (this.text.charCodeAt(at) <= space) at++
    return this.text.charCodeAt(at) === colon
  }

  /** Whether the text between these indices may be as short as those that the parser looks up. */
  private isShort(start: number, end: number): boolean {
    const length = end - start
    return length <= lookedUpLength || (length <= escapedLength && this.text.slice(start, end).includes("\\"))
  }

  /** Checks the number that ends before this index or the space before it, if it may be out of the range of a double. */
  private checkNumber(next: number): void {
    const end = this.end < 0 ? next : this.end
    if (this.hasLargeExponent || end - this.start > finiteLength) {
      this.weight += containerWeight
      if (isInfinite(this.text.slice(this.start, end))) this.found ??= "notFinite"
    }
    if (end - this.start >= longInteger && this.isLongInteger(end)) this.weight += longIntegerWeight
    this.hasLargeExponent = false
    this.beginAt(next + 1)
  }

  /** Whether the number that ends before this index begins with so many digits. */
  private isLongInteger(end: number): boolean {
    let at = this.start
    while (at < end && this.text.charCodeAt(at) <= space) at++
    if (this.text.charCodeAt(at) === minus) at++
    const last = at + longInteger
    while (at < last && isDigit(this.text.charCodeAt(at))) at++
    return at === last
  }
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57

/** Whether the letter at this index begins a positive exponent of three digits or more. */
const isLargeExponent = (text: string, at: number): boolean => {
  const first = text.charCodeAt(at + 1) === plus ? at + 2 : at + 1
  return isDigit(text.charCodeAt(first)) && isDigit(text.charCodeAt(first + 1)) && isDigit(text.charCodeAt(first + 2))
}

const infinite = /^\s*-?\d[\d.]*(?:[eE]\+?\d+)?\s*$/

const isInfinite = (text: string): boolean => infinite.test(text) && !Number.isFinite(Number(text))

/** The number of four hexadecimal digits; -1 if they are not. */
const hexAt = (text: string, from: number): number => {
  let value = 0
  for (let at = from; at < from + 4; at++) {
    const code = text.charCodeAt(at) | 32
    const digit = isDigit(code) ? code - 48 : code >= 97 && code <= 102 ? code - 87 : -1
    if (digit < 0) return -1
    value = value * 16 + digit
  }
  return value
}

const bits = 18
const mask = (1 << bits) - 1

// Chosen anew by each process, so that no client can write texts that share a bit.
const multiplier = (Math.floor(Math.random() * 2 ** 30) * 4 + 1) | 0
const seed = Math.floor(Math.random() * 2 ** 31)

/** Counts different texts approximately, in little memory: as many as have a bit of their own in a table by their hash. */
export class DistinctTexts {
  private readonly table = new Uint32Array(1 << (bits - 5))

  /** Adds the part of the text between two indices, and says whether it is new. */
  add(text: string, start: number, end: number): boolean {
    let hash = seed
    for (let at = start; at < end; at++) {
      hash = Math.imul(hash ^ text.charCodeAt(at), multiplier)
      hash ^= hash >>> 15
    }
    const place = hash & mask
    const word = place >>> 5
    const bit = 1 << (place & 31)
    const before = this.table[word] ?? 0
    this.table[word] = before | bit
    return (before & bit) === 0
  }
}
