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

/** A set of 32-bit numbers that may answer yes wrongly, and then costs one look-up in a real set. */
class Sieve {
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
/** The low bits of a product depend on low bits only: all of them decide. */
const mixed = (hash: number): number => hash ^ (hash >>> 15)
const hashOf = (text: string): number => {
  let hash = 0
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, factor) + text.charCodeAt(i)) | 0
  return mixed(hash)
}

export class SecretIndex {
  readonly #whole = new Set<string>()
  /** The lengths of the short texts that begin with these characters, longest first. */
  readonly #lengths = new Map<string, Array<number>>()
  readonly #heads = new Sieve()
  /** Blocks of the long texts, and whether one of them goes on behind it. */
  readonly #blocks = new Map<string, boolean>()
  readonly #blockHashes = new Sieve()
  /** What a text to find may begin with, up to a block. Made when a text in pieces is first asked about. */
  #beginnings: Set<string> | undefined
  readonly #firsts = new Set<string>()

  /** Texts of fewer than four characters are not found. */
  add(text: string): void {
    if (text.length < headLength) return
    this.#beginnings = undefined
    this.#firsts.add(text.slice(0, blockLength))
    if (text.length < blockLength) this.#addShort(text)
    else this.#addLong(text)
  }

  get isEmpty(): boolean {
    return this.#firsts.size === 0
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

  /** Where they stand: apart from each other, in order. Those that touch or overlap are one span. */
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
    if (this.#whole.size === 0) return found
    eachWindow(text, headLength, headPower, (hash, from) => {
      if (!this.#heads.has(hash)) return
      const lengths = this.#lengths.get(text.slice(from, from + headLength))
      const length = lengths?.find((one) => this.#whole.has(text.slice(from, from + one)))
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
    const tail = Math.max(0, text.length - 2 * blockLength + 1)
    for (const { from } of this.#blockSpans(text.slice(tail))) {
      const at = tail + from
      if (this.#blocks.get(text.slice(at, at + blockLength)) === true) return Math.min(open, at)
    }
    return open
  }
}

/** Calls with the hash of every window of the text, and where it begins. */
const eachWindow = (text: string, length: number, power: number, visit: (hash: number, from: number) => void): void => {
  let hash = 0
  for (let i = 0; i < text.length; i++) {
    hash = (Math.imul(hash, factor) + text.charCodeAt(i)) | 0
    if (i >= length) hash = (hash - Math.imul(power, text.charCodeAt(i - length))) | 0
    if (i >= length - 1) visit(mixed(hash), i - length + 1)
  }
}

/** Every proper beginning of each; of one that fills a block, the block is one, too, where the text goes on behind it. */
const beginningsOf = (firsts: Iterable<string>): Set<string> => {
  const all = new Set<string>()
  for (const first of firsts) for (let length = 1; length < first.length; length++) all.add(first.slice(0, length))
  return all
}
