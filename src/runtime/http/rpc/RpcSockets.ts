/**
 * The connections of the typed RPC: WebSockets that begin as requests of the HTTP server. Whoever may not connect gets an
 * HTTP answer. While they are open, it is seen whether their callers may still connect, and whether they live.
 */
import { RpcServer } from "@effect/rpc"
import type { FromClientEncoded } from "@effect/rpc/RpcMessage"
import { Context, Duration, Effect, FiberId, Mailbox, Option, Runtime, Schedule, Scope } from "effect"
import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import type { WebSocket, WebSocketServer } from "ws"
import { backgroundTask, repeatEvery } from "../../../actors/BackgroundTask.js"
import { pollWhileBusy } from "../../../actors/PollWhileBusy.js"
import type { BackgroundTasks } from "../../../actors/ports/BackgroundTasks.js"
import type { HeldBytes } from "../../../actors/ports/HeldBytes.js"
import { type Failure, InvalidRequest, TooManyCalls, Unavailable } from "../../../domain/Failure.js"
import { rpcLimits } from "../../../domain/rpc/RpcLimits.js"
import { failureReply } from "../../../http/ErrorRows.js"
import type { RpcCall, RpcFront } from "../../../http/rpc/RpcFront.js"
import type { RpcMethod } from "../../../http/rpc/RpcMethods.js"
import type { RpcAnswer } from "../../../http/rpc/RpcReplies.js"
import type { RawReply, RecognisedCaller, RequestHead } from "../../../http/Wire.js"
import { refuseUpgrade } from "../Answer.js"
import { closeCodes, RpcConnection } from "./RpcConnection.js"
import { OpenQuota, type Opener } from "../../../domain/share/OpenQuota.js"
import { ownerOfAccount } from "../../../domain/share/ShareOwner.js"

export interface RpcSocketsOptions extends Pick<RpcFront, "admit" | "failureOf"> {
  readonly call: (method: RpcMethod, opened: RequestHead, payload: unknown) => RpcCall
  readonly serveStreams: (headOf: (connectionId: number) => RequestHead) => ReturnType<RpcFront["serveStreams"]>
  readonly ledger: HeldBytes["Type"]
}

export interface RpcSockets {
  /** Opens a connection, or answers why not. */
  readonly upgrade: (request: IncomingMessage, socket: Duplex, first: Buffer, head: RequestHead) => void
  /** Refuses further calls, and waits at most `patience` until those that are open are answered. */
  readonly leave: (patience: Duration.Duration) => Effect.Effect<void>
}

const isRefused = (found: RecognisedCaller | RawReply): found is RawReply => !("caller" in found)

const openerOf = ({ caller }: Pick<RecognisedCaller, "caller">): Opener => ({
  caller: caller.id,
  owner: ownerOfAccount(caller)
})

/** By which it is asked again whether a caller may connect: once for all of its connections from one place. */
const credentialOf = ({ headers, remoteAddress }: RequestHead): string =>
  JSON.stringify([
    remoteAddress,
    ...["authorization", "x-svc-api-key", "x-forwarded-for", "x-svc-test-mode", "x-svc-space-id"].map(
      (name) => headers[name]
    )
  ])

