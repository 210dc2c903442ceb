/**
 * The port `HeldBytes`: counts bytes by kind and by account, and lets accounts that wait for room take turns. Callbacks
 * instead of effects, for speed: every answer of a provider passes here.
 */
import { Layer } from "effect"
import {
  BytesRefused,
  HeldBytes,
  type HeldKind,
  type Holding,
  type LedgerReadings
} from "../../actors/ports/HeldBytes.js"
import { FairQueue, type ChooseWaiter } from "../../domain/share/FairQueue.js"
import type { ShareOwner } from "../../domain/share/ShareOwner.js"
import { memoryLimit } from "../process/MemoryLimit.js"

const MiB = 1024 * 1024

/** The longest wait for room. Whoever waits may hold bytes itself, so no two can wait for each other for longer. */
const patienceMillis = 5_000

/** A quarter of the memory of the machine or the container, in bytes; at least 64 MiB. */
export const defaultLedgerBytes = (): number => Math.max(64 * MiB, Math.floor(memoryLimit() / 4))

/** Bytes of a kind, and of one account within that kind. */
interface Share {
  readonly bytes: number
  readonly ofAccount: number
}

/**
 * Request bodies are many and cost their sender nothing, so they get less than the rest. Journals are read in pieces: a
 * small share delays the replays of many large runs, and bounds what they hold at once.
 */
const sharesOf = (capacity: number, bodyBytes: number): Readonly<Record<HeldKind, Share>> => ({
  arriving: { bytes: Math.floor(bodyBytes / 4), ofAccount: Math.floor(bodyBytes / 16) },
  bodies: { bytes: bodyBytes, ofAccount: Math.floor(bodyBytes / 4) },
  answers: { bytes: capacity, ofAccount: capacity },
  results: { bytes: capacity, ofAccount: capacity },
  journals: { bytes: Math.min(capacity, 64 * MiB), ofAccount: Math.min(capacity, 16 * MiB) }
})

/** A quarter of the ledger, between 16 and 256 MiB. */
export const defaultBodyBytes = (capacity: number): number =>
  Math.min(256 * MiB, Math.max(16 * MiB, Math.floor(capacity / 4)))

interface Waiter {
  readonly holding: OpenHolding
  readonly bytes: number
  readonly done: (refused: BytesRefused | undefined) => void
  timer: NodeJS.Timeout | undefined
}

/** What one account holds, by kind. */
class Account {
  held = 0
  readonly byKind: Record<HeldKind, number> = { arriving: 0, bodies: 0, answers: 0, results: 0, journals: 0 }

  constructor(readonly name: string) {}
}

class OpenHolding implements Holding {
  bytes = 0
  private isReleased = false

  constructor(
    private readonly ledger: ByteLedger,
    readonly owner: ShareOwner,
    readonly kind: HeldKind
  ) {}

  readonly tryTake = (bytes: number): boolean => this.isReleased || this.ledger.tryTake(this, bytes)

  readonly take = (bytes: number, done: (refused: BytesRefused | undefined) => void): (() => void) => {
    if (this.isReleased) {
      done(undefined)
      return () => undefined
    }
    return this.ledger.take(this, bytes, done)
  }

  readonly give = (bytes: number): void => {
    if (!this.isReleased) this.ledger.give(this, Math.min(bytes, this.bytes))
  }

  readonly release = (): void => {
    if (this.isReleased) return
    this.isReleased = true
    this.ledger.endWaits(this)
    if (this.bytes > 0) this.ledger.give(this, this.bytes)
  }
}

export interface LedgerOptions {
  /** Bytes of all kinds together. */
  readonly bytes: number
  /** Bytes of request bodies. */
  readonly bodyBytes?: number | undefined
  /** The longest wait for room, in milliseconds; five seconds unless a test has less time. */
  readonly patienceMillis?: number
}

export class ByteLedger {
  private readonly capacity: number
  private readonly shares: Readonly<Record<HeldKind, Share>>
  private readonly accounts = new Map<string, Account>()
  private readonly waiting = new FairQueue<Waiter>()
  private held = 0
  private readonly byKind: Record<HeldKind, number> = { arriving: 0, bodies: 0, answers: 0, results: 0, journals: 0 }
  private refused = 0
  private readonly patienceMillis: number

  constructor(options: LedgerOptions) {
    this.capacity = options.bytes
    this.patienceMillis = options.patienceMillis ?? patienceMillis
    this.shares = sharesOf(options.bytes, options.bodyBytes ?? defaultBodyBytes(options.bytes))
  }

  readonly open = (owner: ShareOwner, kind: HeldKind): Holding => new OpenHolding(this, owner, kind)

  readonly readings = (): LedgerReadings => ({
    capacity: this.capacity,
    held: { ...this.byKind },
    waiting: this.waiting.size,
    refused: this.refused
  })

