/**
 * Bounds what clients have not read of answers without a key, on the node and by address. Such answers share their
 * bytes, so this bounds the kernel's memory and the connections that wait, not the heap.
 */
import { publicLimits } from "../../domain/Limits.js"
import type { OpenReply } from "./OpenReplies.js"

/** One address may leave a quarter unread. */
const shares = 4
/** Smaller replies are not counted. */
const smallReply = 4 * 1024

export class UnreadReplies {
  private total = 0
  private readonly byAddress = new Map<string, number>()

  /** Bytes that are counted now. */
  get bytes(): number {
    return this.total
  }

  /** Counts a reply until it ends; false if there is no room for it. `addressOf`: of its client. */
  admit(addressOf: () => string, bytes: number, reply: OpenReply): boolean {
    if (bytes < smallReply) return true
    const address = addressOf()
    const unread = this.byAddress.get(address) ?? 0
    const limit = publicLimits.unreadBytes
    if (this.total + bytes > limit || unread + bytes > limit / shares) return false
    this.count(address, bytes)
    reply.onEnd(() => this.count(address, -bytes))
    return true
  }

  private count(address: string, bytes: number): void {
    this.total += bytes
    const unread = (this.byAddress.get(address) ?? 0) + bytes
    if (unread > 0) this.byAddress.set(address, unread)
    else this.byAddress.delete(address)
  }
}
