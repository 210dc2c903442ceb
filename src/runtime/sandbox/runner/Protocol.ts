/**
 * The messages between the pool and a runner, in frames of `src/runtime/jail/Frames.ts`. Events and outputs stay JSON
 * text from end to end: a runner does not parse them.
 */
import { Buffer } from "node:buffer"
import { frame } from "../../jail/Frames.js"

/** Must be raised when the meaning of events, outputs or prelude calls changes: it is part of the engine's identity. */
export const protocolVersion = 1

/** Kinds of frames from the pool to a runner. */
export const RunnerRequest = {
  /** `u32` live guests, then the bytes of the wasm module. */
  init: 0,
  /** `u32` program, then its script. */
  program: 1,
  /** `u32` program: drop it and what is cached for it. */
  forget: 2,
  /** `u32` session, program, memory in bytes, processor milliseconds a step; then events. */
  start: 3,
  /** `u32` session, then events. */
  feed: 4,
  /** `u32` session. */
  close: 5
} as const

/** Kinds of frames from a runner to the pool. Every `start` and `feed` gets exactly one `turn` or `failed`. */
export const RunnerReply = {
  /** The engine's identity as text. */
  ready: 0,
  /** `u32` session, `u8` flags, `f64` processor milliseconds, `f64` memory in bytes, then the outputs as JSON. */
  turn: 1,
  /** `u32` session, then a `TurnFailure` as JSON. */
  failed: 2,
  /** `u32` session: its replay yields to the turns of other guests. */
  yielded: 3,
  /** `u32` session: work on it begins. Sent only while a replay is paused; otherwise turns are done in order. */
  begin: 4
} as const

/**
 * The runner's note of each turn that it begins: `u32` session, `f64` the number of frames that it made before, sent or
 * not. Runners of earlier builds leave the file empty.
 */
export const begunTurn = { descriptor: 4, bytes: 12 } as const

/** Runners of earlier builds also set bit 2, which is ignored. */
export const turnFlag = { ended: 1 } as const
/** Bytes of a turn before its outputs. */
export const turnHeader = 21

/** The letter of a guest's state, with which its outputs begin. */
export const guestState = { running: 114, stuck: 115, memory: 109, threwNull: 110, tooLarge: 111 } as const

/** Why a runner could not finish a turn. */
export type TurnFailure =
  | { readonly tag: "OutOfMemory" | "OutputTooLarge" | "TooManyValues"; readonly limit: number }
  /** `step`: the path of the step whose code computed. */
  | { readonly tag: "CpuLimit"; readonly limit: number; readonly step?: string }
  | { readonly tag: "LoadFailed"; readonly name: string; readonly message: string }
  | { readonly tag: "SessionLost"; readonly reason: "evicted" | "closed" }

/** A frame of one number. */
export const idFrame = (kind: number, id: number): Buffer => {
  const buffer = frame(kind, 4)
  buffer.writeUInt32BE(id, 5)
  return buffer
}

/** An event as text, or as a text that bytes of JSON and a closing brace follow. */
export type EventText = string | { readonly head: string; readonly json: Uint8Array }

const sizeOf = (event: EventText): number =>
  typeof event === "string" ? Buffer.byteLength(event) : Buffer.byteLength(event.head) + event.json.length + 1

/** A frame of numbers, then of events, each preceded by its length. */
export const eventsFrame = (kind: number, numbers: ReadonlyArray<number>, events: ReadonlyArray<EventText>): Buffer => {
  let bytes = numbers.length * 4
  const sizes: Array<number> = []
  for (const event of events) {
    const size = sizeOf(event)
    sizes.push(size)
    bytes += 4 + size
  }
  const buffer = frame(kind, bytes)
  let at = 5
  for (const number of numbers) at = buffer.writeUInt32BE(number, at)
  for (let i = 0; i < events.length; i++) {
    const event = events[i] ?? ""
    at = buffer.writeUInt32BE(sizes[i] ?? 0, at)
    if (typeof event === "string") at += buffer.write(event, at)
    else {
      at += buffer.write(event.head, at)
      buffer.set(event.json, at)
      at += event.json.length
      at += buffer.write("}", at)
    }
  }
  return buffer
}

/** Reads the events of a frame from position `at` on. */
export const readEvents = (payload: Buffer, at: number): Array<Buffer> => {
  const events: Array<Buffer> = []
  while (at < payload.length) {
    const size = payload.readUInt32BE(at)
    events.push(payload.subarray(at + 4, at + 4 + size))
    at += 4 + size
  }
  return events
}
