/**
 * Divides the node's outgoing connections among organisations. An organisation gets no more than are still free, so that
 * each new one finds some: one alone gets half of them, two a third each. The pools belong to one organisation each.
 */
import type { Dispatcher } from "undici"
import type { EgressReadings } from "../../actors/ports/Egress.js"
import { FairQueue } from "../../domain/FairQueue.js"
import type { CountSocket } from "./Connect.js"

/** Connections of the node, and of one organisation to one origin. */
export interface PlaceLimits {
  readonly node: number
  readonly origin: number
}

/** The right to one connection, for one request. */
export interface ConnectionPlace {
  /** The organisation's connections. */
  readonly dispatcher: () => Dispatcher
  /** May be called more than once. */
  readonly release: () => void
}

/** Why a request waits. */
export type Shortage = "origin" | "node"

/** Makes the connections of one organisation, which `count` counts. */
export type MakePool = (count: CountSocket) => Pool
type Pool = Dispatcher

/** An organisation with less than this part of the connections makes others close their idle ones. */
const smallShare = 16

interface Waiter {
  readonly origin: string
  readonly begin: (place: ConnectionPlace) => void
}

/** One pool of an organisation, with its requests and sockets. A retired pool takes no more requests. */
interface PoolUse {
  readonly pool: Pool
  requests: number
  sockets: number
}

/** What one organisation uses. */
class Owner {
  requests = 0
  /** Open and opening sockets, idle ones and those of retired pools included. */
  sockets = 0
  pool: PoolUse | undefined
  readonly byOrigin = new Map<string, number>()
  /** Waiting requests by origin; the origins take turns. */
  readonly waiting = new FairQueue<string, Waiter>()

  constructor(readonly name: string) {}

  /** A request without a socket will open one. */
  get load(): number {
    return Math.max(this.requests, this.sockets)
  }

  /** Sockets that closing the pool frees. */
  get idle(): number {
    return this.pool === undefined ? 0 : Math.max(0, this.pool.sockets - this.pool.requests)
  }
}

export class ConnectionPlaces {
  private readonly owners = new Map<string, Owner>()
  /** Owners with waiting requests, the next to be served first. */
  private readonly waitingOwners = new Set<Owner>()
  private readonly pools = new Set<Pool>()
  private load = 0
  private waiting = 0
  private refused = 0
  private isServing = false

  constructor(
    private readonly limits: PlaceLimits,
    private readonly makePool: MakePool
  ) {}

  /**
   * Calls `begin` once, at once or when a place is free. The returned function ends the wait and says what was short;
   * `undefined` if the request does not wait.
   */
  readonly take = (
    name: string,
    origin: string,
    begin: (place: ConnectionPlace) => void
  ): (() => Shortage | undefined) => {
    const owner = this.ownerOf(name)
    if (owner.waiting.of(origin).length === 0 && this.hasPlace(owner, origin)) {
      this.admit(owner, origin, begin)
      return () => undefined
    }
    const waiter: Waiter = { origin, begin }
    owner.waiting.add(origin, waiter)
    this.waitingOwners.add(owner)
    this.waiting++
    return () => this.leave(owner, waiter)
  }

  /** Counts a request that was refused since it waited for too long. */
  readonly refuse = (): void => void this.refused++

  readonly readings = (): EgressReadings => ({
    capacity: this.limits.node,
    open: this.load,
    waiting: this.waiting,
    refused: this.refused
  })

  readonly destroy = (): Promise<unknown> => Promise.all([...this.pools].map((pool) => pool.destroy()))

  // --- Admission ---

  private hasPlace(owner: Owner, origin: string): boolean {
    return (owner.byOrigin.get(origin) ?? 0) < this.limits.origin && this.hasRoom(owner)
  }

  /** Whether the owner uses less than is free. Idle connections make room for it. */
  private hasRoom(owner: Owner): boolean {
    const fits = () => owner.load < this.limits.node - this.load
    if (fits()) return true
    // Closed sockets leave a little later, and then those who wait are served.
    if (owner.idle > 0) this.retire(owner)
    else if (owner.load < this.limits.node / smallShare)
      for (const other of this.owners.values()) if (other.idle > 0) this.retire(other)
    return fits()
  }

  private admit(owner: Owner, origin: string, begin: (place: ConnectionPlace) => void): void {
    const use = (owner.pool ??= this.openPool(owner))
    this.change(owner, () => owner.requests++)
    use.requests++
    owner.byOrigin.set(origin, (owner.byOrigin.get(origin) ?? 0) + 1)
    let isReleased = false
    begin({
      dispatcher: () => use.pool,
      release: () => {
        if (isReleased) return
        isReleased = true
        use.requests--
        const left = (owner.byOrigin.get(origin) ?? 1) - 1
        if (left === 0) owner.byOrigin.delete(origin)
        else owner.byOrigin.set(origin, left)
        this.change(owner, () => owner.requests--)
        this.serve()
      }
    })
  }

  private leave(owner: Owner, waiter: Waiter): Shortage | undefined {
    if (!owner.waiting.remove(waiter.origin, waiter)) return undefined
    this.waiting--
    if (owner.waiting.size === 0) this.waitingOwners.delete(owner)
    const isOriginFull = (owner.byOrigin.get(waiter.origin) ?? 0) >= this.limits.origin
    this.dropUnused(owner)
    return isOriginFull ? "origin" : "node"
  }

  /** Serves those who wait, one of each owner in turn, as long as there are places. */
  private serve(): void {
    // A request that ends at once releases its place within this loop, which then goes on.
    if (this.isServing) return
    this.isServing = true
    let served = true
    while (served && this.waiting > 0) {
      served = false
      for (const owner of this.waitingOwners) {
        const waiter = this.nextOf(owner)
        if (waiter === undefined) continue
        served = true
        this.waiting--
        this.waitingOwners.delete(owner)
        if (owner.waiting.size > 0) this.waitingOwners.add(owner)
        this.admit(owner, waiter.origin, waiter.begin)
      }
    }
    this.isServing = false
  }

  /** Takes the owner's next waiting request that has a place. No more origins are full than it has connections for. */
  private nextOf(owner: Owner): Waiter | undefined {
    if (!this.hasRoom(owner)) return undefined
    return owner.waiting.take((origin) => ((owner.byOrigin.get(origin) ?? 0) >= this.limits.origin ? -1 : 0))
  }

  // --- Pools ---

  private openPool(owner: Owner): PoolUse {
    const pool = this.makePool(() => {
      use.sockets++
      this.change(owner, () => owner.sockets++)
      return () => {
        use.sockets--
        this.change(owner, () => owner.sockets--)
        this.serve()
      }
    })
    const use: PoolUse = { pool, requests: 0, sockets: 0 }
    this.pools.add(pool)
    return use
  }

  /** Closes the owner's idle connections; its next request opens a new pool. Requests in flight go on. */
  private retire(owner: Owner): void {
    const { pool } = owner.pool ?? {}
    owner.pool = undefined
    if (pool === undefined) return
    pool.close(() => this.pools.delete(pool))
  }

  private ownerOf(name: string): Owner {
    const known = this.owners.get(name)
    if (known !== undefined) return known
    const owner = new Owner(name)
    this.owners.set(name, owner)
    return owner
  }

  private change(owner: Owner, by: () => void): void {
    const before = owner.load
    by()
    this.load += owner.load - before
    this.dropUnused(owner)
  }

  private dropUnused(owner: Owner): void {
    if (owner.load > 0 || owner.waiting.size > 0 || this.owners.get(owner.name) !== owner) return
    this.owners.delete(owner.name)
    this.retire(owner)
  }
}
