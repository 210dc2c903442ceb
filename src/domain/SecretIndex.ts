/**
 * Finds many texts in a text, in time that is linear in the text and in the texts to find, whoever chose them. Short ones
 * are looked up as a whole. Long ones are cut into blocks, and every block that occurs is a find of its own: a long
 * secret is found also where only a part of it stands.
 */

/** From which character to which, without the last. */
export interface Span {
  readonly from: number
  readonly to: number
}

const headLength = 4
const blockLength = 32
/** Blocks that are added between two steps of `adding`. */
const blocksAtOnce = 256

/** A set of 32-bit numbers that may answer yes wrongly, and then costs one look-up in a real set. */
class Sieve {
  readonly #bits: Uint32Array
  readonly #mask: number
  /** `size`: how many bits it has, a power of two. */
  constructor(size: number) {
    this.#bits = new Uint32Array(size / 32)
    this.#mask = size - 1
  }
  add(hash: number): void {
    const bit = hash & this.#mask
    this.#bits[bit >>> 5] = (this.#bits[bit >>> 5] ?? 0) | (1 << (bit & 31))
  }
  has(hash: number): boolean {
    const bit = hash & this.#mask
    return ((this.#bits[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0
  }
}

// Two hashes of a window that moves: a character comes in on the right, another goes out on the left.
const factor = 0x01000193
const secondFactor = 0x2c1b3c6d
const power = (base: number, length: number): number => {
  let value = 1
  for (let i = 0; i < length; i++) value = Math.imul(value, base)
  return value
}
const headPower = power(factor, headLength)
const blockPower = power(factor, blockLength)
const secondBlockPower = power(secondFactor, blockLength)
/** The low bits of a product depend on low bits only: all of them decide. */
const mixed = (hash: number): number => {
  const half = Math.imul(hash ^ (hash >>> 16), 0x7feb352d)
  return half ^ (half >>> 15)
}
const hashOf = (text: string, from: number, to: number, base: number): number => {
  let hash = 0
  for (let i = from; i < to; i++) hash = (Math.imul(hash, base) + text.charCodeAt(i)) | 0
  return hash
}

/**
 * Blocks by their two hashes, 64 bits together: thirty secrets of the greatest length have a million blocks, which would be
 * too many strings. Text that is no block and has the hashes of one is hidden without need; it does not occur by chance.
 */
class Blocks {
  /** Two numbers a slot; the second is odd, or zero in an empty one. */
  #slots = new Int32Array(2 * 64)
  /** Whether the text of a block goes on behind it. */
  #goesOn = new Uint8Array(64)
  #sieve = new Sieve(8 * 64)
  #count = 0

  get isEmpty(): boolean {
    return this.#count === 0
  }

  add(first: number, second: number, goesOn: boolean): void {
    if (2 * (this.#count + 1) > this.#goesOn.length) this.#grow()
    const slot = this.#slotOf(first, second)
    if (this.#isFree(slot)) this.#count++
    this.#put(slot, first, second)
    if (goesOn) this.#goesOn[slot] = 1
  }

  has(first: number, second: number): boolean {
    return this.#sieve.has(mixed(first)) && !this.#isFree(this.#slotOf(first, second))
  }

  /** Whether the text goes on behind the block; `false` of what is no block. */
  goesOn(first: number, second: number): boolean {
    return this.#goesOn[this.#slotOf(first, second)] === 1
  }

  #isFree(slot: number): boolean {
    return this.#slots[2 * slot + 1] === 0
  }

  /** Where the block is, or the free slot where it would be. */
  #slotOf(first: number, second: number): number {
    const mask = this.#goesOn.length - 1
    let slot = mixed(first) & mask
    while (!(this.#isFree(slot) || (this.#slots[2 * slot] === first && this.#slots[2 * slot + 1] === (second | 1))))
      slot = (slot + 1) & mask
    return slot
  }

  #put(slot: number, first: number, second: number): void {
    this.#slots[2 * slot] = first
    this.#slots[2 * slot + 1] = second | 1
    this.#sieve.add(mixed(first))
  }

  #grow(): void {
    const [slots, goesOn] = [this.#slots, this.#goesOn]
    this.#slots = new Int32Array(2 * slots.length)
    this.#goesOn = new Uint8Array(2 * goesOn.length)
    this.#sieve = new Sieve(16 * goesOn.length)
    for (let at = 0; at < goesOn.length; at++) {
      const [first = 0, second = 0] = [slots[2 * at], slots[2 * at + 1]]
      if (second === 0) continue
      const slot = this.#slotOf(first, second)
      this.#put(slot, first, second)
      this.#goesOn[slot] = goesOn[at] ?? 0
    }
  }
}

export class SecretIndex {
  readonly #whole = new Set<string>()
  /** The lengths of the short texts that begin with these characters, longest first. */
  readonly #lengths = new Map<string, Array<number>>()
  readonly #heads = new Sieve(65_536)
  /** Blocks of the long texts. */
  readonly #blocks = new Blocks()
  /** What a text to find may begin with, up to a block. Made when a text in pieces is first asked about. */
  #beginnings: Set<string> | undefined
  readonly #firsts = new Set<string>()

  get isEmpty(): boolean {
    return this.#firsts.size === 0
  }

  /** Texts of fewer than four characters are not found. Done when it has no further step; each of them is short. */
  *adding(text: string): Generator<void, void> {
    if (text.length < headLength) return
    this.#beginnings = undefined
    this.#firsts.add(text.slice(0, blockLength))
    if (text.length < blockLength) this.#addShort(text)
    else yield* this.#addingLong(text)
  }

  #addShort(text: string): void {
    this.#whole.add(text)
    const head = text.slice(0, headLength)
    const lengths = this.#lengths.get(head) ?? []
    if (!lengths.includes(text.length)) lengths.push(text.length)
    this.#lengths.set(
      head,
      lengths.sort((a, b) => b - a)
    )
    this.#heads.add(mixed(hashOf(head, 0, headLength, factor)))
  }

  *#addingLong(text: string): Generator<void, void> {
    const last = text.length - blockLength
    for (let at = 0, count = 1; at < last; at += blockLength, count++) {
      this.#addBlock(text, at, true)
      if (count % blocksAtOnce === 0) yield
    }
    this.#addBlock(text, last, false)
  }

  #addBlock(text: string, at: number, goesOn: boolean): void {
    const to = at + blockLength
    this.#blocks.add(hashOf(text, at, to, factor), hashOf(text, at, to, secondFactor), goesOn)
  }

