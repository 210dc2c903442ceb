/**
 * Copies of a guest's memory, from which others are made. Empty blocks, most of a memory, are not stored.
 */
import { Buffer } from "node:buffer"

export interface Snapshot<At> {
  readonly extents: ReadonlyArray<{ readonly offset: number; readonly length: number }>
  readonly bytes: Uint8Array
  readonly memoryBytes: number
  /** Addresses in the memory. */
  readonly at: At
}

const block = 4096
/** The C stack is cleared downwards until this much of it is empty: no stack frame leaves a larger hole. */
const stackHoleBytes = 16 * block

/** Takes a snapshot. `end`: the memory beyond it was never written. */
export const snapshotOf = <At>(memory: ArrayBuffer, end: number, at: At): Snapshot<At> => {
  const blocks = Buffer.from(memory)
  const extents: Array<{ offset: number; length: number }> = []
  let total = 0
  for (let offset = 0; offset < end; offset += block) {
    if (blocks.compare(emptyBlock, 0, block, offset, offset + block) === 0) continue
    const last = extents.at(-1)
    if (last !== undefined && last.offset + last.length === offset) last.length += block
    else extents.push({ offset, length: block })
    total += block
  }
  const bytes = new Uint8Array(total)
  let to = 0
  for (const { length, offset } of extents) {
    bytes.set(new Uint8Array(memory, offset, length), to)
    to += length
  }
  return { extents, bytes, memoryBytes: memory.byteLength, at }
}

/** Fills an empty memory from a snapshot. */
export const fillMemory = (memory: ArrayBuffer, snapshot: Snapshot<unknown>): void => {
  const heap = new Uint8Array(memory)
  let from = 0
  for (const { length, offset } of snapshot.extents) {
    heap.set(snapshot.bytes.subarray(from, from + length), offset)
    from += length
  }
}

/**
 * Resets a used memory of the same size to the snapshot. `end`: the memory beyond it was never written; `insideStack`:
 * an address in the C stack.
 */
export const restoreInPlace = (
  memory: ArrayBuffer,
  snapshot: Snapshot<unknown>,
  end: number,
  insideStack: number
): void => {
  const heap = new Uint8Array(memory)
  let from = 0
  let cleared = 0
  for (const { length, offset } of snapshot.extents) {
    if (cleared <= insideStack && insideStack < offset) clearStack(memory, offset, cleared)
    else if (offset > cleared) heap.fill(0, cleared, offset)
    heap.set(snapshot.bytes.subarray(from, from + length), offset)
    from += length
    cleared = offset + length
  }
  if (end > cleared) heap.fill(0, cleared, end)
}

/** The middle of the largest empty range. */
export const insideLargestHole = ({ extents }: Snapshot<unknown>): number => {
  let [largest, middle, end] = [0, 0, 0]
  for (const { length, offset } of extents) {
    if (offset - end > largest) [largest, middle] = [offset - end, (offset + end) / 2]
    end = offset + length
  }
  return middle
}

// --- Private ---

const emptyBlock = Buffer.alloc(block)

/** Clears the used stack below `top`. It only reads empty blocks, since a write would allocate their pages. */
const clearStack = (memory: ArrayBuffer, top: number, bottom: number): void => {
  const blocks = Buffer.from(memory)
  let hole = 0
  for (let at = top - block; at >= bottom && hole < stackHoleBytes; at -= block) {
    if (blocks.compare(emptyBlock, 0, block, at, at + block) === 0) hole += block
    else {
      blocks.fill(0, at, at + block)
      hole = 0
    }
  }
}
