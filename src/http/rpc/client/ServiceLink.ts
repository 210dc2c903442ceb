/**
 * The connection of a client: one at a time, opened when something needs it, to the next address when a node stops or is not
 * reached. It carries the requests in flight and tells each of them when the connection is lost.
 */
import { type Clock, Deferred, Effect, Either, Exit, FiberId, Option, Random, type Scope, Schema } from "effect"
import { connectionLost, Failures, localRefusal, type RpcFailure } from "./Failures.js"
import type { ClientSettings } from "./Options.js"
import { type FailedAttempt, openSocket, type RpcSocket } from "./Upgrade.js"

/** Why a request in flight gets no answer. `failure`: every request fails with it; absent: each may be sent again. */
export interface Loss {
  readonly reason: string
  readonly failure?: RpcFailure
}

/** Hears what the service sends of one request. After `onExit` or `onLost` it hears nothing more. */
export interface AnswerListener {
  readonly onValues: (values: ReadonlyArray<unknown>) => void
  readonly onExit: (exit: unknown) => void
  readonly onLost: (loss: Loss) => void
}

/** A request in flight. */
export interface Sent {
  readonly acknowledge: () => void
  /** Takes no more of it. Does nothing after its end. */
  readonly cancel: () => void
}

/** The service closes with it in an orderly stop: other nodes go on. */
const nodeStopped = 1012
const closeReasons: ReadonlyMap<number, string> = new Map([
  [1007, "a frame was no JSON"],
  [1008, "the service took a frame for a breach of the protocol"],
  [1009, "a frame was too large"],
  [nodeStopped, "the node stopped"],
  [1013, "the client read too slowly"]
])
const keyRefused = 4401

/** What the service sends that concerns requests. Anything else is ignored. */
const Frame = Schema.Union(
  Schema.TaggedStruct("Chunk", { requestId: Schema.String, values: Schema.Array(Schema.Unknown) }),
  Schema.TaggedStruct("Exit", { requestId: Schema.String, exit: Schema.Unknown }),
  Schema.TaggedStruct("Defect", {})
)
const parseFrame = Schema.decodeUnknownOption(Schema.parseJson(Schema.Object))
const decodeFrame = Schema.decodeUnknownOption(Frame)

const ping = JSON.stringify({ _tag: "Ping" })

/**
 * A connection that was open for less time counts as an attempt that failed, in milliseconds. One that ended in an orderly
 * stop needs less: an upgrade stops the nodes one soon after the other.
 */
const briefMillis = { broken: 5_000, stopped: 500 } as const

type Attempt = Deferred.Deferred<void, FailedAttempt>

/** How long one node asks to wait does not keep a client from the others. */
const withoutWait = ({ wait: _wait, ...attempt }: FailedAttempt): FailedAttempt => attempt

/** One per client. */
export class ServiceLink {
  private socket: RpcSocket | undefined
  private readonly listeners = new Map<string, AnswerListener>()
  private attempt: Attempt | undefined
  private giveUp: (() => void) | undefined
  /** Attempts in succession that failed. */
  private failures = 0
  private last: FailedAttempt | undefined
  private address = 0
  private requests = 0
  private openedAt = 0
  /** The last connection ended since its node was stopped in an orderly way. */
  private wasStopped = false
  /** Something was received since the last check. */
  private isAlive = true
  private isClosed = false

  constructor(
    private readonly settings: ClientSettings,
    private readonly clock: Clock.Clock,
    private readonly scope: Scope.Scope
  ) {}

  /** The open connection, which is made if there is none. Fails as the service refuses it, or with `ConnectionLost`. */
  connected(method: string, deadline: number): Effect.Effect<RpcSocket, RpcFailure> {
    return Effect.gen(this, function* () {
      let failed: FailedAttempt | undefined
      while (this.socket === undefined) {
        if (this.isClosed) return yield* connectionLost(method, "not sent", "the client is closed")
        const left = deadline - this.clock.unsafeCurrentTimeMillis()
        if (left <= (failed?.wait ?? 0)) {
          const { failure, reason } = failed ?? this.last ?? { reason: "the service was not reached in time" }
          return yield* failure ?? connectionLost(method, "not sent", reason)
        }
        const attempt = yield* this.join
        const result = yield* Deferred.await(attempt).pipe(Effect.either, Effect.timeoutOption(left))
        failed = Option.getOrUndefined(Option.flatMap(result, Either.getLeft))
        if (failed?.isFinal === true && failed.failure !== undefined) return yield* failed.failure
      }
      return this.socket
    })
  }

  /** Sends a request; `undefined` if the connection is no longer open. */
  send(socket: RpcSocket, tag: string, payload: unknown, listener: AnswerListener): Sent | undefined {
    if (this.socket !== socket) return undefined
    const id = String((this.requests += 1))
    this.listeners.set(id, listener)
    socket.send(JSON.stringify({ _tag: "Request", id, tag, payload, headers: [] }))
    const tell = (_tag: "Ack" | "Interrupt") => {
      if (this.listeners.has(id)) socket.send(JSON.stringify({ _tag, requestId: id }))
    }
    return {
      acknowledge: () => tell("Ack"),
      cancel: () => {
        tell("Interrupt")
        this.listeners.delete(id)
      }
    }
  }

