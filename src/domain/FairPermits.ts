/** A semaphore with a limit per organisation besides the total, so that no organisation can take every permit. */
import { Effect } from "effect"

interface Holder {
  readonly semaphore: Effect.Semaphore
  users: number
}

/** `withPermit` waits for a permit of the holder first, then for one of all, if those are bounded. */
export const makeFairPermits = (perHolder: number, inAll = Infinity) => {
  const all = Effect.unsafeMakeSemaphore(inAll)
  const holders = new Map<string, Holder>()

  const withPermit = <A, E, R>(name: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.suspend(() => {
      const holder = holders.get(name) ?? { semaphore: Effect.unsafeMakeSemaphore(perHolder), users: 0 }
      holders.set(name, holder)
      holder.users++
      return Effect.ensuring(
        holder.semaphore.withPermits(1)(all.withPermits(1)(effect)),
        Effect.sync(() => {
          holder.users--
          if (holder.users === 0) holders.delete(name)
        })
      )
    })

  return { withPermit }
}
