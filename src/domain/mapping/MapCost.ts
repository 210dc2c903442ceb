/**
 * Counts what a map moves, so that other work goes on between its values, and no map of a tenant takes for ever or makes more
 * than a page may hold: a thousand pairs can all read one large value.
 */
import type { Json } from "../Json.js"

/** Values between two pauses, where a value of many characters counts as several: about two milliseconds. */
const valuesPerSlice = 2_000
/** The most values of one page of records: about a second. */
export const maxValues = 1_000_000
/** The most characters that a map makes of one page. */
const maxCharacters = 8 * 1024 * 1024
/** Characters that cost as much as a value. */
const charactersPerValue = 64
/** What an object, a list or a scalar takes in the answer, besides its texts. */
const charactersOfValue = 8

export class MapCost {
  private inSlice = 0
  private characters = 0
  /** By object or list: many pairs can hand on the same one. */
  private readonly sizes = new WeakMap<object, number>()

  /** `values`: the most values. */
  constructor(private left = maxValues) {}

  /** Counts a value. Returns whether to pause now. */
  count(): boolean {
    this.left -= 1
    this.inSlice += 1
    if (this.inSlice < valuesPerSlice) return false
    this.inSlice = 0
    return true
  }

  /** Counts what a pair gives, and what was read for it. */
  spend(value: Json): void {
    const size = this.sizeOf(value)
    this.characters += size
    const values = Math.floor(size / charactersPerValue)
    this.left -= values
    this.inSlice += values
  }

  /** Whether there was more than a page may have. */
  get isExceeded(): boolean {
    return this.left < 0 || this.characters > maxCharacters
  }

  private sizeOf(value: Json): number {
    if (typeof value === "string") return value.length
    if (typeof value !== "object" || value === null) return charactersOfValue
    const known = this.sizes.get(value)
    if (known !== undefined) return known
    let size = charactersOfValue
    for (const [name, member] of Object.entries<Json>(value)) size += name.length + this.sizeOf(member)
    this.sizes.set(value, size)
    return size
  }
}

/** Work in slices: yields where other work may go on. */
export type Sliced<A> = Generator<void, A, void>
