/** Caches whose number of entries is bounded, since tenants choose their keys. */

/** A map that drops the entry that was set longest ago when it has more than `maxEntries`. */
export class RecentMap<Key, Value> extends Map<Key, Value> {
  constructor(private readonly maxEntries: number) {
    super()
  }

  override set(key: Key, value: Value): this {
    this.delete(key)
    super.set(key, value)
    const [oldest] = this.size > this.maxEntries ? this.keys() : []
    if (oldest !== undefined) this.delete(oldest)
    return this
  }
}

/** A longer text is not kept in a cache: tenants write the texts. */
const cachedLength = 1024

/** Caches a pure function's results for short texts. */
export const memoize = <A>(make: (text: string) => A, maxEntries = 20_000): ((text: string) => A) => {
  const cache = new RecentMap<string, A>(maxEntries)
  return (text) => {
    if (text.length > cachedLength) return make(text)
    const found = cache.get(text)
    if (found !== undefined) return found
    const result = make(text)
    cache.set(text, result)
    return result
  }
}
