/**
 * Frames on the socket between the service and a jailed process. A frame is its length (four bytes, big-endian, not
 * counting themselves), one byte of kind, and the payload, whose form depends on the kind.
 */
import { Buffer } from "node:buffer"

/**
 * The largest frame. Start events, outputs of one turn and long replays are smaller; a larger one is a protocol error.
 */
export const maxFrameBytes = 256 * 1024 * 1024

/** Allocates a frame with `bytes` payload bytes; the payload begins at offset 5. */
export const frame = (kind: number, bytes: number): Buffer => {
  const buffer = Buffer.allocUnsafe(5 + bytes)
  buffer.writeUInt32BE(1 + bytes, 0)
  buffer[4] = kind
  return buffer
}

/** A frame with a number and a text. */
export const textFrame = (kind: number, id: number, text: string): Buffer => {
  const bytes = Buffer.byteLength(text)
  const buffer = frame(kind, 4 + bytes)
  buffer.writeUInt32BE(id, 5)
  buffer.write(text, 9)
  return buffer
}

/**
 * Splits a byte stream into frames. A payload is a view of node's buffer, which is fresh for each read, so callers may
 * keep it.
 */
export const frameReader = (onFrame: (kind: number, payload: Buffer) => void): ((chunk: Buffer) => void) => {
  let parts: Array<Buffer> = []
  let held = 0
  let wanted = 4
  return (chunk) => {
    parts.push(chunk)
    held += chunk.length
    if (held < wanted) return
    const data = parts.length === 1 ? chunk : Buffer.concat(parts, held)
    let at = 0
    wanted = 4
    while (data.length - at >= 4) {
      const length = data.readUInt32BE(at)
      if (length < 1 || length > maxFrameBytes) throw new Error(`a frame of ${length} bytes`)
      if (data.length - at - 4 < length) {
        wanted = 4 + length
        break
      }
      onFrame(data[at + 4] ?? 0, data.subarray(at + 5, at + 4 + length))
      at += 4 + length
    }
    parts = at === data.length ? [] : [data.subarray(at)]
    held = data.length - at
  }
}
