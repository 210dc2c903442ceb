/**
 * Compiled patterns in memory, by organisation, least recently used first out. When all of them take too much memory, the
 * account that holds the most loses some, and there the organisation that holds the most, so that none can displace those
 * of others.
 */
import type { Pattern } from "../domain/expression/PatternProgram.js"
import type { OrganisationId } from "../domain/Ids.js"
import type { ShareOwner } from "../domain/share/ShareOwner.js"

/** A pattern that can be used, or why it cannot. */
export type CachedPattern = { readonly pattern: Pattern } | { readonly mistake: string }

/** Bytes of an entry beside its program. */
const entryBytes = 1_000

const bytesOf = (entry: CachedPattern) => entryBytes + ("pattern" in entry ? entry.pattern.bytes : 0)

interface OrganisationPatterns {
  readonly owner: ShareOwner
  readonly entries: Map<string, CachedPattern>
  bytes: number
}

const largestOf = <Key, A>(
  all: Iterable<readonly [Key, A]>,
  bytesIn: (one: A) => number
): readonly [Key, A] | undefined => {
  let largest: readonly [Key, A] | undefined
  for (const one of all) if (largest === undefined || bytesIn(one[1]) > bytesIn(largest[1])) largest = one
  return largest
}

export class PatternCache {
  private readonly organisations = new Map<string, OrganisationPatterns>()
  private readonly accountBytes = new Map<string, number>()
  private bytes = 0

  constructor(private readonly maxBytes: number) {}

  /** The entry, which becomes the one used last. */
  find(organisation: OrganisationId, pattern: string): CachedPattern | undefined {
    const entries = this.organisations.get(organisation)?.entries
    const found = entries?.get(pattern)
    if (entries === undefined || found === undefined) return undefined
    entries.delete(pattern)
    entries.set(pattern, found)
    return found
  }

  add(owner: ShareOwner, pattern: string, entry: CachedPattern): void {
    const known = this.organisations.get(owner.organisation)
    const own = known ?? { owner, entries: new Map<string, CachedPattern>(), bytes: 0 }
    this.remove(own, pattern)
    this.organisations.set(owner.organisation, own)
    own.entries.set(pattern, entry)
    this.count(own, bytesOf(entry))
    while (this.bytes > this.maxBytes) this.evict()
  }

  private evict(): void {
    const [account] = largestOf(this.accountBytes, (bytes) => bytes) ?? []
    const ofAccount = [...this.organisations].filter(([, { owner }]) => owner.account === account)
    const [, largest] = largestOf(ofAccount, ({ bytes }) => bytes) ?? []
    const [oldest] = largest?.entries.keys() ?? []
    if (largest !== undefined && oldest !== undefined) this.remove(largest, oldest)
  }

  private remove(own: OrganisationPatterns, pattern: string): void {
    const entry = own.entries.get(pattern)
    if (entry === undefined) return
    own.entries.delete(pattern)
    this.count(own, -bytesOf(entry))
    if (own.entries.size === 0) this.organisations.delete(own.owner.organisation)
  }

  private count(own: OrganisationPatterns, bytes: number): void {
    const { account } = own.owner
    const ofAccount = (this.accountBytes.get(account) ?? 0) + bytes
    own.bytes += bytes
    this.bytes += bytes
    if (ofAccount === 0) this.accountBytes.delete(account)
    else this.accountBytes.set(account, ofAccount)
  }
}
