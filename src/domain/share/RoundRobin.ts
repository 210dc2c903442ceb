/**
 * Serves keys round-robin, and what waits for one key in the order of arrival. What a node divides among its tenants waits in
 * a `FairQueue`, whose keys cannot be chosen.
 */

/** Chooses what is served: its place in what waits for a key; -1 if none may be served now. */
type ChooseOfKey<Key, Waiter> = (key: Key, waiting: ReadonlyArray<Waiter>) => number

const chooseOldest = (): number => 0

export class RoundRobin<Key, Waiter> {
  /** What waits for each key; the keys in the order in which they are served next. */
  readonly #waiting = new Map<Key, Array<Waiter>>()
  #size = 0

  /** How many wait, for all keys. */
  get size(): number {
    return this.#size
  }

  /** What waits for a key, the oldest first. */
  of(key: Key): ReadonlyArray<Waiter> {
    return this.#waiting.get(key) ?? []
  }

  add(key: Key, waiter: Waiter): void {
    const waiting = this.#waiting.get(key)
    if (waiting === undefined) this.#waiting.set(key, [waiter])
    else waiting.push(waiter)
    this.#size++
  }

  /** Returns whether it still waited. */
  remove(key: Key, waiter: Waiter): boolean {
    const waiting = this.#waiting.get(key)
    const at = waiting?.indexOf(waiter) ?? -1
    if (waiting === undefined || at < 0) return false
    waiting.splice(at, 1)
    this.#size--
    if (waiting.length === 0) this.#waiting.delete(key)
    return true
  }

  /** Takes what `choose` picks for the first key for which it chooses something, and moves that key to the end. */
  take(choose: ChooseOfKey<Key, Waiter> = chooseOldest): Waiter | undefined {
    for (const [key, waiting] of this.#waiting) {
      const at = choose(key, waiting)
      if (at < 0) continue
      const waiter = waiting[at]
      waiting.splice(at, 1)
      this.#size--
      this.#waiting.delete(key)
      if (waiting.length > 0) this.#waiting.set(key, waiting)
      return waiter
    }
    return undefined
  }

  /** Whether `take` would take something. */
  canTake(choose: ChooseOfKey<Key, Waiter>): boolean {
    for (const [key, waiting] of this.#waiting) if (choose(key, waiting) >= 0) return true
    return false
  }
}
