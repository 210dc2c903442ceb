/** Loads that callers share: who asks for a key whose load is under way waits for its answer, instead of loading again. */
import { Deferred, Effect, FiberId } from "effect"

/**
 * The value under `key`, from the load that is under way or from `load`. Keeps nothing after the answer. The load goes on
 * when the caller that began it is interrupted, since others may wait for it.
 */
export type SharedLoads<Key, A, E> = (key: Key, load: Effect.Effect<A, E>) => Effect.Effect<A, E>

/** For one kind of value. */
export const makeSharedLoads = <Key, A, E>(): SharedLoads<Key, A, E> => {
  const loading = new Map<Key, Deferred.Deferred<A, E>>()
  return (key, load) =>
    Effect.suspend(() => {
      const underWay = loading.get(key)
      if (underWay !== undefined) return Deferred.await(underWay)
      const answer = Deferred.unsafeMake<A, E>(FiberId.none)
      loading.set(key, answer)
      const telling = Effect.onExit(load, (exit) => {
        loading.delete(key)
        return Deferred.done(answer, exit)
      })
      return Effect.uninterruptible(telling)
    })
}
