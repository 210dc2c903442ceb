/**
 * Integers of a JSON text that no number of JavaScript can hold: those beyond 2^53 are rounded when the text is parsed. They
 * are quoted where they are asked for as text, and the others named. One pass over the text; only for texts that may have some.
 */
import type { AskedText } from "./AskedTexts.js"

/** Bytes of a webhook's body in which they are looked for. */
export const exactIntegerBytes = 2 * 1024 * 1024

/** Digits of the smallest integer that may be rounded. */
const leastDigits = 16
/** Paths that are named, and characters of each. */
export const mostPaths = 20
const pathLength = 300
/** Names written with escapes that are read; further ones ask for nothing. */
const mostEscapedNames = 10_000

const [quote, comma, minus, dot, colon, backslash] = [34, 44, 45, 46, 58, 92]
const [openArray, closeArray, openObject, closeObject] = [91, 93, 123, 125]
const [zero, nine, letterE, upperE, plus] = [48, 57, 101, 69, 43]

/** The beginning of a long path. It is stored, which half of a pair of surrogates cannot be. */
export const shortPath = (path: string): string =>
  path.length > pathLength ? `${path.slice(0, pathLength).toWellFormed()}…` : path

const isDigit = (code: number | undefined): boolean => code !== undefined && code >= zero && code <= nine

/** The warnings of integers that were rounded. `how`: what keeps their digits. */
export const roundedWarnings = (rounded: RoundedIntegers | undefined, how: string) => {
  const warning = (path: string, message: string) => ({ path, code: "INTEGER_ROUNDED", message })
  return [
    ...(rounded?.paths ?? []).map((path) => warning(path, `is an integer beyond 2^53 and was rounded: ${how}`)),
    ...(rounded?.more === true
      ? [warning("", "further integers beyond 2^53 were rounded, or the body was too large to look for them")]
      : [])
  ]
}

/** Whether bytes contain so many digits in a row. Looks at one byte of sixteen where there are none. */
export const hasLongDigits = (bytes: Uint8Array): boolean => {
  for (let at = leastDigits - 1; at < bytes.length; at += leastDigits) {
    if (!isDigit(bytes[at])) continue
    let first = at
    while (isDigit(bytes[first - 1])) first -= 1
    let end = at + 1
    while (end - first < leastDigits && isDigit(bytes[end])) end += 1
    if (end - first >= leastDigits) return true
  }
  return false
}

/** The integers that parsing the text rounds. */
export interface RoundedIntegers {
  readonly paths: ReadonlyArray<string>
  /** Whether there are more than the paths. */
  readonly more: boolean
}

