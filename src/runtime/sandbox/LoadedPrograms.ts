/** Tracks the programs that a runner has, so that each is sent once. The least recently used ones are dropped there. */
import type { Buffer } from "node:buffer"
import { textFrame } from "../jail/Frames.js"
import { RunnerRequest, idFrame } from "./runner/Protocol.js"

/** Bounds of what a runner keeps: programs, and bytes of their scripts. */
const maxPrograms = 512
const maxScriptBytes = 64 * 1024 * 1024

export class LoadedPrograms {
  /** Least recently used first. */
  readonly #programs = new Map<string, { readonly id: number; readonly bytes: number }>()
  #count = 0
  #scriptBytes = 0

  constructor(private readonly send: (frame: Buffer) => void) {}

  /** The number of a program on the runner; sends the program if the runner does not have it. */
  idOf(key: string, script: string): number {
    const loaded = this.#programs.get(key)
    if (loaded !== undefined) {
      this.#programs.delete(key)
      this.#programs.set(key, loaded)
      return loaded.id
    }
    const added = { id: ++this.#count, bytes: script.length }
    for (const [oldest, { bytes, id }] of this.#programs) {
      if (this.#programs.size < maxPrograms && this.#scriptBytes + added.bytes <= maxScriptBytes) break
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
