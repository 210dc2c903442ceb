/**
 * Finds many secrets in a text in time linear in both, by rolling hashes. Short secrets are matched completely. Long ones
 * are cut into blocks that are matched one by one, so that a part of a long secret is found too.
 */

/** A range of characters, without `to`. */
export interface Span {
  readonly from: number
  readonly to: number
}

const headLength = 4
const blockLength = 32
/** Blocks that are added in one step. */
const blocksAtOnce = 256

/** A Bloom filter of 32-bit hashes; a false positive costs one look-up in a set. */
class BloomFilter {
  readonly #bits: Uint32Array
  readonly #mask: number
  /** `size`: the number of bits, a power of two. */
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

// Two rolling hashes of a window: a character is added on the right, and one is removed on the left.
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
/** Mixes high bits into the low ones, since the low bits of a product depend on low bits only. */
const mixBits = (hash: number): number => {
  const half = Math.imul(hash ^ (hash >>> 16), 0x7feb352d)
  return half ^ (half >>> 15)
}
const hashOf = (text: string, from: number, to: number, base: number): number => {
  let hash = 0
  for (let i = from; i < to; i++) hash = (Math.imul(hash, base) + text.charCodeAt(i)) | 0
  return hash
}

/**
 * A hash table of blocks by two hashes, 64 bits together: thirty secrets of the greatest length have a million blocks,
 * too many to keep as strings. Other text with the hashes of a block would be redacted; it does not occur by chance.
 */
class Blocks {
  /** Two numbers for each slot; the second is odd, or zero if the slot is free. */
  #slots = new Int32Array(2 * 64)
  /** Whether the secret continues after the block in the slot. */
  #continues = new Uint8Array(64)
  #sieve = new BloomFilter(8 * 64)
  #count = 0

  get isEmpty(): boolean {
    return this.#count === 0
  }

  add(first: number, second: number, continues: boolean): void {
    if (2 * (this.#count + 1) > this.#continues.length) this.#grow()
    const slot = this.#slotOf(first, second)
    if (this.#isFree(slot)) this.#count++
    this.#put(slot, first, second)
    if (continues) this.#continues[slot] = 1
  }

  has(first: number, second: number): boolean {
    return this.#sieve.has(mixBits(first)) && !this.#isFree(this.#slotOf(first, second))
  }

  /** Whether the secret continues after the block; `false` for other text. */
  continues(first: number, second: number): boolean {
    return this.#continues[this.#slotOf(first, second)] === 1
  }

  #isFree(slot: number): boolean {
    return this.#slots[2 * slot + 1] === 0
  }

  /** The slot of the block, or the free slot for it. */
  #slotOf(first: number, second: number): number {
    const mask = this.#continues.length - 1
    let slot = mixBits(first) & mask
    while (!(this.#isFree(slot) || (this.#slots[2 * slot] === first && this.#slots[2 * slot + 1] === (second | 1))))
      slot = (slot + 1) & mask
    return slot
  }

  #put(slot: number, first: number, second: number): void {
    this.#slots[2 * slot] = first
    this.#slots[2 * slot + 1] = second | 1
    this.#sieve.add(mixBits(first))
  }

  #grow(): void {
    const [slots, continues] = [this.#slots, this.#continues]
    this.#slots = new Int32Array(2 * slots.length)
    this.#continues = new Uint8Array(2 * continues.length)
    this.#sieve = new BloomFilter(16 * continues.length)
    for (let at = 0; at < continues.length; at++) {
      const [first = 0, second = 0] = [slots[2 * at], slots[2 * at + 1]]
      if (second === 0) continue
      const slot = this.#slotOf(first, second)
      this.#put(slot, first, second)
      this.#continues[slot] = continues[at] ?? 0
    }
  }
}

/** An index of the secrets to find. */
export class SecretIndex {
  readonly #shortSecrets = new Set<string>()
  /** Lengths of the short secrets by their first characters, longest first. */
  readonly #lengths = new Map<string, Array<number>>()
  readonly #heads = new BloomFilter(65_536)
  /** Blocks of the long secrets. */
  readonly #blocks = new Blocks()
  /** Prefixes of the secrets, up to a block. Built when a streamed text is first searched. */
  #prefixes: Set<string> | undefined
  readonly #beginnings = new Set<string>()

  get isEmpty(): boolean {
    return this.#beginnings.size === 0
  }

  /** Adds a secret in short steps; it is found when the iteration has ended. Secrets of fewer than four characters are ignored. */
  *addInSteps(text: string): Generator<void, void> {
    if (text.length < headLength) return
    this.#prefixes = undefined
    this.#beginnings.add(text.slice(0, blockLength))
    if (text.length < blockLength) this.#addShort(text)
    else yield* this.#addLongInSteps(text)
  }

  #addShort(text: string): void {
    this.#shortSecrets.add(text)
    const head = text.slice(0, headLength)
    const lengths = this.#lengths.get(head) ?? []
    if (!lengths.includes(text.length)) lengths.push(text.length)
    this.#lengths.set(
      head,
      lengths.sort((a, b) => b - a)
    )
    this.#heads.add(mixBits(hashOf(head, 0, headLength, factor)))
  }

