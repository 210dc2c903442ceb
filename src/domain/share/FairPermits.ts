/** Permits of which no account holds more than its part. Who waits for one is served as by a `FairQueue`. */
import { Effect } from "effect"
import { FairQueue } from "./FairQueue.js"
import type { ShareOwner } from "./ShareOwner.js"

interface Waiter {
  readonly owner: ShareOwner
  readonly begin: () => void
}

/** `withPermit` runs an effect with a permit, of which an account has at most `perAccount` and all together `inAll`. */
export const makeFairPermits = (perAccount: number, inAll = Infinity) => {
  const held = new Map<string, number>()
  const waiting = new FairQueue<Waiter>()
  let total = 0

  const heldBy = (account: string) => held.get(account) ?? 0
  const count = (account: string, by: 1 | -1) => {
    const left = heldBy(account) + by
    total += by
    if (left === 0) held.delete(account)
    else held.set(account, left)
  }
  const choose = (account: string) => (total < inAll && heldBy(account) < perAccount ? 0 : -1)
  const serve = () => {
    for (let next = waiting.take(choose); next !== undefined; next = waiting.take(choose)) {
      count(next.owner.account, 1)
      next.begin()
    }
  }

  const acquire = (owner: ShareOwner) =>
    Effect.async<void>((resume) => {
      let isHeld = false
      const waiter: Waiter = {
        owner,
        begin: () => {
          isHeld = true
          resume(Effect.void)
        }
      }
      waiting.add(owner, waiter)
      serve()
      return Effect.sync(() => {
        if (isHeld) release(owner)
        else waiting.remove(owner, waiter)
      })
    })
  const release = (owner: ShareOwner) => {
    count(owner.account, -1)
    serve()
  }

  const withPermit = <A, E, R>(owner: ShareOwner, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.zipRight(
        restore(acquire(owner)),
        Effect.ensuring(
          restore(effect),
          Effect.sync(() => release(owner))
        )
      )
    )

  return { withPermit }
}
