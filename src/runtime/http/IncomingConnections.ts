/**
 * Bounds the connections of clients. When one more arrives than the node may have, the connection that has been idle, or
 * has owed the rest of a request's head, for longest is closed; if there is none, the one that has owed the rest of a
 * body for longest. If every connection waits for an answer, the new one is refused.
 */
import { Effect, Schedule } from "effect"
import type { IncomingMessage } from "node:http"
import type { Socket } from "node:net"
import { countDropped } from "../telemetry/Metrics.js"
import { hasBody } from "./BodyReceiver.js"

/** While the server hands over, a connection on which nothing comes for this long is closed. */
const longIdleMillis = 2_000

const refusal = "HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"

export class IncomingConnections {
  /** With the number of requests that are not answered yet. */
  private readonly open = new Map<Socket, number>()
  /** Without a request: idle, or with a part of a head. The oldest first, as in every `Set`. */
  private readonly idle = new Set<Socket>()
  /** With a request of which a part of the body has not come. */
  private readonly halfSent = new Set<Socket>()
  private closedCount = 0
  private refusedCount = 0

  constructor(private readonly most: number) {}

  /** For the event `connection` of the server. */
  readonly onConnection = (socket: Socket): void => {
    // A request that was put back comes a second time.
    if (this.open.has(socket)) return
    if (this.open.size >= this.most && !this.closeOldest()) {
      this.refusedCount++
      countDropped("refused")
      socket.on("error", () => undefined)
      socket.end(refusal, () => socket.destroy())
      return
    }
    this.open.set(socket, 0)
    this.idle.add(socket)
    socket.once("close", () => {
      this.open.delete(socket)
      this.idle.delete(socket)
      this.halfSent.delete(socket)
    })
  }

  /** For each request, at its head. */
  readonly onRequest = (request: IncomingMessage): void => {
    const { socket } = request
    const before = this.open.get(socket)
    if (before === undefined) return
    this.open.set(socket, before + 1)
    this.idle.delete(socket)
    if (!hasBody(request)) return
    this.halfSent.add(socket)
    request.on("end", () => this.halfSent.delete(socket))
  }

  /** For a connection that has become one of another protocol: it is in use until it closes. */
  readonly onUpgraded = (socket: Socket): void => {
    if (!this.open.has(socket)) return
    this.open.set(socket, 1)
    this.idle.delete(socket)
  }

  /** For each request, when its response has closed. */
  readonly onClosed = (socket: Socket): void => {
    const unanswered = (this.open.get(socket) ?? 0) - 1
    if (unanswered < 0) return
    this.open.set(socket, unanswered)
    if (unanswered > 0) return
    this.halfSent.delete(socket)
    this.idle.add(socket)
  }

  /** Waits until no connection is open; closes those that are idle for long. */
  readonly settled: Effect.Effect<void> = Effect.suspend(() => {
    const idleSince = new Map<Socket, number>()
    const closeIdle = () => {
      const now = performance.now()
      for (const socket of idleSince.keys()) if (!this.idle.has(socket)) idleSince.delete(socket)
      for (const socket of this.idle) {
        const since = idleSince.get(socket) ?? now
        idleSince.set(socket, since)
        if (now - since >= longIdleMillis) socket.destroySoon()
      }
      return this.open.size
    }
    return Effect.repeat(Effect.sync(closeIdle), {
      until: (open) => open === 0,
      schedule: Schedule.spaced("50 millis")
    })
  })

  readonly readings = () => ({
    capacity: this.most,
    open: this.open.size,
    idle: this.idle.size,
    closed: this.closedCount,
    refused: this.refusedCount
  })

  /** Closes one connection; false if all of them wait for an answer. */
  private closeOldest(): boolean {
    const [oldest = undefined] = this.idle.size > 0 ? this.idle : this.halfSent
    if (oldest === undefined) return false
    this.open.delete(oldest)
    this.idle.delete(oldest)
    this.halfSent.delete(oldest)
    this.closedCount++
    countDropped("closed")
    oldest.destroy()
    return true
  }
}
