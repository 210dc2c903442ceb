/** Bounds the bytes of request bodies in memory on this node, and the share of each sender. */
import { totalmem } from "node:os"
import { Unavailable } from "../../domain/Failure.js"

const MiB = 1024 * 1024

/** A sixteenth of this process's memory limit, between 32 and 256 MiB. */
export const defaultBudget = (): number => {
  const limit = process.constrainedMemory()
  const memory = limit > 0 ? Math.min(limit, totalmem()) : totalmem()
  return Math.min(256 * MiB, Math.max(32 * MiB, Math.floor(memory / 16)))
}

/** A single holder may take a quarter. */
const shares = 4

export class BodyBudget {
  private taken = 0
  private readonly byHolder = new Map<string, number>()

  constructor(private readonly bytes: number) {}

  /** Takes bytes, or returns why there are none left. */
  take(holder: string, bytes: number): Unavailable | undefined {
    const held = this.byHolder.get(holder) ?? 0
    if (this.taken + bytes > this.bytes)
      return new Unavailable({ reason: "too many request bodies are held at once", retryAfterSeconds: 1 })
    if (held + bytes > this.bytes / shares)
      return new Unavailable({ reason: "too many request bodies of yours are held at once", retryAfterSeconds: 1 })
    this.taken += bytes
    this.byHolder.set(holder, held + bytes)
    return undefined
  }

  give(holder: string, bytes: number): void {
    const held = (this.byHolder.get(holder) ?? 0) - bytes
    this.taken -= bytes
    if (held > 0) this.byHolder.set(holder, held)
    else this.byHolder.delete(holder)
  }

  /** Bytes in use. */
  get held(): number {
    return this.taken
  }
}

/** The bytes that one request has taken of a budget. Releases them once, all together. */
export class BodyShare {
  private bytes = 0
  private done = false

  constructor(
    private readonly budget: BodyBudget,
    private readonly holder: string
  ) {}

  take(bytes: number): Unavailable | undefined {
    if (this.done) return undefined
    const refused = this.budget.take(this.holder, bytes)
    if (refused === undefined) this.bytes += bytes
    return refused
  }

  give(): void {
    if (this.done) return
    this.done = true
    if (this.bytes > 0) this.budget.give(this.holder, this.bytes)
  }
}
