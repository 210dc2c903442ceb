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

/** A Bloom filter of 32-bit hashes; a false positive costs a look-up in a set. */
class BloomFilter {
  readonly #bits = new Uint32Array(2048)
  add(hash: number): void {
    const bit = hash & 0xffff
    this.#bits[bit >>> 5] = (this.#bits[bit >>> 5] ?? 0) | (1 << (bit & 31))
  }
  has(hash: number): boolean {
    const bit = hash & 0xffff
    return ((this.#bits[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0
  }
}

const factor = 0x01000193
const power = (length: number): number => {
  let value = 1
  for (let i = 0; i < length; i++) value = Math.imul(value, factor)
  return value
}
const headPower = power(headLength)
const blockPower = power(blockLength)
/** Mixes high bits into the low ones, since the low bits of a product depend on low bits only. */
const mixBits = (hash: number): number => hash ^ (hash >>> 15)
const hashOf = (text: string): number => {
  let hash = 0
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, factor) + text.charCodeAt(i)) | 0
  return mixBits(hash)
}

/** An index of the secrets to find. */
export class SecretIndex {
  readonly #shortSecrets = new Set<string>()
  /** Lengths of the short secrets by their first characters, longest first. */
  readonly #lengths = new Map<string, Array<number>>()
  readonly #heads = new BloomFilter()
  /** Blocks of the long secrets, and whether any of them continues after the block. */
  readonly #blocks = new Map<string, boolean>()
  readonly #blockHashes = new BloomFilter()
  /** Prefixes of the secrets, up to a block. Built when a streamed text is first searched. */
  #prefixes: Set<string> | undefined
  readonly #beginnings = new Set<string>()

  /** Secrets of fewer than four characters are ignored. */
  add(text: string): void {
    if (text.length < headLength) return
    this.#prefixes = undefined
    this.#beginnings.add(text.slice(0, blockLength))
    if (text.length < blockLength) this.#addShort(text)
    else this.#addLong(text)
  }

  get isEmpty(): boolean {
    return this.#beginnings.size === 0
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
    this.#heads.add(hashOf(head))
  }

  #addLong(text: string): void {
    const last = text.length - blockLength
    const place = (at: number): void => {
      const block = text.slice(at, at + blockLength)
      this.#blocks.set(block, (this.#blocks.get(block) ?? false) || at < last)
      this.#blockHashes.add(hashOf(block))
    }
    for (let at = 0; at < last; at += blockLength) place(at)
    place(last)
  }

  /** The places of secrets in order; those that touch or overlap are one span. */
  spans(text: string): ReadonlyArray<Span> {
    const found = [...this.#shortSpans(text), ...this.#blockSpans(text)].sort((a, b) => a.from - b.from)
    const apart: Array<{ from: number; to: number }> = []
    for (const { from, to } of found) {
      const before = apart.at(-1)
      if (before !== undefined && from <= before.to) before.to = Math.max(before.to, to)
      else apart.push({ from, to })
    }
    return apart
  }

  #shortSpans(text: string): ReadonlyArray<Span> {
    const found: Array<Span> = []
    if (this.#shortSecrets.size === 0) return found
    eachWindow(text, headLength, headPower, (hash, from) => {
      if (!this.#heads.has(hash)) return
      const lengths = this.#lengths.get(text.slice(from, from + headLength))
      const length = lengths?.find((one) => this.#shortSecrets.has(text.slice(from, from + one)))
      if (length !== undefined) found.push({ from, to: from + length })
    })
    return found
  }

  #blockSpans(text: string): ReadonlyArray<Span> {
    const found: Array<Span> = []
    if (this.#blocks.size === 0) return found
    eachWindow(text, blockLength, blockPower, (hash, from) => {
      if (this.#blockHashes.has(hash) && this.#blocks.has(text.slice(from, from + blockLength)))
        found.push({ from, to: from + blockLength })
    })
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
    const tail = Math.max(0, text.length - 2 * blockLength + 1)
    for (const { from } of this.#blockSpans(text.slice(tail))) {
      const at = tail + from
      if (this.#blocks.get(text.slice(at, at + blockLength)) === true) return Math.min(open, at)
    }
    return open
  }
}

/** Visits the hash of every window of the text with its start. */
const eachWindow = (text: string, length: number, power: number, visit: (hash: number, from: number) => void): void => {
  let hash = 0
  for (let i = 0; i < text.length; i++) {
    hash = (Math.imul(hash, factor) + text.charCodeAt(i)) | 0
    if (i >= length) hash = (hash - Math.imul(power, text.charCodeAt(i - length))) | 0
    if (i >= length - 1) visit(mixBits(hash), i - length + 1)
  }
}

/** All proper prefixes of each text. */
const prefixesOf = (texts: Iterable<string>): Set<string> => {
  const all = new Set<string>()
  for (const text of texts) for (let length = 1; length < text.length; length++) all.add(text.slice(0, length))
  return all
}
