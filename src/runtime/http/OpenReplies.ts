/**
 * The replies of each connection, from the head of their request until they end. A reply ends once: when it is written, or when
 * its socket closes, whichever is first. node:http tells of a closed socket only the reply that it is writing, not those
 * behind it, so that all that is counted, held or running for a reply is ended here. The requests of a connection are
 * worked on one after the other.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { pipelinedRequests } from "../../domain/Limits.js"
import { countDropped } from "../telemetry/Metrics.js"

export class OpenReply {
  private ended = false
  /** Called when the reply ends. */
  private atEnd: Array<() => void> = []
  /** Called when it has ended and no work for it runs. */
  private atRelease: Array<() => void> = []
  private running = 0
  private waiting: (() => void) | undefined

  /** `request`: the one that is answered; `line`: the open replies of its connection. */
  constructor(
    private readonly line: Line,
    readonly request: IncomingMessage | undefined
  ) {}

  get hasEnded(): boolean {
    return this.ended
  }

  /** Whether no other request of the connection waits for its turn. */
  get isLast(): boolean {
    return this.line.last === this
  }

  /** Calls `done` once, when the reply ends; at once if it has ended. */
  onEnd(done: () => void): void {
    if (this.ended) done()
    else this.atEnd.push(done)
  }

  /** Gives back what is held for the reply: once it has ended, and no work for it runs. */
  onRelease(release: () => void): void {
    this.atRelease.push(release)
    this.releaseIfDone()
  }

  /** For work that may go on when the reply has ended, and keeps what is held until then. Returns what ends it. */
  beginWork(): () => void {
    this.running++
    let isRunning = true
    return () => {
      if (!isRunning) return
      isRunning = false
      this.running--
      this.releaseIfDone()
    }
  }

  /**
   * Calls `work` once the earlier replies of the connection have ended, at once if there is none; never if this one ends before
   * its turn. Of several, only the last is called.
   */
  inTurn(work: () => void): void {
    if (this.ended) return
    this.waiting = undefined
    if (this.line.first === this) work()
    else this.waiting = work
  }

  /** For the line: it is this reply's turn. */
  takeTurn(): void {
    const { waiting } = this
    this.waiting = undefined
    if (!this.ended) waiting?.()
  }

  end(): void {
    if (this.ended) return
    this.ended = true
    this.waiting = undefined
    this.line.remove(this)
    const ends = this.atEnd
    this.atEnd = []
    for (const done of ends) done()
    this.releaseIfDone()
  }

  private releaseIfDone(): void {
    if (!this.ended || this.running > 0) return
    const releases = this.atRelease
    this.atRelease = []
    for (const release of releases) release()
  }
}

/** The open replies of a connection, in the order of their requests. */
class Line {
  private readonly replies: Array<OpenReply> = []

  constructor(private readonly socket: Duplex) {
    // A client that sends no more gets no more, as node:http has it of one that has sent whole requests.
    socket.once("end", () => socket.end())
    // Before node:http, which makes an error with its stack trace for each request that is not destroyed yet.
    socket.prependOnceListener("close", () => {
      for (let reply = this.first; reply !== undefined; reply = this.first) {
        reply.request?.destroy()
        reply.end()
      }
    })
  }

  get length(): number {
    return this.replies.length
  }

  get first(): OpenReply | undefined {
    return this.replies[0]
  }

  get last(): OpenReply | undefined {
    return this.replies.at(-1)
  }

  add(request: IncomingMessage | undefined): OpenReply {
    const reply = new OpenReply(this, request)
    this.replies.push(reply)
    return reply
  }

  remove(reply: OpenReply): void {
    const wasFirst = this.first === reply
    this.replies.splice(this.replies.indexOf(reply), 1)
    // In a turn of its own, so that many requests of one connection do not delay those of others.
    if (wasFirst && this.length > 0) setImmediate(() => this.proceed())
  }

  private proceed(): void {
    // A connection that has been ended takes no further answer.
    if (this.socket.writable) this.first?.takeTurn()
  }
}

export class OpenReplies {
  private readonly lines = new WeakMap<Duplex, Line>()

  /** For each request, at its head; `undefined` if it is not to be answered, since its connection is closed. */
  open(request: IncomingMessage, response: ServerResponse): OpenReply | undefined {
    const reply = this.lineOf(request.socket)?.add(request)
    if (reply !== undefined) response.once("close", () => reply.end())
    return reply
  }

  /**
   * Calls `work`, which writes to the socket itself, after the answers to all requests that have come whole; in the turn of the
   * last one, if it has not. Returns whether it must wait for that.
   */
  afterAnswers(socket: Duplex, work: () => void): boolean {
    const line = this.lineOf(socket)
    if (line === undefined) return false
    const { last } = line
    const reply = last?.request?.complete === false ? last : line.add(undefined)
    const waits = line.first !== reply
    // Its body, which nothing reads any more, would hide that the client has left.
    if (waits) reply.request?.resume()
    reply.inTurn(() => {
      if (reply.request === undefined) reply.end()
      work()
    })
    return waits
  }

  /** The line of a connection; closes one that has too many requests without an answer. */
  private lineOf(socket: Duplex): Line | undefined {
    if (socket.destroyed) return undefined
    const line = this.lines.get(socket) ?? new Line(socket)
    this.lines.set(socket, line)
    if (line.length < pipelinedRequests) return line
    countDropped("closed")
    stopParsing(socket)
    socket.destroy()
    return undefined
  }
}

/**
 * Ends the parsing of what has been read: one read can bring thousands of requests, and node:http would keep each of them until
 * the socket has closed. `2` is what node:http itself returns for a request that ends the HTTP of its connection.
 */
const stopParsing = ({ parser }: Duplex & { readonly parser?: { onIncoming?: () => number } | null }): void => {
  if (parser !== undefined && parser !== null) parser.onIncoming = () => 2
}
