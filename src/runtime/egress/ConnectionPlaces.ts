/**
 * Divides the node's outgoing connections among accounts. An account gets no more than are still free, so that each new one
 * finds some: one alone gets half of them, two a third each. Its organisations take turns; the pools belong to one
 * organisation each.
 */
import type { Dispatcher } from "undici"
import type { EgressReadings } from "../../actors/ports/Egress.js"
import type { ShareOwner } from "../../domain/share/ShareOwner.js"
import { RoundRobin } from "../../domain/share/RoundRobin.js"
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

/** An account with less than this part of the connections makes others close their idle ones. */
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

/** What the organisations of one account use together. */
class Account {
  load = 0
  readonly members = new Set<Member>()
  /** Those with waiting requests, the next to be served first. */
  readonly waiting = new Set<Member>()

  constructor(readonly name: string) {}
}

/** What one organisation uses. */
class Member {
  requests = 0
  /** Open and opening sockets, idle ones and those of retired pools included. */
  sockets = 0
  pool: PoolUse | undefined
  readonly byOrigin = new Map<string, number>()
  /** Waiting requests by origin; the origins take turns. */
  readonly waiting = new RoundRobin<string, Waiter>()

  constructor(
    readonly name: string,
    readonly account: Account
  ) {}

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
  private readonly accounts = new Map<string, Account>()
  private readonly members = new Map<string, Member>()
  /** Accounts with waiting requests, the next to be served first. */
  private readonly waitingAccounts = new Set<Account>()
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
    owner: ShareOwner,
    origin: string,
    begin: (place: ConnectionPlace) => void
  ): (() => Shortage | undefined) => {
    const member = this.memberOf(owner)
    if (member.waiting.of(origin).length === 0 && this.hasPlace(member, origin)) {
      this.admit(member, origin, begin)
      return () => undefined
    }
    const waiter: Waiter = { origin, begin }
    member.waiting.add(origin, waiter)
    member.account.waiting.add(member)
    this.waitingAccounts.add(member.account)
    this.waiting++
    return () => this.leave(member, waiter)
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

  private hasPlace(member: Member, origin: string): boolean {
    return (member.byOrigin.get(origin) ?? 0) < this.limits.origin && this.hasRoom(member.account)
  }

  /** Whether the account uses less than is free. Idle connections make room for it. */
  private hasRoom(account: Account): boolean {
    const fits = () => account.load < this.limits.node - this.load
    if (fits()) return true
    // Closed sockets leave a little later, and then those who wait are served.
    if (!this.retireIdle(account.members) && account.load < this.limits.node / smallShare)
      this.retireIdle(this.members.values())
    return fits()
  }

  private admit(member: Member, origin: string, begin: (place: ConnectionPlace) => void): void {
    const use = (member.pool ??= this.openPool(member))
    this.change(member, () => member.requests++)
    use.requests++
    member.byOrigin.set(origin, (member.byOrigin.get(origin) ?? 0) + 1)
    let isReleased = false
    begin({
      dispatcher: () => use.pool,
      release: () => {
        if (isReleased) return
        isReleased = true
        use.requests--
        const left = (member.byOrigin.get(origin) ?? 1) - 1
        if (left === 0) member.byOrigin.delete(origin)
        else member.byOrigin.set(origin, left)
        this.change(member, () => member.requests--)
        this.serve()
      }
    })
  }

  private leave(member: Member, waiter: Waiter): Shortage | undefined {
    if (!member.waiting.remove(waiter.origin, waiter)) return undefined
    this.waiting--
    this.forgetServed(member)
    const isOriginFull = (member.byOrigin.get(waiter.origin) ?? 0) >= this.limits.origin
    this.dropUnused(member)
    return isOriginFull ? "origin" : "node"
  }

  /** Serves those who wait, one of each account in turn, as long as there are places. */
  private serve(): void {
    // A request that ends at once releases its place within this loop, which then goes on.
    if (this.isServing) return
    this.isServing = true
    for (let next = this.takeNext(); next !== undefined; next = this.takeNext())
      this.admit(next.member, next.waiter.origin, next.waiter.begin)
    this.isServing = false
  }

  /** Takes the next waiting request that has a place: of the account, the organisation and the origin whose turn it is. */
  private takeNext(): { readonly member: Member; readonly waiter: Waiter } | undefined {
    for (const account of this.waitingAccounts) {
      if (!this.hasRoom(account)) continue
      for (const member of account.waiting) {
        // No more origins are full than it has connections for.
        const waiter = member.waiting.take((origin) =>
          (member.byOrigin.get(origin) ?? 0) >= this.limits.origin ? -1 : 0
        )
        if (waiter === undefined) continue
        this.waiting--
        this.forgetServed(member)
        moveToEnd(account.waiting, member)
        moveToEnd(this.waitingAccounts, account)
        return { member, waiter }
      }
    }
    return undefined
  }

  /** Called when a request of the organisation waits no longer. */
  private forgetServed(member: Member): void {
    const { account } = member
    if (member.waiting.size === 0) account.waiting.delete(member)
    if (account.waiting.size === 0) this.waitingAccounts.delete(account)
  }

  // --- Pools ---

  private openPool(member: Member): PoolUse {
    const pool = this.makePool(() => {
      use.sockets++
      this.change(member, () => member.sockets++)
      return () => {
        use.sockets--
        this.change(member, () => member.sockets--)
        this.serve()
      }
    })
    const use: PoolUse = { pool, requests: 0, sockets: 0 }
    this.pools.add(pool)
    return use
  }

  /** Closes the idle connections of these organisations; returns whether there were any. */
  private retireIdle(members: Iterable<Member>): boolean {
    let hadIdle = false
    for (const member of members) {
      if (member.idle === 0) continue
      hadIdle = true
      this.retire(member)
    }
    return hadIdle
  }

  /** Closes an organisation's idle connections; its next request opens a new pool. Requests in flight go on. */
  private retire(member: Member): void {
    const { pool } = member.pool ?? {}
    member.pool = undefined
    if (pool === undefined) return
    pool.close(() => this.pools.delete(pool))
  }

  private memberOf({ account, organisation }: ShareOwner): Member {
    const known = this.members.get(organisation)
    if (known !== undefined) return known
    const ofAccount = this.accounts.get(account) ?? new Account(account)
    this.accounts.set(account, ofAccount)
    const member = new Member(organisation, ofAccount)
    this.members.set(organisation, member)
    ofAccount.members.add(member)
    return member
  }

  private change(member: Member, by: () => void): void {
    const before = member.load
    by()
    this.load += member.load - before
    member.account.load += member.load - before
    this.dropUnused(member)
  }

  private dropUnused(member: Member): void {
    if (member.load > 0 || member.waiting.size > 0 || this.members.get(member.name) !== member) return
    const { account } = member
    this.members.delete(member.name)
    account.members.delete(member)
    if (account.members.size === 0) this.accounts.delete(account.name)
    this.retire(member)
  }
}

const moveToEnd = <A>(all: Set<A>, one: A): void => {
  if (all.delete(one)) all.add(one)
}