  /** Closes the connection; requests in flight are lost. */
  close(): void {
    this.isClosed = true
    this.giveUp?.()
    this.lose(1000, { reason: "the client was closed" })
  }

  // --- Connecting ---

  /** The attempt that is under way, or a new one. */
  private readonly join: Effect.Effect<Attempt> = Effect.suspend(() => {
    if (this.attempt !== undefined) return Effect.succeed(this.attempt)
    const attempt = Deferred.unsafeMake<void, FailedAttempt>(FiberId.none)
    this.attempt = attempt
    return Effect.as(Effect.forkIn(this.connect(attempt), this.scope), attempt)
  })

  private connect(attempt: Attempt): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      yield* Effect.sleep(this.pause(yield* Random.next))
      const { headers, urls } = this.settings
      yield* Effect.async<void>((resume) => {
        const end = (exit: Exit.Exit<void, FailedAttempt>) => {
          this.attempt = undefined
          Deferred.unsafeDone(attempt, exit)
          resume(Effect.void)
        }
        // A connection that was given up may still tell of its end while another one is open.
        let own: RpcSocket | undefined
        this.giveUp = openSocket(urls[this.address % urls.length] ?? urls[0], headers, {
          onFailed: (attempted) => {
            this.failures += 1
            this.address += 1
            const failed = this.failures < urls.length ? withoutWait(attempted) : attempted
            this.last = failed
            end(Exit.fail(failed))
          },
          onOpen: (socket) => {
            own = socket
            this.opened(socket)
            end(Exit.void)
          },
          onFrame: (text) => {
            if (own === this.socket) this.receive(text)
          },
          onClose: (code) => {
            if (own === this.socket) this.closed(code)
          }
        })
      })
      const { socket } = this
      if (socket !== undefined) yield* this.check(socket)
    })
  }

  /**
   * The pause before an attempt: none before the first, short after an orderly stop and while addresses are left, then longer
   * and longer.
   */
  private pause(random: number): number {
    const { firstPause, longestPause, urls } = this.settings
    if (this.openedAt === 0 && this.failures < urls.length) return 0
    // The other nodes are well. The clients of one that stops come within a moment, not at once.
    if (this.wasStopped && this.failures === 0) return (firstPause / 2) * random
    const round = Math.max(0, this.failures - urls.length + 1)
    const pause = Math.min(longestPause, firstPause * 2 ** round) * (0.5 + random / 2)
    return Math.max(pause, this.last?.wait ?? 0)
  }

  private opened(socket: RpcSocket): void {
    this.socket = socket
    this.last = undefined
    this.openedAt = this.clock.unsafeCurrentTimeMillis()
    this.isAlive = true
    // The service closes a connection whose first message does not come soon.
    socket.send(ping)
  }

  /** Gives the connection up if nothing is received for two checks. */
  private check(socket: RpcSocket): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      for (;;) {
        yield* Effect.sleep(this.settings.heartbeat)
        if (this.socket !== socket) return
        if (!this.isAlive) return socket.drop()
        this.isAlive = false
        socket.send(ping)
      }
    })
  }

  // --- What the service sends ---

  private receive(text: string): void {
    this.isAlive = true
    const parsed = parseFrame(text)
    if (Option.isNone(parsed)) return this.lose(1007, { reason: "the service sent a broken frame" })
    const value = Option.getOrUndefined(decodeFrame(parsed.value))
    if (value === undefined) return
    if (value._tag === "Defect") return this.lose(1008, { reason: "the service failed" })
    const listener = this.listeners.get(value.requestId)
    if (value._tag === "Chunk") return listener?.onValues(value.values)
    this.listeners.delete(value.requestId)
    listener?.onExit(value.exit)
  }

  private closed(code: number): void {
    if (code !== keyRefused) return this.lose(code, { reason: closeReasons.get(code) ?? "the connection broke" })
    const message = "the key may no longer connect"
    this.lose(code, {
      reason: message,
      failure: new Failures.Unauthorized(localRefusal("UNAUTHORIZED", 401, message))
    })
  }

  private lose(code: number, loss: Loss): void {
    const { socket } = this
    this.socket = undefined
    if (socket !== undefined) {
      socket.close(code)
      const lived = this.clock.unsafeCurrentTimeMillis() - this.openedAt
      this.wasStopped = code === nodeStopped
      this.failures = lived < briefMillis[this.wasStopped ? "stopped" : "broken"] ? this.failures + 1 : 0
      this.address += 1
    }
    const lost = [...this.listeners.values()]
    this.listeners.clear()
    for (const listener of lost) listener.onLost(loss)
  }
}
