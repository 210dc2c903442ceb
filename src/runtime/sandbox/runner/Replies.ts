/**
 * The runner's frames to the pool. The answers of short turns leave in one write, since each write wakes the service,
 * which costs more than bytes. Before each turn the runner notes the turn in a file that it shares with the pool: the
 * order of unsent answers does not tell the pool which guest hangs.
 */
import { Buffer } from "node:buffer"
import { fstatSync, writeSync } from "node:fs"
import type { Socket } from "node:net"
import { wallMillis } from "./Processor.js"
import { begunTurn } from "./Protocol.js"

/** How long turns compute, from the first one on, before their answers are sent. */
const maxUnsentMillis = 1
/** More bytes are sent at once: to copy them costs more than a write. */
const maxUnsentBytes = 64 * 1024

const noBytes = Buffer.alloc(0)

export class Replies {
  private unsent: Array<Buffer> = []
  private unsentBytes = 0
  /** When the turn of the first unsent answer began. */
  private since = 0
  /** All frames so far. */
  private frames = 0
  private readonly note = Buffer.alloc(begunTurn.bytes)
  /** Without the file every answer is sent before the next turn: then their order tells which turn hangs. */
  private readonly canNote = isFile(begunTurn.descriptor)

  constructor(private readonly socket: Socket) {}

  /** Sends a frame, at the latest with the next `flush`. */
  add(bytes: Buffer): void {
    if (bytes.length > maxUnsentBytes) this.flush()
    this.frames++
    this.unsent.push(bytes)
    this.unsentBytes += bytes.length
    if (!this.canNote || this.unsentBytes > maxUnsentBytes) this.flush()
  }

  /** A turn begins. `isLong`: it may compute so long that no answer should wait for its end. */
  beginTurn(session: number, isLong: boolean): void {
    if (isLong) this.flush()
    else this.flushLate()
    if (this.unsent.length === 0) this.since = wallMillis()
    if (!this.canNote) return
    this.note.writeUInt32BE(session, 0)
    this.note.writeDoubleBE(this.frames, 4)
    writeSync(begunTurn.descriptor, this.note, 0, begunTurn.bytes, 0)
  }

  /** Sends the unsent frames if turns have computed for a millisecond since. Called also while a guest computes. */
  flushLate(): void {
    if (this.unsent.length > 0 && wallMillis() - this.since > maxUnsentMillis) this.flush()
  }

  flush(): void {
    const [only] = this.unsent
    if (only === undefined) return
    const bytes = this.unsent.length === 1 ? only : Buffer.concat(this.unsent, this.unsentBytes)
    this.unsent = []
    this.unsentBytes = 0
    this.socket.write(bytes)
  }

  /** Waits until what was flushed is written. Node emits `drain` only after writes that exceeded the high water mark. */
  awaitWritten(): Promise<void> | undefined {
    if (this.socket.writableLength === 0) return undefined
    this.flush()
    return new Promise((resolve) => this.socket.write(noBytes, () => resolve()))
  }
}

// --- Private ---

const isFile = (descriptor: number): boolean => {
  try {
    return fstatSync(descriptor).isFile()
  } catch {
    // There is no such descriptor.
    return false
  }
}
