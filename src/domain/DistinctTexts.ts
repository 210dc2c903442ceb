/** Counts different texts approximately, in little memory: as many as have a bit of their own in a table by their hash. */

const bits = 18
const mask = (1 << bits) - 1

// Chosen anew by each process, so that no client can write texts that share a bit.
const multiplier = (Math.floor(Math.random() * 2 ** 30) * 4 + 1) | 0
const seed = Math.floor(Math.random() * 2 ** 31)

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
