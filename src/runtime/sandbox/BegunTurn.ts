/**
 * The turn that a runner began last. The runner writes it into a file without a name, which the service reads when a guest
 * hangs or the runner has ended. A frame for each turn would wake the service, and be lost with the runner.
 */
import { Buffer } from "node:buffer"
import { randomUUID } from "node:crypto"
import { closeSync, openSync, readSync, unlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { begunTurn } from "./runner/Protocol.js"

export class BegunTurn {
  private file = openUnnamed()
  private readonly note = Buffer.alloc(begunTurn.bytes)

  /** For the runner to inherit; `undefined` where no file can be made: then the runner sends each answer at once. */
  get descriptor(): number | undefined {
    return this.file
  }

  /**
   * The session of the turn. `undefined` if the runner has sent more than the `frames` that preceded the turn, so that
   * the turn is over, or if it notes no turns.
   */
  read(frames: number): number | undefined {
    if (this.file === undefined) return undefined
    if (readSync(this.file, this.note, 0, begunTurn.bytes, 0) < begunTurn.bytes) return undefined
    return frames > this.note.readDoubleBE(4) ? undefined : this.note.readUInt32BE(0)
  }

  close(): void {
    if (this.file !== undefined) closeSync(this.file)
    this.file = undefined
  }
}

// --- Private ---

const openUnnamed = (): number | undefined => {
  const path = join(tmpdir(), `svc-runner-${randomUUID()}`)
  try {
    const descriptor = openSync(path, "wx+", 0o600)
    unlinkSync(path)
    return descriptor
  } catch {
    return undefined
  }
}