/** The connections of a node, until the scope closes. */
export const makeRpcSockets = ({
  admit,
  call,
  failureOf,
  ledger,
  serveStreams
}: RpcSocketsOptions): Effect.Effect<RpcSockets, never, Scope.Scope | BackgroundTasks> =>
  Effect.gen(function* () {
    // As for requests of HTTP: what a message provides would copy all of the program's services.
    const runFork = Runtime.runFork(Runtime.updateContext(yield* Effect.runtime<never>(), () => Context.empty()))
    /** Closed after what is added to the scope later, such as the wait for open calls when the node leaves. */
    const scope = yield* Effect.acquireRelease(Scope.make(), (own, exit) => Scope.close(own, exit))
    const connections = new Map<number, RpcConnection>()
    /** By their credential, of whose connections one is asked for. */
    const alike = new Map<string, { readonly head: RequestHead; readonly all: Set<RpcConnection> }>()
    const quota = new OpenQuota({ ofCaller: rpcLimits.connectionsOfCaller, ofNode: rpcLimits.connectionsOfNode })
    const disconnects = yield* Mailbox.make<number>()
    let lastId = 0
    let isLeaving = false
    let pass: (id: number, message: FromClientEncoded) => Effect.Effect<void> = () => Effect.void
    /** Loaded when the first connection comes. */
    let server: Promise<WebSocketServer> | undefined

    const protocol = RpcServer.Protocol.of({
      run: (write) =>
        Effect.suspend(() => {
          pass = write
          return Effect.never
        }),
      disconnects,
      send: (id, message) => Effect.sync(() => connections.get(id)?.send(message)),
      end: () => Effect.void,
      clientIds: Effect.sync(() => new Set(connections.keys())),
      initialMessage: Effect.succeed(Option.none()),
      supportsAck: true,
      supportsTransferables: false,
      supportsSpanPropagation: false
    })

    const headOf = (id: number): RequestHead =>
      connections.get(id)?.head ?? { method: "GET", target: "/", headers: {}, remoteAddress: "" }

    // --- While connections are open ---

    /** Closes the connections whose callers may connect no more; a service that cannot tell says nothing about a key. */
    const closeRefused = Effect.suspend(() =>
      Effect.forEach(
        [...alike.values()],
        ({ all, head }) =>
          Effect.map(admit(head), (found) => {
            if (!isRefused(found) || found.status >= 500 || found.status === 429) return
            for (const one of all) one.close(closeCodes.notAdmitted)
          }),
        { discard: true }
      )
    )
    const looking = yield* backgroundTask("rpc.look", closeRefused)
    const startLooking = yield* pollWhileBusy(
      rpcLimits.look,
      Effect.map(looking.run, () => connections.size > 0)
    )
    yield* repeatEvery(
      rpcLimits.ping,
      Effect.sync(() => {
        for (const one of connections.values()) one.ping()
      })
    )

    const serving = serveStreams(headOf).pipe(
      Effect.provideService(RpcServer.Protocol, protocol),
      // Without it no stream is answered: the next connection begins it anew.
      Effect.onExit(() =>
        Effect.sync(() => {
          server = undefined
          for (const one of connections.values()) one.close(closeCodes.goElsewhere)
        })
      ),
      Effect.tapErrorCause((cause) => Effect.logError("rpc.failed", cause)),
      Effect.forkIn(scope)
    )

    const begin = async () => {
      const { WebSocketServer } = await import("ws")
      runFork(serving)
      return new WebSocketServer({
        noServer: true,
        maxPayload: rpcLimits.callFrame,
        perMessageDeflate: false,
        clientTracking: false
      })
    }

    /** Runs a call, part by part. See `RpcConnectionOptions`. */
    const runCall = (begun: RpcCall, done: (answer?: RpcAnswer) => void): (() => void) => {
      let isStopped = false
      let end: () => void = () => undefined
      const run = ({ endsWithClient, work }: RpcCall): void => {
        const fiber = runFork(work)
        end = () => {
          if (endsWithClient) fiber.unsafeInterruptAsFork(FiberId.none)
        }
        fiber.addObserver((exit) => {
          if (isStopped || exit._tag === "Failure") done()
          else if ("work" in exit.value) run(exit.value)
          else done(exit.value)
        })
      }
      run(begun)
      return () => {
        isStopped = true
        end()
      }
    }

    // --- Opening ---

    const refusalOf = (opener: Opener): Failure | undefined => {
      if (isLeaving) return new Unavailable({ reason: "svc is being stopped or restarted", retryAfterSeconds: 1 })
      const excess = quota.excess(opener)
      if (excess === undefined) return undefined
      const { limit, of } = excess
      if (of !== "node") return new TooManyCalls({ what: "connections", of, limit })
      return new Unavailable({
        reason: `this node has ${limit} connections open, as many as it serves`,
        retryAfterSeconds: 5
      })
    }

    const connected = (socket: WebSocket, stream: Duplex, head: RequestHead, { caller }: RecognisedCaller) => {
      const id = ++lastId
      const opener = openerOf({ caller })
      const connection: RpcConnection = new RpcConnection(socket, {
        id,
        head,
        holding: ledger.open(opener.owner, "bodies"),
        pass: (message) => runFork(pass(id, message)),
        run: (method, payload, done) => runCall(call(method, head, payload), done),
        failureOf
      })
      connections.set(id, connection)
      const credential = credentialOf(head)
      const group = alike.get(credential) ?? { head, all: new Set() }
      alike.set(credential, group)
      group.all.add(connection)
      startLooking()
      quota.count(opener, 1)
      const waiting = setTimeout(() => {
        if (!connection.hasBeenUsed) connection.close(closeCodes.noMessage)
      }, Duration.toMillis(rpcLimits.firstMessage))
      stream.prependListener("data", (chunk: Buffer) => connection.receive(chunk.byteLength))
      socket.on("message", (data, isBinary) => connection.readFrame(data as Buffer, isBinary))
      socket.on("ping", (data) => connection.readControl(data))
      socket.on("pong", (data) => connection.readControl(data))
      // What is wrong with a frame, the library answers with a code.
      socket.on("error", () => undefined)
      socket.on("close", () => {
        clearTimeout(waiting)
        connections.delete(id)
        group.all.delete(connection)
        if (group.all.size === 0) alike.delete(credential)
        quota.count(opener, -1)
        connection.end()
        disconnects.unsafeOffer(id)
      })
    }

    const upgrade: RpcSockets["upgrade"] = (request, socket, first, head) => {
      const opened = Effect.flatMap(admit(head), (found) =>
        Effect.promise(async () => {
          if (isRefused(found)) return refuseUpgrade(socket, found)
          const refuse = (failure: Failure) =>
            refuseUpgrade(socket, failureReply(failure, found.caller.requestId, Date.now()))
          const refused = refusalOf(openerOf(found))
          if (refused !== undefined) return refuse(refused)
          const ready = await (server ??= begin())
          // The library tells of a mistake before `handleUpgrade` returns; without a listener it answers in its own form.
          const onMistake = ({ message }: Error) => refuse(new InvalidRequest({ code: "INVALID_REQUEST", message }))
          ready.once("wsClientError", onMistake)
          ready.handleUpgrade(request, socket, first, (connection) => connected(connection, socket, head, found))
          ready.off("wsClientError", onMistake)
        })
      )
      runFork(opened).addObserver((exit) => {
        if (exit._tag === "Failure") socket.destroy()
      })
    }

    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        for (const one of connections.values()) one.close(closeCodes.goElsewhere)
      })
    )

    return {
      upgrade,
      leave: (patience) =>
        Effect.suspend(() => {
          isLeaving = true
          for (const one of connections.values()) one.leave()
          return Effect.repeat(
            Effect.sync(() => connections.size),
            {
              until: (open) => open === 0,
              schedule: Schedule.spaced("10 millis")
            }
          )
        }).pipe(
          Effect.timeoutOption(patience),
          Effect.zipRight(
            Effect.sync(() => {
              for (const one of connections.values()) one.close(closeCodes.goElsewhere)
            })
          ),
          Effect.interruptible
        )
    }
  })
