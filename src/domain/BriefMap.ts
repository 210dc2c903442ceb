/**
 * A map of entries that come and go all the time, such as the runs in hand. V8 copies a `Map` into a new table whenever its
 * table is full of removed entries. Once the map is old, the tables that it left are old, too, and keep their values from
 * the collector of young objects, which then moves each value instead of forgetting it. Here a value lies in a cell that its
 * removal empties.
 */
export class BriefMap<K, V extends object> {
  private readonly cells = new Map<K, Cell<V>>()

  get size(): number {
    return this.cells.size
  }

  has(key: K): boolean {
    return this.cells.has(key)
  }

  get(key: K): V | undefined {
    return this.cells.get(key)?.value
  }

  set(key: K, value: V): void {
    const cell = this.cells.get(key)
    if (cell === undefined) this.cells.set(key, { value })
    else cell.value = value
  }

  delete(key: K): boolean {
    const cell = this.cells.get(key)
    if (cell === undefined) return false
    cell.value = undefined
    return this.cells.delete(key)
  }

  clear(): void {
    for (const cell of this.cells.values()) cell.value = undefined
    this.cells.clear()
  }

  keys(): IterableIterator<K> {
    return this.cells.keys()
  }

  *values(): IterableIterator<V> {
    for (const [, value] of this) yield value
  }

  *[Symbol.iterator](): IterableIterator<readonly [key: K, value: V]> {
    for (const [key, { value }] of this.cells) if (value !== undefined) yield [key, value]
  }
}

/** A set of values that come and go all the time. */
export class BriefSet<V extends object> {
  private readonly entries = new BriefMap<number, V>()
  private added = 0

  /** Returns the function that removes the value. */
  add(value: V): () => void {
    const key = this.added++
    this.entries.set(key, value)
    return () => void this.entries.delete(key)
  }

  /** In the order in which they were added. */
  values(): IterableIterator<V> {
    return this.entries.values()
  }

  clear(): void {
    this.entries.clear()
  }
}

interface Cell<V> {
  /** `undefined` once it is removed. */
  value: V | undefined
}
