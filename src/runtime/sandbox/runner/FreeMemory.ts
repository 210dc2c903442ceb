/**
 * Empties the free memory of a guest, so that a snapshot does not hold it: what the prelude's texts and their parsing
 * leave behind. A guest cannot observe this, since it reads no memory that it has not written.
 */
import type { EngineModule } from "./Wasm.js"

/** Smaller pieces free no block of a snapshot. */
const pieceBytes = { largest: 128 * 1024, smallest: 4096 }
/** The allocator's own words at the beginning and at the end of free memory. */
const listBytes = 32
const footBytes = 16

interface Range {
  readonly start: number
  readonly end: number
}

/** The free ranges of a guest below `end`, found by allocating all of them in its copy, which must be discarded. */
export const findFreeRanges = (copy: EngineModule, end: number): ReadonlyArray<Range> => {
  const pieces: Array<Range> = []
  for (let bytes = pieceBytes.largest; bytes >= pieceBytes.smallest; bytes /= 2) {
    for (;;) {
      const start = copy._malloc(bytes)
      if (start === 0) break
      if (start + bytes > end) {
        copy._free(start)
        break
      }
      pieces.push({ start, end: start + bytes })
    }
  }
  const ranges: Array<{ start: number; end: number }> = []
  for (const piece of pieces.sort((a, b) => a.start - b.start)) {
    const last = ranges.at(-1)
    if (last !== undefined && piece.start - last.end <= footBytes) last.end = piece.end
    else ranges.push({ ...piece })
  }
  return ranges
}

/** Fills the ranges with zeros, except for the allocator's words. */
export const clearRanges = (memory: ArrayBuffer, ranges: ReadonlyArray<Range>): void => {
  const heap = new Uint8Array(memory)
  for (const { end, start } of ranges) heap.fill(0, start + listBytes, end - footBytes)
}
