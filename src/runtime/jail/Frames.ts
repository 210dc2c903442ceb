/**
 * Frames over the socket between the service and a jailed process. A frame is its length (four bytes, big-endian, not
 * counting themselves), one byte of kind, and the payload, whose form belongs to the kind.
 */
import { Buffer } from "node:buffer"

/** No frame is larger: start event of 2 MiB, outputs of one turn, a long replay. More is a broken peer. */
export const maxFrameBytes = 256 * 1024 * 1024

/** Starts a frame of `bytes` payload bytes; the payload begins at offset 5. */
export const frame = (kind: number, bytes: number): Buffer => {
  const buffer = Buffer.allocUnsafe(5 + bytes)
  buffer.writeUInt32BE(1 + bytes, 0)
  buffer[4] = kind
  return buffer
}

/** A frame of one number and a text. */
export const textFrame = (kind: number, id: number, text: string): Buffer => {
  const bytes = Buffer.byteLength(text)
  const buffer = frame(kind, 4 + bytes)
  buffer.writeUInt32BE(id, 5)
  buffer.write(text, 9)
  return buffer
}

/**
 * Cuts a byte stream into frames. The payload handed on is a view that is good only during the call when `keep` is
 * not set by the stream; node hands out a fresh buffer per read, so it may be kept.
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
