/** A fair queue: serves its owners round-robin, and what waits for one owner in the order of arrival. */

/** Chooses what is served: its place in what waits for an owner; -1 if none may be served now. */
export type ChooseWaiter<Owner, Waiter> = (owner: Owner, waiting: ReadonlyArray<Waiter>) => number

const chooseOldest = (): number => 0

export class FairQueue<Owner, Waiter> {
  /** What waits for each owner; the owners in the order in which they are served next. */
  readonly #waiting = new Map<Owner, Array<Waiter>>()
  #size = 0

  /** How many wait, for all owners. */
  get size(): number {
    return this.#size
  }

  /** The number of owners that something waits for. */
  get owners(): number {
    return this.#waiting.size
  }

  /** What waits for an owner, the oldest first. */
  of(owner: Owner): ReadonlyArray<Waiter> {
    return this.#waiting.get(owner) ?? []
  }

  add(owner: Owner, waiter: Waiter): void {
    const waiting = this.#waiting.get(owner)
    if (waiting === undefined) this.#waiting.set(owner, [waiter])
    else waiting.push(waiter)
    this.#size++
  }

  /** Returns whether it still waited. */
  remove(owner: Owner, waiter: Waiter): boolean {
    const waiting = this.#waiting.get(owner)
    const at = waiting?.indexOf(waiter) ?? -1
    if (waiting === undefined || at < 0) return false
    waiting.splice(at, 1)
    this.#size--
    if (waiting.length === 0) this.#waiting.delete(owner)
    return true
  }

  /** Takes what `choose` picks for the first owner for which it chooses something, and moves that owner to the end. */
  take(choose: ChooseWaiter<Owner, Waiter> = chooseOldest): Waiter | undefined {
    for (const [owner, waiting] of this.#waiting) {
      const at = choose(owner, waiting)
      if (at < 0) continue
      const waiter = waiting[at]
      waiting.splice(at, 1)
      this.#size--
      this.#waiting.delete(owner)
      if (waiting.length > 0) this.#waiting.set(owner, waiting)
      return waiter
    }
    return undefined
  }

  /** Whether `take` would take something. */
  canTake(choose: ChooseWaiter<Owner, Waiter>): boolean {
    for (const [owner, waiting] of this.#waiting) if (choose(owner, waiting) >= 0) return true
    return false
  }
}
