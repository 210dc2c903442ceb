/**
 * Compiled patterns in memory, by organisation, least recently used first out. When all of them take too much memory,
 * the organisation that holds the most loses some, so that none can displace those of others.
 */
import type { Pattern } from "../domain/expression/PatternProgram.js"
import type { OrganisationId } from "../domain/Ids.js"

/** A pattern that can be used, or why it cannot. */
export type CachedPattern = { readonly pattern: Pattern } | { readonly mistake: string }

/** Bytes of an entry beside its program. */
const entryBytes = 1_000

const bytesOf = (entry: CachedPattern) => entryBytes + ("pattern" in entry ? entry.pattern.bytes : 0)

interface Share {
  readonly entries: Map<string, CachedPattern>
  bytes: number
}

export class PatternCache {
  private readonly shares = new Map<OrganisationId, Share>()
  private bytes = 0

  constructor(private readonly maxBytes: number) {}

  /** The entry, which becomes the one used last. */
  find(organisation: OrganisationId, pattern: string): CachedPattern | undefined {
    const entries = this.shares.get(organisation)?.entries
    const found = entries?.get(pattern)
    if (entries === undefined || found === undefined) return undefined
    entries.delete(pattern)
    entries.set(pattern, found)
    return found
  }

  add(organisation: OrganisationId, pattern: string, entry: CachedPattern): void {
    const share = this.shares.get(organisation) ?? { entries: new Map<string, CachedPattern>(), bytes: 0 }
    this.shares.set(organisation, share)
    this.remove(organisation, share, pattern)
    this.shares.set(organisation, share)
    share.entries.set(pattern, entry)
    share.bytes += bytesOf(entry)
    this.bytes += bytesOf(entry)
    while (this.bytes > this.maxBytes) this.evict()
  }

  private evict(): void {
    let [largest] = this.shares
    for (const one of this.shares) if (largest === undefined || one[1].bytes > largest[1].bytes) largest = one
    const [oldest] = largest?.[1].entries.keys() ?? []
    if (largest !== undefined && oldest !== undefined) this.remove(largest[0], largest[1], oldest)
  }

  private remove(organisation: OrganisationId, share: Share, pattern: string): void {
    const entry = share.entries.get(pattern)
    if (entry === undefined) return
    share.entries.delete(pattern)
    share.bytes -= bytesOf(entry)
    this.bytes -= bytesOf(entry)
    if (share.entries.size === 0) this.shares.delete(organisation)
  }
}
