/**
 * A fair queue: serves accounts round-robin, the organisations of an account round-robin, and what waits for one
 * organisation in the order of arrival.
 */
import type { ShareOwner } from "./ShareOwner.js"
import { RoundRobin } from "./RoundRobin.js"

/** Chooses what is served: its place in what waits for an organisation of the account; -1 if none may be served now. */
export type ChooseWaiter<Waiter> = (account: string, waiting: ReadonlyArray<Waiter>) => number

const chooseOldest = (): number => 0

export class FairQueue<Waiter> {
  /** The accounts in the order in which they are served next. */
  readonly #accounts = new Map<string, RoundRobin<string, Waiter>>()
  #size = 0

  /** How many wait, for all owners. */
  get size(): number {
    return this.#size
  }

  /** The number of accounts that something waits for. */
  get accounts(): number {
    return this.#accounts.size
  }

  /** Whether something waits for an organisation of the account. */
  isWaiting(account: string): boolean {
    return this.#accounts.has(account)
  }

  /** What waits for the owner's organisation, the oldest first. */
  of({ account, organisation }: ShareOwner): ReadonlyArray<Waiter> {
    return this.#accounts.get(account)?.of(organisation) ?? []
  }

  add({ account, organisation }: ShareOwner, waiter: Waiter): void {
    const waiting = this.#accounts.get(account) ?? new RoundRobin<string, Waiter>()
    this.#accounts.set(account, waiting)
    waiting.add(organisation, waiter)
    this.#size++
  }

  /** Returns whether it still waited. */
  remove({ account, organisation }: ShareOwner, waiter: Waiter): boolean {
    const waiting = this.#accounts.get(account)
    if (waiting?.remove(organisation, waiter) !== true) return false
    this.#size--
    if (waiting.size === 0) this.#accounts.delete(account)
    return true
  }

  /**
   * Takes what `choose` picks for the first organisation of the first account for which it chooses something, and moves
   * both to the end.
   */
  take(choose: ChooseWaiter<Waiter> = chooseOldest): Waiter | undefined {
    for (const [account, waiting] of this.#accounts) {
      const before = waiting.size
      const waiter = waiting.take((_, all) => choose(account, all))
      if (waiting.size === before) continue
      this.#size--
      this.#accounts.delete(account)
      if (waiting.size > 0) this.#accounts.set(account, waiting)
      return waiter
    }
    return undefined
  }

  /** Whether `take` would take something. */
  canTake(choose: ChooseWaiter<Waiter>): boolean {
    for (const [account, waiting] of this.#accounts) if (waiting.canTake((_, all) => choose(account, all))) return true
    return false
  }
}
