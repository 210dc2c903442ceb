/** Replies that would end with their client only: a server that leaves ends them, and further ones at once. */
import { isWhole } from "./Answer.js"
import type { OpenReply } from "./OpenReplies.js"
import type { RawReply } from "../../http/Wire.js"

export class EndlessReplies {
  private readonly open = new Set<() => void>()
  private isEnding = false

  get size(): number {
    return this.open.size
  }

  /** Takes note of a reply, if it is endless. */
  follow(reply: OpenReply, body: RawReply["body"]): void {
    if (isWhole(body) || body.isEndless !== true) return
    const { cancel } = body
    if (this.isEnding) return cancel()
    this.open.add(cancel)
    reply.onEnd(() => this.open.delete(cancel))
  }

  /** Ends them, each with its last chunk. */
  end(): void {
    this.isEnding = true
    for (const cancel of this.open) cancel()
  }
}