/** Those within a place, by their paths from there; undefined if there are none. */
export const roundedWithin = (rounded: RoundedIntegers | undefined, place: string): RoundedIntegers | undefined => {
  if (rounded === undefined) return undefined
  const paths = rounded.paths.flatMap((path) => {
    const rest = path.slice(place.length)
    return path.startsWith(place) && /^[.[]|^$/.test(rest) ? [rest.replace(/^\./, "")] : []
  })
  return paths.length === 0 && !rounded.more ? undefined : { paths, more: rounded.more }
}

/** A text whose large integers are quoted where they are asked for. */
export interface ReadIntegers {
  readonly text: string
  /** `undefined`: none. */
  readonly rounded: RoundedIntegers | undefined
}

/** An object or array around the place that is read. */
interface Frame {
  readonly isArray: boolean
  readonly asked: AskedText | undefined
  index: number
  isName: boolean
  nameStart: number
  nameEnd: number
}

/** Whether no number of JavaScript is this integer: JSON that JavaScript wrote has its shortest digits, which are not the exact ones. */
export const isRounded = (digits: string): boolean => {
  const number = Number(digits)
  return String(number) !== digits && !(Number.isFinite(number) && BigInt(number) === BigInt(digits))
}

/** Reads a JSON text, whose depth is bounded. `asked`: where integers are asked for as text. Meaningless for other text. */
export const readLargeIntegers = (text: string, asked: AskedText | undefined): ReadIntegers =>
  new IntegerScan(text, asked).run()

/** Whether a path ends with a bound of a JSON Schema, such as `maximum`, which is written rounded by those who generate schemas. */
export const isSchemaBound = (path: string): boolean =>
  /(?:^|\.)(?:exclusiveM(?:in|ax)imum|m(?:in|ax)(?:imum|Length|Items|Properties)|multipleOf)$/.test(path)

/** The path of the first integer that parsing the text rounds, except where it may be rounded. */
export const firstRounded = (text: string, mayBeRounded: (path: string) => boolean): string | undefined =>
  new IntegerScan(text, undefined, mayBeRounded).run().rounded?.paths[0]

class IntegerScan {
  private readonly frames: Array<Frame> = []
  /** The text in parts, of which every second one is quoted. */
  private readonly quoted: Array<string> = []
  private readonly paths: Array<string> = []
  private copied = 0
  private more = false
  private escapedNames = 0
  /** Of the value that begins next. */
  private asked: AskedText | undefined

  constructor(
    private readonly text: string,
    private readonly root: AskedText | undefined,
    private readonly mayBeRounded: (path: string) => boolean = () => false
  ) {
    this.asked = root
  }

  run(): ReadIntegers {
    const { text } = this
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code === quote) at = this.readString(at)
      else if (code === minus || isDigit(code)) at = this.readNumber(at)
      else if (code === openObject || code === openArray) this.open(code === openArray)
      else if (code === closeObject || code === closeArray) this.frames.pop()
      else if (code === comma) this.next()
      else if (code === colon) this.nameEnds()
      // Only what is asked for remains to be found.
      if (this.more && this.root === undefined) break
    }
    return {
      text: this.quoted.length === 0 ? text : [...this.quoted, text.slice(this.copied)].join('"'),
      rounded: this.paths.length === 0 ? undefined : { paths: this.paths, more: this.more }
    }
  }

  private open(isArray: boolean): void {
    const { asked } = this
    this.frames.push({ isArray, asked, index: 0, isName: !isArray, nameStart: 0, nameEnd: 0 })
    this.asked = isArray ? asked?.item(0) : undefined
  }

  private next(): void {
    const frame = this.frames.at(-1)
    if (frame === undefined) return
    frame.isName = !frame.isArray
    frame.index += 1
    if (frame.isArray) this.asked = frame.asked?.item(frame.index)
  }

  private nameEnds(): void {
    const frame = this.frames.at(-1)
    if (frame === undefined || frame.isArray) return
    frame.isName = false
    this.asked = frame.asked?.member(this.nameOf(frame))
  }

  /** Returns the index of the closing quote. */
  private readString(from: number): number {
    const { text } = this
    let end = from
    let isEscaped = true
    while (isEscaped) {
      end = text.indexOf('"', end + 1)
      if (end < 0) return text.length
      let slashes = 0
      while (text.charCodeAt(end - 1 - slashes) === backslash) slashes += 1
      isEscaped = slashes % 2 === 1
    }
    const frame = this.frames.at(-1)
    if (frame?.isName === true) {
      frame.nameStart = from
      frame.nameEnd = end + 1
    }
    return end
  }

  /** Returns the index of the last character. */
  private readNumber(from: number): number {
    const { text } = this
    let isInteger = true
    let end = from
    for (; end < text.length; end++) {
      const code = text.charCodeAt(end)
      if (isDigit(code) || (code === minus && end === from)) continue
      if (code !== dot && code !== letterE && code !== upperE && code !== plus && code !== minus) break
      isInteger = false
    }
    const digits = text.charCodeAt(from) === minus ? from + 1 : from
    if (isInteger && end - digits >= leastDigits && text.charCodeAt(digits) !== zero) this.addInteger(from, end)
    return end - 1
  }

  private addInteger(from: number, end: number): void {
    const { text } = this
    const digits = text.slice(from, end)
    const isLarge = digits.length > leastDigits + 1 || !Number.isSafeInteger(Number(digits))
    if (!isLarge) return
    if (this.asked?.isAsked === true) {
      this.quoted.push(text.slice(this.copied, from), digits)
      this.copied = end
    } else if (!this.more && isRounded(digits) && !this.mayBeRounded(this.path())) {
      if (this.paths.length < mostPaths) this.paths.push(this.path())
      else this.more = true
    }
  }

  private path(): string {
    let path = ""
    for (const frame of this.frames) {
      const name = frame.isArray ? `[${frame.index}]` : this.nameOf(frame)
      path += frame.isArray || path === "" ? name : `.${name}`
      if (path.length > pathLength) return shortPath(path)
    }
    return path
  }

  private nameOf({ nameEnd, nameStart }: Frame): string {
    const name = this.text.slice(nameStart + 1, nameEnd - 1)
    if (!name.includes("\\") || this.escapedNames >= mostEscapedNames) return name
    this.escapedNames += 1
    try {
      return JSON.parse(`"${name}"`) as string // of a text between quotes
    } catch {
      return name
    }
  }
}
