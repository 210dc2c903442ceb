/** How many there are of each name. Names that have none take no room. */
export interface Tally {
  readonly of: (name: string) => number
  readonly add: (name: string, by: 1 | -1) => void
}

/** An empty one. */
export const makeTally = (): Tally => {
  const counts = new Map<string, number>()
  return {
    of: (name) => counts.get(name) ?? 0,
    add: (name, by) => {
      const count = (counts.get(name) ?? 0) + by
      if (count === 0) counts.delete(name)
      else counts.set(name, count)
    }
  }
}
