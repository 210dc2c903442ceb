/**
 * The node's cap on the memory of guests, over all runners. The memory of suspended guests is bounded so that every
 * runner can still run one guest to that guest's limit. Over the bound, suspended guests are evicted, to be replayed
 * later: of the account that holds most, and there of the organisation that holds most, the longest suspended first.
 */
import { guest } from "../../domain/Limits.js"
import type { ShareOwner } from "../../domain/share/ShareOwner.js"
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
  readonly owner: ShareOwner
  /** Evicts the guest. Called only while it is suspended. */
  readonly evict: () => void
}

/** What the suspended guests of an account, or of an organisation, hold. */
interface Held {
  bytes: number
}

interface HeldByOrganisation extends Held {
  /** In the order in which they were suspended. */
  readonly waiting: Map<GuestHolder, number>
}

interface HeldByAccount extends Held {
  readonly organisations: Map<string, HeldByOrganisation>
}

const largestOf = <A extends Held>(all: Iterable<A>): A | undefined => {
  let largest: A | undefined
  for (const one of all) if (largest === undefined || one.bytes > largest.bytes) largest = one
  return largest
}

export class GuestMemory {
  private readonly accounts = new Map<string, HeldByAccount>()
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
    const { account, organisation } = holder.owner
    const ofAccount = this.accounts.get(account) ?? { bytes: 0, organisations: new Map<string, HeldByOrganisation>() }
    this.accounts.set(account, ofAccount)
    const own = ofAccount.organisations.get(organisation) ?? { bytes: 0, waiting: new Map<GuestHolder, number>() }
    ofAccount.organisations.set(organisation, own)
    const counted = bytes + guestBaseBytes
    own.waiting.set(holder, counted)
    own.bytes += counted
    ofAccount.bytes += counted
    this.total += counted
    while (this.total > this.most && this.evictOne());
  }

  /** Stops counting a guest: it computes again, or it has ended. */
  release(holder: GuestHolder): void {
    const { account, organisation } = holder.owner
    const ofAccount = this.accounts.get(account)
    const own = ofAccount?.organisations.get(organisation)
    const bytes = own?.waiting.get(holder)
    if (ofAccount === undefined || own === undefined || bytes === undefined) return
    own.waiting.delete(holder)
    own.bytes -= bytes
    ofAccount.bytes -= bytes
    this.total -= bytes
    if (own.waiting.size === 0) ofAccount.organisations.delete(organisation)
    if (ofAccount.organisations.size === 0) this.accounts.delete(account)
  }

  private evictOne(): boolean {
    const largest = largestOf(largestOf(this.accounts.values())?.organisations.values() ?? [])
    for (const holder of largest?.waiting.keys() ?? []) {
      this.release(holder)
      holder.evict()
      return true
    }
    return false
  }
}
