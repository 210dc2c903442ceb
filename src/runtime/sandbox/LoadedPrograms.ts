/** The programs that a runner was told, so that each is sent once; those that were used least lately are forgotten. */
import type { Buffer } from "node:buffer"
import { textFrame } from "../jail/Frames.js"
import { RunnerRequest, idFrame } from "./runner/Protocol.js"

/** A runner is made to remember this many programs, and this many bytes of script. */
const programsKept = 512
const scriptBytesKept = 64 * 1024 * 1024

export class LoadedPrograms {
  /** Least lately used first. */
  readonly #programs = new Map<string, { readonly id: number; readonly bytes: number }>()
  #count = 0
  #scriptBytes = 0

  constructor(private readonly send: (frame: Buffer) => void) {}

  /** The number of a program; tells the runner of it where it does not know it. */
  idOf(key: string, script: string): number {
    const known = this.#programs.get(key)
    if (known !== undefined) {
      this.#programs.delete(key)
      this.#programs.set(key, known)
      return known.id
    }
    const added = { id: ++this.#count, bytes: script.length }
    for (const [oldest, { bytes, id }] of this.#programs) {
      if (this.#programs.size < programsKept && this.#scriptBytes + added.bytes <= scriptBytesKept) break
      this.#programs.delete(oldest)
      this.#scriptBytes -= bytes
      this.send(idFrame(RunnerRequest.forget, id))
    }
    this.#programs.set(key, added)
    this.#scriptBytes += added.bytes
    this.send(textFrame(RunnerRequest.program, added.id, script))
    return added.id
  }
}