  /** Where they stand: apart from each other, in order. Those that touch or overlap are one span. */
  spans(text: string): ReadonlyArray<Span> {
    const [short, long] = [this.#shortSpans(text), this.#blockSpans(text)]
    if (short.length === 0) return long
    if (long.length === 0) return short
    const apart: Array<MutableSpan> = []
    for (const { from, to } of [...short, ...long].sort((a, b) => a.from - b.from)) extend(apart, from, to)
    return apart
  }

  #shortSpans(text: string): ReadonlyArray<Span> {
    const found: Array<MutableSpan> = []
    if (this.#whole.size === 0) return found
    let hash = 0
    for (let i = 0; i < text.length; i++) {
      hash = (Math.imul(hash, factor) + text.charCodeAt(i)) | 0
      const from = i - headLength + 1
      if (from > 0) hash = (hash - Math.imul(headPower, text.charCodeAt(from - 1))) | 0
      if (from < 0 || !this.#heads.has(mixed(hash))) continue
      const lengths = this.#lengths.get(text.slice(from, from + headLength))
      const length = lengths?.find((one) => this.#whole.has(text.slice(from, from + one)))
      if (length !== undefined) extend(found, from, from + length)
    }
    return found
  }

  #blockSpans(text: string): ReadonlyArray<Span> {
    const found: Array<MutableSpan> = []
    if (this.#blocks.isEmpty) return found
    let first = 0
    let second = 0
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i)
      first = (Math.imul(first, factor) + unit) | 0
      second = (Math.imul(second, secondFactor) + unit) | 0
      const from = i - blockLength + 1
      if (from > 0) {
        const gone = text.charCodeAt(from - 1)
        first = (first - Math.imul(blockPower, gone)) | 0
        second = (second - Math.imul(secondBlockPower, gone)) | 0
      }
      if (from >= 0 && this.#blocks.has(first, second)) extend(found, from, i + 1)
    }
    return found
  }

  /** Where the end of a text begins that may go on as one to find; the text's length where none can. */
  openEnd(text: string): number {
    const beginnings = (this.#beginnings ??= beginningsOf(this.#firsts))
    let open = text.length
    for (let from = Math.max(0, text.length - blockLength + 1); from < text.length; from++) {
      if (!beginnings.has(text.slice(from))) continue
      open = from
      break
    }
    // A long text of which a block ended just now.
    for (let at = Math.max(0, text.length - 2 * blockLength + 1); at + blockLength <= text.length; at++)
      if (this.#goesOnAt(text, at)) return Math.min(open, at)
    return open
  }

  #goesOnAt(text: string, at: number): boolean {
    const to = at + blockLength
    return this.#blocks.goesOn(hashOf(text, at, to, factor), hashOf(text, at, to, secondFactor))
  }
}

type MutableSpan = { -readonly [Member in keyof Span]: Span[Member] }

/** Adds a span that begins behind the beginnings of all others. */
const extend = (spans: Array<MutableSpan>, from: number, to: number): void => {
  const before = spans.at(-1)
  if (before === undefined || from > before.to) spans.push({ from, to })
  else if (to > before.to) before.to = to
}

/** Every proper beginning of each; of one that fills a block, the block is one, too, where the text goes on behind it. */
const beginningsOf = (firsts: Iterable<string>): Set<string> => {
  const all = new Set<string>()
  for (const first of firsts) for (let length = 1; length < first.length; length++) all.add(first.slice(0, length))
  return all
}
