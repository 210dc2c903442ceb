/**
 * The node's cap on the memory of guests, over all runners together. What waiting guests hold is bounded so that every
 * runner can still run one guest to its own limit. Over the bound, guests that wait are dropped and replayed later: those
 * of the tenant that holds most, the one that waits longest first.
 */
import { totalmem } from "node:os"
import { guest } from "../../domain/Limits.js"

const mebibyte = 1024 * 1024
/** What a guest holds beside what it asks for: its copy of the prelude and of its program. */
const guestBaseBytes = mebibyte
/** For each runner: one guest at its limit, and some that wait. */
const leastForRunner = guest.memoryBytes + 64 * mebibyte
const leastDefault = 256 * mebibyte

/** A quarter of the memory of the machine or, if it is smaller, of the container. */
export const defaultGuestMemory = (): number => {
  const constrained = process.constrainedMemory()
  const memory = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
  return Math.max(leastDefault, Math.floor(memory / 4 / mebibyte) * mebibyte)
}

/** A guest that is alive, as its memory is counted. */
export interface Holder {
  readonly tenant: string
  /** Drops it. It may be called while the guest waits. */
  readonly evict: () => void
}

interface Tenant {
  bytes: number
  /** In the order in which they began to wait. */
  readonly waiting: Map<Holder, number>
}

export class GuestMemory {
  private readonly tenants = new Map<string, Tenant>()
  private readonly most: number
  private total = 0

  constructor(bytes: number, runners: number) {
    this.most = Math.max(bytes, runners * leastForRunner) - runners * guest.memoryBytes
  }

  /** What waiting guests hold. */
  get heldBytes(): number {
    return this.total
  }

  /** The guest waits from now on and holds so much; others, or it itself, may be dropped for it. */
  rest(holder: Holder, bytes: number): void {
    const tenant = this.tenants.get(holder.tenant) ?? { bytes: 0, waiting: new Map<Holder, number>() }
    this.tenants.set(holder.tenant, tenant)
    const counted = bytes + guestBaseBytes
    tenant.waiting.set(holder, counted)
    tenant.bytes += counted
    this.total += counted
    while (this.total > this.most && this.evictOne());
  }

  /** The guest does not wait any more: it computes, or it is gone. */
  wake(holder: Holder): void {
    const tenant = this.tenants.get(holder.tenant)
    const bytes = tenant?.waiting.get(holder)
    if (tenant === undefined || bytes === undefined) return
    tenant.waiting.delete(holder)
    tenant.bytes -= bytes
    this.total -= bytes
    if (tenant.waiting.size === 0) this.tenants.delete(holder.tenant)
  }

  private evictOne(): boolean {
    let largest: Tenant | undefined
    for (const tenant of this.tenants.values())
      if (largest === undefined || tenant.bytes > largest.bytes) largest = tenant
    for (const holder of largest?.waiting.keys() ?? []) {
      this.wake(holder)
      holder.evict()
      return true
    }
    return false
  }
}
