/**
 * The node's cap on the memory of guests, over all runners. The memory of suspended guests is bounded so that every
 * runner can still run one guest to that guest's limit. Over the bound, suspended guests are evicted, to be replayed
 * later: of the tenant that holds most, the longest suspended first.
 */
import { guest } from "../../domain/Limits.js"
import { memoryLimit } from "../process/MemoryLimit.js"

const mebibyte = 1024 * 1024
/** Memory of a guest beside its own allocations: its copy of the prelude and of its program. */
const guestBaseBytes = mebibyte
/** The minimum for each runner: one guest at its limit, and some that are suspended. */
const minRunnerBytes = guest.memoryBytes + 64 * mebibyte
const minDefaultBytes = 256 * mebibyte

/** A quarter of the memory of the machine or, if that is smaller, of the container; in bytes. */
export const defaultGuestMemory = (): number =>
  Math.max(minDefaultBytes, Math.floor(memoryLimit() / 4 / mebibyte) * mebibyte)

/** A live guest whose memory is counted. */
export interface GuestHolder {
  readonly tenant: string
  /** Evicts the guest. Called only while it is suspended. */
  readonly evict: () => void
}

interface TenantMemory {
  bytes: number
  /** In the order in which they were suspended. */
  readonly waiting: Map<GuestHolder, number>
}

export class GuestMemory {
  private readonly tenants = new Map<string, TenantMemory>()
  private readonly most: number
  private total = 0

  constructor(bytes: number, runners: number) {
    this.most = Math.max(bytes, runners * minRunnerBytes) - runners * guest.memoryBytes
  }

  /** The memory of all suspended guests. */
  get heldBytes(): number {
    return this.total
  }

  /** Counts a guest that is suspended now; may evict others, or this one. */
  suspend(holder: GuestHolder, bytes: number): void {
    const tenant = this.tenants.get(holder.tenant) ?? { bytes: 0, waiting: new Map<GuestHolder, number>() }
    this.tenants.set(holder.tenant, tenant)
    const counted = bytes + guestBaseBytes
    tenant.waiting.set(holder, counted)
    tenant.bytes += counted
    this.total += counted
    while (this.total > this.most && this.evictOne());
  }

  /** Stops counting a guest: it computes again, or it has ended. */
  release(holder: GuestHolder): void {
    const tenant = this.tenants.get(holder.tenant)
    const bytes = tenant?.waiting.get(holder)
    if (tenant === undefined || bytes === undefined) return
    tenant.waiting.delete(holder)
    tenant.bytes -= bytes
    this.total -= bytes
    if (tenant.waiting.size === 0) this.tenants.delete(holder.tenant)
  }

  private evictOne(): boolean {
    let largest: TenantMemory | undefined
    for (const tenant of this.tenants.values())
      if (largest === undefined || tenant.bytes > largest.bytes) largest = tenant
    for (const holder of largest?.waiting.keys() ?? []) {
      this.release(holder)
      holder.evict()
      return true
    }
    return false
  }
}
