/** Values that parts of the panel share, and which are shown anew when they change. */
import { useEffect, useState } from "preact/hooks"

/** A value with those who are told of each change. */
export interface Shared<A> {
  readonly get: () => A
  readonly set: (value: A) => void
  /** Calls back after each change, until the returned function is called. */
  readonly follow: (changed: (value: A) => void) => () => void
}

/** A shared value that begins as this one. */
export const makeShared = <A>(first: A): Shared<A> => {
  let value = first
  const followers = new Set<(value: A) => void>()
  return {
    get: () => value,
    set: (next) => {
      if (next === value) return
      value = next
      for (const changed of followers) changed(next)
    },
    follow: (changed) => {
      followers.add(changed)
      return () => void followers.delete(changed)
    }
  }
}

/** The value, for a component that is drawn again when it changes. */
export const useShared = <A>({ follow, get }: Shared<A>): A => {
  const [, draw] = useState<A>(get)
  useEffect(() => {
    const changed = (value: A) => draw(() => value)
    // It may have changed between drawing and this moment.
    changed(get())
    return follow(changed)
  }, [follow, get])
  return get()
}
