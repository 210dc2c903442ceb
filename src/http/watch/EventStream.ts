/**
 * A watch as server-sent events. What its client has not read is kept up to a limit, at which the stream is cut off, so that a
 * slow reader costs no more than that.
 */
import type { OpenWatch, WatchBatch, WatchMessage } from "../../actors/management/watch/Watcher.js"
import type { WatchPosition } from "../../domain/watch/WatchPosition.js"
import { watchLimits } from "../../domain/watch/WatchTopic.js"
import type { StreamedBody } from "../Wire.js"

const eventOf = (message: WatchMessage): string => {
  const { topic } = message
  const shown = "at" in message ? { ...message, at: new Date(message.at).toISOString() } : message
  return `${topic === "reset" ? "event: reset\n" : ""}data: ${JSON.stringify(shown)}\n\n`
}

/** The first text of a stream: how long a client waits before it connects again. */
const opening = "retry: 1000\n\n"

/** What of the stream is not yet passed on. */
class UnsentText {
  private readonly pieces: Array<Uint8Array> = []
  private bytes = 0
  private state: "open" | "ended" | "cut" = "open"
  private wake: (() => void) | undefined

  add(text: string): void {
    if (this.state !== "open") return
    const piece = new TextEncoder().encode(text)
    this.bytes += piece.byteLength
    if (this.bytes > watchLimits.unsentBytes) return this.close("cut")
    this.pieces.push(piece)
    this.wake?.()
  }

  close(state: "ended" | "cut"): void {
    if (this.state !== "open") return
    this.state = state
    if (state === "cut") this.pieces.length = 0
    this.wake?.()
  }

  get isCut(): boolean {
    return this.state === "cut"
  }

  async *read(): AsyncGenerator<Uint8Array, void> {
    for (;;) {
      const piece = this.pieces.shift()
      if (piece !== undefined) {
        this.bytes -= piece.byteLength
        yield piece
      } else if (this.state === "cut") throw new Error("the client reads too slowly")
      else if (this.state === "ended") return
      else
        await new Promise<void>((resolve) => {
          this.wake = resolve
        })
    }
  }
}

/** Opens the stream of a watch. Without messages a comment is sent, so that neither side takes it for a dead connection. */
export const eventStream = (watch: OpenWatch, positionText: (position: WatchPosition) => string): StreamedBody => {
  const unsent = new UnsentText()
  unsent.add(opening)
  const send = ({ messages, position }: WatchBatch) => {
    const id = position === undefined ? "" : `id: ${positionText(position)}\n\n`
    unsent.add(messages.length === 0 ? `: nothing new\n${id === "" ? "\n" : id}` : messages.map(eventOf).join("") + id)
    if (unsent.isCut) close()
  }
  const close = watch.attach({ send, end: () => unsent.close("ended") })
  const cancel = () => {
    unsent.close("ended")
    close()
  }
  return { pieces: unsent.read(), cancel, isEndless: true }
}
