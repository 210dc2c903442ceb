/**
 * Bounds what clients have not read of answers without a key, on the node and by address. Such answers share their
 * bytes, so this bounds the kernel's memory and the connections that wait, not the heap.
 */
import { Unavailable } from "../../domain/Failure.js"
import { publicLimits } from "../../domain/Limits.js"
import type { RawReply } from "../../http/Wire.js"
import { isWhole } from "./Answer.js"
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

  /** Counts a reply without a key until it ends; the failure if there is no room for it. `addressOf`: of its client. */
  admit(addressOf: () => string, { body, isPublic }: RawReply, open: OpenReply): Unavailable | undefined {
    if (isPublic !== true || !isWhole(body) || body.length < smallReply) return undefined
    const bytes = body.length
    const address = addressOf()
    const unread = this.byAddress.get(address) ?? 0
    const limit = publicLimits.unreadBytes
    if (this.total + bytes > limit || unread + bytes > limit / shares)
      return new Unavailable({ reason: "too many answers to this address are not read yet", retryAfterSeconds: 1 })
    this.count(address, bytes)
    open.onEnd(() => this.count(address, -bytes))
    return undefined
  }

  private count(address: string, bytes: number): void {
    this.total += bytes
    const unread = (this.byAddress.get(address) ?? 0) + bytes
    if (unread > 0) this.byAddress.set(address, unread)
    else this.byAddress.delete(address)
  }
}
