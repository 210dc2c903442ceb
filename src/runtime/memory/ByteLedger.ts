/**
 * The port `HeldBytes`: counts bytes by kind and by owner, and lets owners that wait for room take turns. Callbacks
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
import { FairQueue, type ChooseWaiter } from "../../domain/FairQueue.js"
import { memoryLimit } from "../process/MemoryLimit.js"

const MiB = 1024 * 1024

/** The longest wait for room. Whoever waits may hold bytes itself, so no two can wait for each other for longer. */
const patienceMillis = 5_000

/** A quarter of the memory of the machine or the container, in bytes; at least 64 MiB. */
export const defaultLedgerBytes = (): number => Math.max(64 * MiB, Math.floor(memoryLimit() / 4))

/** Bytes of a kind, and of one owner within that kind. */
interface Share {
  readonly bytes: number
  readonly ofOwner: number
}

/**
 * Request bodies are many and cost their sender nothing, so they get less than the rest. Journals are read in pieces: a
 * small share delays the replays of many large runs, and bounds what they hold at once.
 */
const sharesOf = (capacity: number, bodyBytes: number): Readonly<Record<HeldKind, Share>> => ({
  arriving: { bytes: Math.floor(bodyBytes / 4), ofOwner: Math.floor(bodyBytes / 16) },
  bodies: { bytes: bodyBytes, ofOwner: Math.floor(bodyBytes / 4) },
  answers: { bytes: capacity, ofOwner: capacity },
  results: { bytes: capacity, ofOwner: capacity },
  journals: { bytes: Math.min(capacity, 64 * MiB), ofOwner: Math.min(capacity, 16 * MiB) }
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

/** What one owner holds, by kind. */
class Owner {
  held = 0
  readonly byKind: Record<HeldKind, number> = { arriving: 0, bodies: 0, answers: 0, results: 0, journals: 0 }

  constructor(readonly name: string) {}
}

class OpenHolding implements Holding {
  bytes = 0
  private isReleased = false

  constructor(
    private readonly ledger: ByteLedger,
    readonly name: string,
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
  private readonly owners = new Map<string, Owner>()
  private readonly waiting = new FairQueue<Owner, Waiter>()
  private held = 0
  private readonly byKind: Record<HeldKind, number> = { arriving: 0, bodies: 0, answers: 0, results: 0, journals: 0 }
  private refused = 0
  private readonly patienceMillis: number

  constructor(options: LedgerOptions) {
    this.capacity = options.bytes
    this.patienceMillis = options.patienceMillis ?? patienceMillis
    this.shares = sharesOf(options.bytes, options.bodyBytes ?? defaultBodyBytes(options.bytes))
  }

  readonly open = (owner: string, kind: HeldKind): Holding => new OpenHolding(this, owner, kind)

  readonly readings = (): LedgerReadings => ({
    capacity: this.capacity,
    held: { ...this.byKind },
    waiting: this.waiting.size,
    refused: this.refused
  })

  /** Takes the bytes if there is room and no owner waits for that room. */
  tryTake(holding: OpenHolding, bytes: number): boolean {
    const owner = this.ownerOf(holding.name)
    if (
      this.waiting.of(owner).length === 0 &&
      this.hasRoom(owner, holding.kind, bytes) &&
      !this.waiting.canTake(this.pickWithinLimits)
    ) {
      this.add(owner, holding, bytes)
      return true
    }
    this.dropIdle(owner)
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
    const owner = this.ownerOf(holding.name)
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
    const owner = this.ownerOf(holding.name)
    holding.bytes -= bytes
    this.held -= bytes
    this.byKind[holding.kind] -= bytes
    owner.held -= bytes
    owner.byKind[holding.kind] -= bytes
    this.dropIdle(owner)
    this.serve()
  }

  /** Ends the waits of a released holding: what it would still get is never given back. */
  endWaits(holding: OpenHolding): void {
    const owner = this.owners.get(holding.name)
    if (owner === undefined) return
    for (const waiter of this.waiting.of(owner).filter((one) => one.holding === holding)) {
      this.leave(owner, waiter)
      waiter.done(undefined)
    }
  }

  // --- Private ---

  private ownerOf(name: string): Owner {
    const known = this.owners.get(name)
    if (known !== undefined) return known
    const owner = new Owner(name)
    this.owners.set(name, owner)
    return owner
  }

  /** Forgets an owner that neither holds nor awaits anything: owners are as many as clients choose. */
  private dropIdle(owner: Owner): void {
    if (owner.held === 0 && this.waiting.of(owner).length === 0) this.owners.delete(owner.name)
  }

  /** The most bytes that one owner can ever hold of this kind. */
  private mostOf(kind: HeldKind): number {
    return Math.min(this.shares[kind].ofOwner, this.ownerLimit(false))
  }

  /** Half of the ledger while other owners wait; otherwise three quarters, so that the next one finds room at once. */
  private ownerLimit(othersWait: boolean): number {
    return Math.floor(this.capacity * (othersWait ? 1 / 2 : 3 / 4))
  }

  /** Whether the owner's own limits allow the bytes. */
  private isWithinLimits(owner: Owner, kind: HeldKind, bytes: number): boolean {
    const othersWait = this.waiting.owners > (this.waiting.of(owner).length > 0 ? 1 : 0)
    return owner.held + bytes <= this.ownerLimit(othersWait) && owner.byKind[kind] + bytes <= this.shares[kind].ofOwner
  }

  private hasRoom(owner: Owner, kind: HeldKind, bytes: number): boolean {
    return (
      this.held + bytes <= this.capacity &&
      this.byKind[kind] + bytes <= this.shares[kind].bytes &&
      this.isWithinLimits(owner, kind, bytes)
    )
  }

  /** Picks the oldest of an owner that only lacks room: what becomes free is for it. */
  private readonly pickWithinLimits: ChooseWaiter<Owner, Waiter> = (owner, [next]) =>
    next !== undefined && this.isWithinLimits(owner, next.holding.kind, next.bytes) ? 0 : -1

  private readonly pickWithRoom: ChooseWaiter<Owner, Waiter> = (owner, [next]) =>
    next !== undefined && this.hasRoom(owner, next.holding.kind, next.bytes) ? 0 : -1

  private add(owner: Owner, holding: OpenHolding, bytes: number): void {
    holding.bytes += bytes
    this.held += bytes
    this.byKind[holding.kind] += bytes
    owner.held += bytes
    owner.byKind[holding.kind] += bytes
  }

  private leave(owner: Owner, waiter: Waiter): void {
    clearTimeout(waiter.timer)
    if (!this.waiting.remove(owner, waiter)) return
    this.dropIdle(owner)
    this.serve()
  }

  /** Serves those who wait, as long as there is room. */
  private serve(): void {
    if (this.waiting.size === 0) return
    const pick = this.pickWithRoom
    for (let next = this.waiting.take(pick); next !== undefined; next = this.waiting.take(pick)) {
      clearTimeout(next.timer)
      this.add(this.ownerOf(next.holding.name), next.holding, next.bytes)
      next.done(undefined)
    }
  }
}

/** `bytes`: of the whole ledger. */
export const layer = (options: LedgerOptions): Layer.Layer<HeldBytes> =>
  Layer.sync(HeldBytes, () => HeldBytes.of(new ByteLedger(options)))
