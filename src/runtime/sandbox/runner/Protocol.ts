/**
 * The frames between the pool and a runner, over one inherited socket. A frame is its length (four bytes, big-endian,
 * not counting themselves), one byte of kind, and the kind's own bytes. Events and outputs stay JSON text from end to
 * end, so that a runner never parses them.
 */
import { Buffer } from "node:buffer"

/** Raised whenever the meaning of events, outputs or prelude calls changes: it is part of the engine's identity. */
export const protocolVersion = 1

/** What the pool tells a runner. */
export const Ask = {
  /** `u32` live guests, then the bytes of the wasm module. */
  init: 0,
  /** `u32` program, then its script. */
  program: 1,
  /** `u32` program: drop all that is kept for it. */
  forget: 2,
  /** `u32` session, program, memory in bytes, processor milliseconds a step; then events. */
  start: 3,
  /** `u32` session, then events. */
  feed: 4,
  /** `u32` session. */
  close: 5
} as const

/** What a runner tells the pool. Every `start` and `feed` is answered by exactly one `turn` or `failed`. */
export const Tell = {
  /** The engine's identity as text. */
  ready: 0,
  /** `u32` session, `u8` flags, `f64` processor milliseconds, `f64` memory in bytes, then the outputs as JSON. */
  turn: 1,
  /** `u32` session, then a `Refusal` as JSON. */
  failed: 2,
  /** `u32` session: its replay goes on after its neighbours' turns. */
  yielded: 3,
  /** `u32` session: work on it begins. Sent only while a replay is paused; otherwise work is done in order. */
  begin: 4
} as const

/** Runners of earlier builds also set the bit 2, which nothing reads. */
export const turnFlag = { ended: 1 } as const
/** Bytes of a turn before its outputs. */
export const turnHeader = 21

/** Why a runner could not finish a turn. */
export type TurnFailure =
  | { readonly tag: "OutOfMemory" | "CpuLimit" | "OutputTooLarge" | "TooManyValues"; readonly limit: number }
  | { readonly tag: "LoadFailed"; readonly name: string; readonly message: string }
  | { readonly tag: "SessionLost"; readonly reason: "evicted" | "closed" }

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

/** A frame of one number. */
export const idFrame = (kind: number, id: number): Buffer => {
  const buffer = frame(kind, 4)
  buffer.writeUInt32BE(id, 5)
  return buffer
}

/** A frame of some numbers followed by events, each with its length before it. */
export const eventsFrame = (kind: number, numbers: ReadonlyArray<number>, events: ReadonlyArray<string>): Buffer => {
  let bytes = numbers.length * 4
  const sizes: Array<number> = []
  for (const event of events) {
    const size = Buffer.byteLength(event)
    sizes.push(size)
    bytes += 4 + size
  }
  const buffer = frame(kind, bytes)
  let at = 5
  for (const number of numbers) at = buffer.writeUInt32BE(number, at)
  for (let i = 0; i < events.length; i++) {
    at = buffer.writeUInt32BE(sizes[i] ?? 0, at)
    at += buffer.write(events[i] ?? "", at)
  }
  return buffer
}

/** The events of a frame from `at` on. */
export const readEvents = (payload: Buffer, at: number): Array<Buffer> => {
  const events: Array<Buffer> = []
  while (at < payload.length) {
    const size = payload.readUInt32BE(at)
    events.push(payload.subarray(at + 4, at + 4 + size))
    at += 4 + size
  }
  return events
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
