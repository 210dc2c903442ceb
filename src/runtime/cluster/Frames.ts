/**
 * Messages between nodes on a socket: each is a frame of four bytes, its length, and MessagePack. The library's own
 * framing parses an incomplete message again with each chunk of it.
 */
import { RpcSerialization } from "@effect/rpc"

/** The longest frame, in bytes. A longer one ends the connection. */
export const maxFrameBytes = 16 * 1_048_576
const headBytes = 4

/**
 * Collects chunks of a connection into frames. Throws `RpcSerializationError` at the head of a frame that is too long; the
 * library then closes the connection.
 */
class FrameReader {
  private chunks: Array<Uint8Array> = []
  private held = 0

  /** The bodies of the frames that are complete with this chunk. */
  push(chunk: Uint8Array): ReadonlyArray<Uint8Array> {
    this.chunks.push(chunk)
    this.held += chunk.length
    const bodies: Array<Uint8Array> = []
    for (let wanted = this.wanted(); this.held >= wanted; wanted = this.wanted()) {
      const frame = this.take(wanted)
      bodies.push(frame.subarray(headBytes))
    }
    return bodies
  }

  /** The length of the next frame with its head; of the head alone while that is incomplete. */
  private wanted(): number {
    if (this.held < headBytes) return headBytes
    const head = this.peekHead()
    const length = (head[0] ?? 0) * 2 ** 24 + (((head[1] ?? 0) << 16) | ((head[2] ?? 0) << 8) | (head[3] ?? 0))
    if (length <= maxFrameBytes) return headBytes + length
    this.chunks = []
    this.held = 0
    throw new RpcSerialization.RpcSerializationError({
      reason: "BufferSizeExceeded",
      maxBufferSize: maxFrameBytes,
      bufferSize: length
    })
  }

  private peekHead(): Uint8Array {
    const [first] = this.chunks
    if (first !== undefined && first.length >= headBytes) return first
    const whole = this.join()
    this.chunks = [whole]
    return whole
  }

  private take(bytes: number): Uint8Array {
    const [first] = this.chunks
    const whole = first !== undefined && first.length >= bytes ? first : this.join()
    const rest = whole === first ? this.chunks.slice(1) : []
    this.chunks = whole.length > bytes ? [whole.subarray(bytes), ...rest] : [...rest]
    this.held -= bytes
    return whole.subarray(0, bytes)
  }

  private join(): Uint8Array {
    const whole = new Uint8Array(this.held)
    let at = 0
    for (const chunk of this.chunks) {
      whole.set(chunk, at)
      at += chunk.length
    }
    return whole
  }
}

const messages = RpcSerialization.makeMsgPack({ useRecords: false, maxBufferSize: maxFrameBytes })
const noBytes = new Uint8Array()

/** The serialization of the connections between nodes. A message over the limit is refused where it is sent. */
export const frames = RpcSerialization.RpcSerialization.of({
  contentType: "application/msgpack",
  includesFraming: true,
  unsafeMake: () => {
    const parser = messages.unsafeMake()
    const reader = new FrameReader()
    return {
      decode: (bytes) =>
        reader.push(typeof bytes === "string" ? Buffer.from(bytes) : bytes).flatMap((body) => parser.decode(body)),
      encode: (message) => {
        const packed = parser.encode(message) ?? noBytes
        const body = typeof packed === "string" ? Buffer.from(packed) : packed
        if (body.length > maxFrameBytes) throw new RangeError("a message to another node is longer than 16 MiB")
        const frame = Buffer.allocUnsafe(headBytes + body.length)
        frame.writeUInt32BE(body.length, 0)
        frame.set(body, headBytes)
        return frame
      }
    }
  }
})
