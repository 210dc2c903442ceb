/**
 * A compiled regular expression as data, and its matching. A computing worker compiles; the main loop only matches, in time
 * linear in the text: each character visits each instruction at most once.
 */

/** The instructions of a program; `out` is the next one. */
export const Instruction = {
  fail: 0,
  match: 1,
  /** Goes on at `out` and at `arg`. */
  branch: 2,
  skip: 3,
  /** Goes on where the assertions `arg` hold. */
  assert: 4,
  /** Takes a character of the class number `arg`. */
  class: 5,
  /** Takes the character `arg`. */
  character: 6
} as const

/** Assertions about a position, as bits. */
export const Assertion = {
  lineStart: 1,
  lineEnd: 2,
  textStart: 4,
  textEnd: 8,
  wordBoundary: 16,
  noWordBoundary: 32
} as const

export interface PatternProgram {
  readonly start: number
  /** Whether it can match at the start of the text only. */
  readonly isAnchored: boolean
  /** Three numbers for each instruction: what it does, `out` and `arg`. */
  readonly code: ReadonlyArray<number>
  /** Sorted ranges of characters: first, last, first, last … */
  readonly classes: ReadonlyArray<ReadonlyArray<number>>
}

/** A pattern that can be matched. */
export interface Pattern {
  readonly instructions: number
  /** Bytes of memory that it takes, about. */
  readonly bytes: number
  /** Whether it matches anywhere in the text. */
  readonly matches: (text: string) => boolean
}

/** Finds a compiled pattern; `undefined`: it cannot be used, and matches nothing. */
export type PatternLookup = (pattern: string) => Pattern | undefined

/** For conditions that have no patterns. */
export const noPatterns: PatternLookup = () => undefined

/** The most instructions times characters of one match, about 50 ms. Of longer texts only the beginning is matched. */
const maxSteps = 1_000_000

/** The most instructions times characters that matching the text takes; 0 for a pattern that cannot be used. */
export const patternSteps = (pattern: Pattern | undefined, text: string): number =>
  pattern === undefined ? 0 : Math.min(pattern.instructions * text.length, maxSteps)

const isWord = (rune: number): boolean =>
  (rune >= 0x61 && rune <= 0x7a) || (rune >= 0x41 && rune <= 0x5a) || (rune >= 0x30 && rune <= 0x39) || rune === 0x5f

/** The assertions that hold between two characters; -1: none. */
const assertionsBetween = (before: number, after: number): number =>
  (before < 0 || before === 0x0a ? Assertion.lineStart : 0) |
  (after < 0 || after === 0x0a ? Assertion.lineEnd : 0) |
  (before < 0 ? Assertion.textStart : 0) |
  (after < 0 ? Assertion.textEnd : 0) |
  (isWord(before) === isWord(after) ? Assertion.noWordBoundary : Assertion.wordBoundary)

const hasCharacter = (ranges: Int32Array, rune: number): boolean => {
  let low = 0
  let high = ranges.length >> 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (rune > (ranges[2 * middle + 1] ?? 0)) low = middle + 1
    else high = middle
  }
  return 2 * low < ranges.length && rune >= (ranges[2 * low] ?? 0)
}

/** Instructions that take a character, without repetitions, in the order of their addition. */
class Threads {
  private readonly places: Int32Array
  readonly list: Int32Array
  size = 0

  constructor(capacity: number) {
    this.places = new Int32Array(capacity)
    this.list = new Int32Array(capacity)
  }

  /** Adds an instruction; `false` if it is there. */
  add(at: number): boolean {
    const place = this.places[at] ?? 0
    if (place < this.size && this.list[place] === at) return false
    this.places[at] = this.size
    this.list[this.size++] = at
    return true
  }
}

const noRanges = new Int32Array(0)

/** Matches a program; the buffers are reused, since matching does not pause. */
class Matcher {
  private readonly start: number
  private readonly isAnchored: boolean
  private readonly code: Int32Array
  private readonly classes: ReadonlyArray<Int32Array>
  private readonly pending: Int32Array
  private now: Threads
  private next: Threads

  constructor({ classes, code, isAnchored, start }: PatternProgram) {
    const instructions = code.length / 3
    this.start = start
    this.isAnchored = isAnchored
    this.code = Int32Array.from(code)
    this.classes = classes.map((ranges) => Int32Array.from(ranges))
    this.pending = new Int32Array(2 * instructions + 2)
    this.now = new Threads(instructions)
    this.next = new Threads(instructions)
  }

  find(text: string): boolean {
    const { isAnchored, start } = this
    this.now.size = 0
    let before = -1
    let at = 0
    let rune = text.codePointAt(0) ?? -1
    for (;;) {
      const mayStart = at === 0 || !isAnchored
      if (mayStart && this.follow(this.now, start, assertionsBetween(before, rune))) return true
      if (rune < 0 || (this.now.size === 0 && isAnchored)) return false
      at += rune > 0xffff ? 2 : 1
      before = rune
      const after = text.codePointAt(at) ?? -1
      if (this.take(rune, assertionsBetween(rune, after))) return true
      rune = after
    }
  }

  /** Moves all threads over a character; `true` if the program has matched. */
  private take(rune: number, assertions: number): boolean {
    const { code, next, now } = this
    next.size = 0
    for (let each = 0; each < now.size; each++) {
      const at = 3 * (now.list[each] ?? 0)
      const arg = code[at + 2] ?? 0
      const kind = code[at]
      const isTaken =
        kind === Instruction.character
          ? rune === arg
          : kind === Instruction.class && hasCharacter(this.classes[arg] ?? noRanges, rune)
      if (isTaken && this.follow(next, code[at + 1] ?? 0, assertions)) return true
    }
    this.now = next
    this.next = now
    return false
  }

  /** Adds the instructions that are reached without a character; `true` if the program has matched. */
  private follow(threads: Threads, from: number, assertions: number): boolean {
    const { code, pending } = this
    let count = 0
    pending[count++] = from
    while (count > 0) {
      const at = pending[--count] ?? 0
      if (!threads.add(at)) continue
      const out = code[3 * at + 1] ?? 0
      const arg = code[3 * at + 2] ?? 0
      switch (code[3 * at]) {
        case Instruction.match:
          return true
        case Instruction.branch:
          pending[count++] = arg
          pending[count++] = out
          break
        case Instruction.skip:
          pending[count++] = out
          break
        case Instruction.assert:
          if ((arg & ~assertions) === 0) pending[count++] = out
      }
    }
    return false
  }
}

/** A program that can be matched. */
export const loadPattern = (program: PatternProgram): Pattern => {
  const instructions = program.code.length / 3
  const numbers = program.classes.reduce((sum, ranges) => sum + ranges.length, 10 * instructions)
  const longestText = Math.floor(maxSteps / Math.max(1, instructions))
  const matcher = new Matcher(program)
  return { instructions, bytes: 4 * numbers, matches: (text) => matcher.find(text.slice(0, longestText)) }
}
