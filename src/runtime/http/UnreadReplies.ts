/**
 * Bounds what clients have not read of answers without a key, on the node and by address. Such answers share their
 * bytes, so this bounds the kernel's memory and the connections that wait, not the heap.
 */
import type { ServerResponse } from "node:http"
import { publicLimits } from "../../domain/Limits.js"

/** One address may leave a quarter unread. */
const shares = 4
/** Smaller replies are not counted. */
const smallReply = 4 * 1024

export class UnreadReplies {
  private bytes = 0
  private readonly byAddress = new Map<string, number>()

  /** Counts a reply until it is read or its connection closes; false if there is no room for it. */
  admit(address: string, bytes: number, response: ServerResponse): boolean {
    if (bytes < smallReply) return true
    const unread = this.byAddress.get(address) ?? 0
    const limit = publicLimits.unreadBytes
    if (this.bytes + bytes > limit || unread + bytes > limit / shares) return false
    this.count(address, bytes)
    response.once("close", () => this.count(address, -bytes))
    return true
  }

  private count(address: string, bytes: number): void {
    this.bytes += bytes
    const unread = (this.byAddress.get(address) ?? 0) + bytes
    if (unread > 0) this.byAddress.set(address, unread)
    else this.byAddress.delete(address)
  }
}