  /** Takes the bytes if there is room and no account waits for that room. */
  tryTake(holding: OpenHolding, bytes: number): boolean {
    const account = this.accountOf(holding.owner)
    if (
      !this.waiting.isWaiting(account.name) &&
      this.hasRoom(account, holding.kind, bytes) &&
      !this.waiting.canTake(this.pickWithinLimits)
    ) {
      this.add(account, holding, bytes)
      return true
    }
    this.dropIdle(account)
    return false
  }

  take(holding: OpenHolding, bytes: number, done: (refused: BytesRefused | undefined) => void): () => void {
    if (this.tryTake(holding, bytes)) {
      done(undefined)
      return () => undefined
    }
    if (bytes > this.mostOf(holding.kind)) {
      this.refused++
      done(new BytesRefused({ reason: "tooLarge", bytes }))
      return () => undefined
    }
    const { owner } = holding
    const waiter: Waiter = { holding, bytes, done, timer: undefined }
    waiter.timer = setTimeout(() => {
      this.refused++
      this.leave(owner, waiter)
      done(new BytesRefused({ reason: "busy", bytes }))
    }, this.patienceMillis)
    this.waiting.add(owner, waiter)
    return () => this.leave(owner, waiter)
  }

  give(holding: OpenHolding, bytes: number): void {
    const account = this.accountOf(holding.owner)
    holding.bytes -= bytes
    this.held -= bytes
    this.byKind[holding.kind] -= bytes
    account.held -= bytes
    account.byKind[holding.kind] -= bytes
    this.dropIdle(account)
    this.serve()
  }

  /** Ends the waits of a released holding: what it would still get is never given back. */
  endWaits(holding: OpenHolding): void {
    const { owner } = holding
    for (const waiter of this.waiting.of(owner).filter((one) => one.holding === holding)) {
      this.leave(owner, waiter)
      waiter.done(undefined)
    }
  }

  // --- Private ---

  private accountOf({ account }: ShareOwner): Account {
    const known = this.accounts.get(account)
    if (known !== undefined) return known
    const opened = new Account(account)
    this.accounts.set(account, opened)
    return opened
  }

  /** Forgets an account that neither holds nor awaits anything: there are as many as clients choose. */
  private dropIdle({ held, name }: Account): void {
    if (held === 0 && !this.waiting.isWaiting(name)) this.accounts.delete(name)
  }

  /** The most bytes that one account can ever hold of this kind. */
  private mostOf(kind: HeldKind): number {
    return Math.min(this.shares[kind].ofAccount, this.accountLimit(false))
  }

  /** Half of the ledger while others wait; otherwise three quarters, so that the next one finds room at once. */
  private accountLimit(othersWait: boolean): number {
    return Math.floor(this.capacity * (othersWait ? 1 / 2 : 3 / 4))
  }

  /** Whether the account's own limits allow the bytes. */
  private isWithinLimits({ byKind, held, name }: Account, kind: HeldKind, bytes: number): boolean {
    const othersWait = this.waiting.accounts > (this.waiting.isWaiting(name) ? 1 : 0)
    return held + bytes <= this.accountLimit(othersWait) && byKind[kind] + bytes <= this.shares[kind].ofAccount
  }

  private hasRoom(account: Account, kind: HeldKind, bytes: number): boolean {
    return (
      this.held + bytes <= this.capacity &&
      this.byKind[kind] + bytes <= this.shares[kind].bytes &&
      this.isWithinLimits(account, kind, bytes)
    )
  }

  /** Picks the oldest of an organisation that only lacks room: what becomes free is for it. */
  private readonly pickWithinLimits: ChooseWaiter<Waiter> = (_, [next]) =>
    next !== undefined && this.isWithinLimits(this.accountOf(next.holding.owner), next.holding.kind, next.bytes)
      ? 0
      : -1

  private readonly pickWithRoom: ChooseWaiter<Waiter> = (_, [next]) =>
    next !== undefined && this.hasRoom(this.accountOf(next.holding.owner), next.holding.kind, next.bytes) ? 0 : -1

  private add(account: Account, holding: OpenHolding, bytes: number): void {
    holding.bytes += bytes
    this.held += bytes
    this.byKind[holding.kind] += bytes
    account.held += bytes
    account.byKind[holding.kind] += bytes
  }

  private leave(owner: ShareOwner, waiter: Waiter): void {
    clearTimeout(waiter.timer)
    if (!this.waiting.remove(owner, waiter)) return
    this.dropIdle(this.accountOf(owner))
    this.serve()
  }

  /** Serves those who wait, as long as there is room. */
  private serve(): void {
    if (this.waiting.size === 0) return
    const pick = this.pickWithRoom
    for (let next = this.waiting.take(pick); next !== undefined; next = this.waiting.take(pick)) {
      clearTimeout(next.timer)
      this.add(this.accountOf(next.holding.owner), next.holding, next.bytes)
      next.done(undefined)
    }
  }
}

/** `bytes`: of the whole ledger. */
export const layer = (options: LedgerOptions): Layer.Layer<HeldBytes> =>
  Layer.sync(HeldBytes, () => HeldBytes.of(new ByteLedger(options)))
