/** What was read a moment ago and may be used again; whoever asks while it is being read waits for the same answer. */
import { Deferred, Effect, FiberId } from "effect"

export interface Fresh<A, E> {
  /** The value, if it was read less than the allowed time before `now`. */
  readonly held: (key: string, now: number) => A | undefined
  /** The value, read now if need be. What `load` does not find, `undefined`, is not kept. */
  readonly get: (key: string, load: Effect.Effect<A | undefined, E>) => Effect.Effect<A | undefined, E>
}

/** `most`: beyond it all are forgotten. */
export const make = <A, E>(options: { readonly millis: number; readonly most: number }): Effect.Effect<Fresh<A, E>> =>
  Effect.map(Effect.clock, (clock) => {
    const cache = new Map<string, { readonly at: number; readonly value: A }>()
    const loading = new Map<string, Deferred.Deferred<A | undefined, E>>()

    const held = (key: string, now: number): A | undefined => {
      const entry = cache.get(key)
      return entry !== undefined && now - entry.at < options.millis ? entry.value : undefined
    }

    const read = (key: string, load: Effect.Effect<A | undefined, E>, at: number) => {
      const answer = Deferred.unsafeMake<A | undefined, E>(FiberId.none)
      loading.set(key, answer)
      const settled = Effect.onExit(load, (exit) => {
        loading.delete(key)
        if (exit._tag === "Success" && exit.value !== undefined) {
          if (cache.size >= options.most) cache.clear()
          cache.set(key, { at, value: exit.value })
        }
        return Deferred.done(answer, exit)
      })
      // Whoever asked first may go away: the others still wait for what it began.
      return Effect.uninterruptible(settled)
    }

    const get = (key: string, load: Effect.Effect<A | undefined, E>) =>
      Effect.suspend(() => {
        const now = clock.unsafeCurrentTimeMillis()
        const value = held(key, now)
        if (value !== undefined) return Effect.succeed(value)
        const flying = loading.get(key)
        return flying === undefined ? read(key, load, now) : Deferred.await(flying)
      })

    return { held, get }
  })
