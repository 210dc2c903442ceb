/** The memory of one answer's body: while it waits for room, nothing more is read from the sender. */
import type { Holding } from "../../actors/ports/HeldBytes.js"

export interface BodyFlow {
  readonly pause: () => void
  readonly resume: () => void
  /** There was no room in time. */
  readonly refuse: () => void
}

export class BodyMemory {
  /** Bytes that have come while it waits. */
  private owed = 0
  private stop: (() => void) | undefined
  private next: (() => void) | undefined

  constructor(
    private readonly holding: Holding,
    private readonly flow: BodyFlow
  ) {}

  get isWaiting(): boolean {
    return this.owed > 0
  }

  /** Takes bytes that have come; what is in the buffers of the socket still arrives while it waits. */
  take(bytes: number): void {
    if (this.owed > 0) this.owed += bytes
    else if (!this.holding.tryTake(bytes)) {
      this.owed = bytes
      this.flow.pause()
      this.wait(bytes)
    }
  }

  /** Calls `next` when all that has come is held, unless it is refused. */
  whenHeld(next: () => void): void {
    this.next = next
  }

  cancel(): void {
    this.stop?.()
    this.owed = 0
    this.next = undefined
  }

  private wait(bytes: number): void {
    this.stop = this.holding.take(bytes, (refused) => {
      this.stop = undefined
      if (refused !== undefined) return this.flow.refuse()
      this.owed -= bytes
      if (this.owed > 0) return this.wait(this.owed)
      this.flow.resume()
      this.next?.()
    })
  }
}
