/** Collects a body's chunks in one buffer, at a cost of time and memory by their bytes, however many chunks there are. */

const noBytes = new Uint8Array(0)

/** The first room for a body of unknown length that has more than one chunk. */
const firstRoom = 16 * 1024

export class GatheredBytes {
  private room: Uint8Array = noBytes
  private size = 0

  /** `expected`: the length that the sender announced. No memory is taken for bytes that have not come. */
  constructor(private readonly expected = Number.POSITIVE_INFINITY) {}

  /** Bytes so far. */
  get bytes(): number {
    return this.size
  }

  /** A chunk that is the whole body is kept as it is; any other is copied. */
  add(chunk: Uint8Array): void {
    const size = this.size + chunk.length
    if (this.size === 0 && size === this.expected) this.room = chunk
    else {
      this.reserve(size)
      this.room.set(chunk, this.size)
    }
    this.size = size
  }

  /** The bytes so far, without a copy. */
  whole(): Uint8Array {
    return this.room.subarray(0, this.size)
  }

  drop(): void {
    this.room = noBytes
    this.size = 0
  }

  private reserve(size: number): void {
    if (this.room.length >= size) return
    const doubled = this.size === 0 ? size : Math.max(firstRoom, 2 * size)
    const room = new Uint8Array(Math.max(size, Math.min(doubled, this.expected)))
    room.set(this.room.subarray(0, this.size))
    this.room = room
  }
}
