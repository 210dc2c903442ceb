/**
 * The watchers of a node, with what a pass over them asks for: a pass in which nothing happened visits none of them. Counts
 * them for their limits.
 */
import { type Failure, TooManyWatches, Unavailable } from "../../../domain/Failure.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import { OpenQuota, type Opener } from "../../../domain/share/OpenQuota.js"
import { ownerOfAccount } from "../../../domain/share/ShareOwner.js"
import type { WatchPosition } from "../../../domain/watch/WatchPosition.js"
import type { RecordTopic } from "../../../domain/watch/WatchTopic.js"
import type { WatchedCredential } from "../../ports/watch/CommittedChanges.js"
import { makeTally } from "../../Tally.js"
import type { Principal } from "../Caller.js"
import { type WatchBounds, type Watcher, watchHolder } from "./Watcher.js"

/** What watchers want to know. */
interface Wanted {
  readonly topics: ReadonlyArray<RecordTopic>
  readonly organisations: ReadonlyArray<OrganisationId>
  /** By their names. */
  readonly credentials: ReadonlyMap<string, WatchedCredential>
  /** Those that watch single runs. */
  readonly ofRuns: ReadonlyArray<Watcher>
}

/** Of all passes, the part in which each silent watcher gets its position: all at once would hold the main loop. */
const passesOfPositions = 64
const leastPositions = 10

const namesOf = <A extends string>(all: Iterable<Watcher>, of: (watcher: Watcher) => Iterable<A>): ReadonlyArray<A> => {
  const names = new Set<A>()
  for (const watcher of all) for (const name of of(watcher)) names.add(name)
  return [...names]
}

const openerOf = (caller: Principal): Opener => ({ caller: watchHolder(caller), owner: ownerOfAccount(caller) })

export class WatcherTable {
  private readonly watchers = new Set<Watcher>()
  private readonly quotas = new Map<WatchBounds, OpenQuota>()
  /** How many of each organisation are told at once. */
  private readonly prompt = makeTally()
  private wantedByAll: Wanted | undefined
  /** When the next of them is to be flushed, if nothing is told before. */
  private flushAt = 0

  get size(): number {
    return this.watchers.size
  }

  get all(): ReadonlyArray<Watcher> {
    return [...this.watchers]
  }

  /** Computed anew after one came or went. */
  get wanted(): Wanted {
    this.wantedByAll ??= {
      topics: namesOf(this.watchers, ({ order }) => order.topics),
      organisations: namesOf(this.watchers, ({ order }) => [order.caller.organisationId]),
      credentials: new Map(
        this.all.flatMap(({ credential, credentialName }) =>
          credential === undefined ? [] : [[credentialName, credential] as const]
        )
      ),
      ofRuns: this.all.filter(({ order }) => order.runs.length > 0)
    }
    return this.wantedByAll
  }

  isTold(organisation: OrganisationId): boolean {
    return this.prompt.of(organisation) > 0
  }

  add(watcher: Watcher): void {
    this.watchers.add(watcher)
    this.count(watcher, 1)
  }

  /** Whether it was there. */
  delete(watcher: Watcher): boolean {
    const wasThere = this.watchers.delete(watcher)
    if (wasThere) this.count(watcher, -1)
    return wasThere
  }

  private count({ order: { bounds, caller } }: Watcher, by: 1 | -1): void {
    this.wantedByAll = undefined
    if (bounds.isPrompt) this.prompt.add(caller.organisationId, by)
    this.quotaOf(bounds).count(openerOf(caller), by)
  }

  private quotaOf(bounds: WatchBounds): OpenQuota {
    const quota = this.quotas.get(bounds) ?? new OpenQuota(bounds)
    this.quotas.set(bounds, quota)
    return quota
  }

  /** Why the caller may not have a further one. */
  refusal(caller: Principal, bounds: WatchBounds): Failure | undefined {
    const excess = this.quotaOf(bounds).excess(openerOf(caller))
    if (excess === undefined) return undefined
    const { limit, of } = excess
    if (of !== "node") return new TooManyWatches({ of, limit })
    return new Unavailable({
      reason: `this node has ${limit} watches open, as many as it serves: read at intervals instead, or try another node`,
      retryAfterSeconds: 5
    })
  }

  /** Called after something was added to a watcher, or one became live. */
  noteNews(): void {
    this.flushAt = 0
  }

  /** Flushes those that have something to tell, or were silent for too long. */
  flush(now: number, position: WatchPosition): void {
    if (now < this.flushAt) return
    let positions = Math.max(leastPositions, Math.ceil(this.watchers.size / passesOfPositions))
    let next = Infinity
    for (const watcher of this.watchers) {
      if (now >= watcher.flushAt && (!watcher.isSilent || positions-- > 0)) watcher.flush(now, position)
      next = Math.min(next, watcher.flushAt)
    }
    this.flushAt = next
  }
}