  *#addLongInSteps(text: string): Generator<void, void> {
    const last = text.length - blockLength
    for (let at = 0, count = 1; at < last; at += blockLength, count++) {
      this.#addBlock(text, at, true)
      if (count % blocksAtOnce === 0) yield
    }
    this.#addBlock(text, last, false)
  }

  #addBlock(text: string, at: number, continues: boolean): void {
    const to = at + blockLength
    this.#blocks.add(hashOf(text, at, to, factor), hashOf(text, at, to, secondFactor), continues)
  }

  /** The places of secrets in order; those that touch or overlap are one span. */
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
    if (this.#shortSecrets.size === 0) return found
    let hash = 0
    for (let i = 0; i < text.length; i++) {
      hash = (Math.imul(hash, factor) + text.charCodeAt(i)) | 0
      const from = i - headLength + 1
      if (from > 0) hash = (hash - Math.imul(headPower, text.charCodeAt(from - 1))) | 0
      if (from < 0 || !this.#heads.has(mixBits(hash))) continue
      const lengths = this.#lengths.get(text.slice(from, from + headLength))
      const length = lengths?.find((one) => this.#shortSecrets.has(text.slice(from, from + one)))
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

  /** The index from which the end of the text could be the beginning of a secret; its length if it could not. */
  openSecretStart(text: string): number {
    const prefixes = (this.#prefixes ??= prefixesOf(this.#beginnings))
    let open = text.length
    for (let from = Math.max(0, text.length - blockLength + 1); from < text.length; from++) {
      if (!prefixes.has(text.slice(from))) continue
      open = from
      break
    }
    // A long secret of which a block is at the end of the text.
    for (let at = Math.max(0, text.length - 2 * blockLength + 1); at + blockLength <= text.length; at++)
      if (this.#continuesAt(text, at)) return Math.min(open, at)
    return open
  }

  #continuesAt(text: string, at: number): boolean {
    const to = at + blockLength
    return this.#blocks.continues(hashOf(text, at, to, factor), hashOf(text, at, to, secondFactor))
  }
}

type MutableSpan = { -readonly [Member in keyof Span]: Span[Member] }

/** Adds a span that begins after the beginnings of all others. */
const extend = (spans: Array<MutableSpan>, from: number, to: number): void => {
  const before = spans.at(-1)
  if (before === undefined || from > before.to) spans.push({ from, to })
  else if (to > before.to) before.to = to
}

/** All proper prefixes of each text. */
const prefixesOf = (texts: Iterable<string>): Set<string> => {
  const all = new Set<string>()
  for (const text of texts) for (let length = 1; length < text.length; length++) all.add(text.slice(0, length))
  return all
}
