/**
 * Connections between nodes: TLS with a pre-shared key, which is derived from the cluster's secret. A peer without it cannot
 * complete the handshake, neither as client nor as server.
 */
import { Runners } from "@effect/cluster"
import * as NodeSocket from "@effect/platform-node/NodeSocket"
import { Socket, SocketServer } from "@effect/platform"
import { RpcClient, RpcSerialization, RpcServer } from "@effect/rpc"
import { Effect, FiberSet, Layer, Schedule } from "effect"
import type * as net from "node:net"
import * as tls from "node:tls"
import { nodePort } from "../../domain/Limits.js"
import type { OperatorError } from "../process/OperatorError.js"
import { nodePortRefusal } from "../process/Port.js"
import type { ClusterKey } from "./ClusterSecret.js"
import { frames } from "./Frames.js"

/**
 * The only suite: Node 20 has it, and it has forward secrecy. Pre-shared keys of TLS 1.3 are not in Node 20. There are no
 * certificates, so that those of the public authorities are not read, which would hold the event loop at the first call.
 */
const suite: tls.SecureContextOptions = {
  ciphers: "ECDHE-PSK-CHACHA20-POLY1305",
  minVersion: "TLSv1.2",
  maxVersion: "TLSv1.2",
  ca: []
}

const handshakeMillis = 5_000
/** Until a connection is open, and between two attempts to open one. */
const openTimeout = "1 second"
const reopenEvery = "100 millis"

/**
 * Listens for other nodes until the scope ends. `port` 0 takes a free one. The end of the scope closes every connection:
 * one that is in its handshake, or arrives while the node stops, has no handler that would, and the peer keeps it open.
 */
const listen = (keys: ReadonlyArray<ClusterKey>, host: string, port: number) => {
  const open = new Set<net.Socket>()
  /** Those of `open` that have not shown the secret. */
  const handshaking = new Set<net.Socket>()
  return Effect.acquireRelease(
    Effect.async<tls.Server, OperatorError>((resume) => {
      const server = tls.createServer({
        ...suite,
        handshakeTimeout: handshakeMillis,
        pskCallback: (_, identity) => keys.find((one) => one.identity === identity)?.key ?? null
      })
      server.on("connection", (socket) => {
        open.add(socket)
        handshaking.add(socket)
        socket.once("close", () => {
          open.delete(socket)
          handshaking.delete(socket)
        })
        // Whoever has no secret gets no further than here: the earliest one makes room.
        if (handshaking.size > nodePort.handshakes) for (const earliest of handshaking) return void earliest.destroy()
      })
      server.on("secureConnection", (secured) => {
        for (const socket of handshaking)
          if (socket.remotePort === secured.remotePort && socket.remoteAddress === secured.remoteAddress)
            handshaking.delete(socket)
      })
      // A connection without the secret ends in its handshake; it is no trouble of this node.
      server.on("tlsClientError", (_, socket) => socket.destroy())
      server.once("error", (cause) => resume(nodePortRefusal(cause, host, port)))
      server.listen({ host, port, exclusive: true }, () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        for (const socket of open) socket.destroy()
      })
  )
}

/** The server of the node port, for the library's protocol. */
export const serve = Effect.fn("NodeTransport.serve")(function* (
  keys: ReadonlyArray<ClusterKey>,
  host: string,
  port: number
) {
  const server = yield* listen(keys, host, port)
  // Listening on a port, it has such an address.
  const address = server.address() as net.AddressInfo
  const run: SocketServer.SocketServer["Type"]["run"] = <R, E, _>(
    handler: (socket: Socket.Socket) => Effect.Effect<_, E, R>
  ) =>
    Effect.scoped(
      Effect.gen(function* () {
        const fork = yield* FiberSet.makeRuntime<R>()
        const accept = (connection: tls.TLSSocket) => {
          // What breaks a connection is the business of who waits for an answer over it.
          connection.on("error", () => connection.destroy())
          connection.setNoDelay(true)
          sendTurnsTogether(connection)
          const open = Effect.acquireRelease(Effect.succeed(connection), () =>
            Effect.sync(() => void connection.destroy())
          )
          fork(Effect.ignore(Effect.sandbox(Effect.flatMap(NodeSocket.fromDuplex(open), handler))))
        }
        server.on("secureConnection", accept)
        yield* Effect.addFinalizer(() => Effect.sync(() => void server.off("secureConnection", accept)))
        return yield* Effect.never
      })
    )
  return SocketServer.SocketServer.of({ address: { _tag: "TcpAddress", hostname: host, port: address.port }, run })
})

/** Sends what is written in one turn of the loop together: each part alone would wake the other process. */
const sendTurnsTogether = (connection: tls.TLSSocket): void => {
  const write = connection.write.bind(connection)
  // The last of its overloads, which the others are forms of.
  connection.write = ((...written: Parameters<typeof write>) => {
    if (connection.writableCorked === 0) {
      connection.cork()
      process.nextTick(() => connection.uncork())
    }
    return write(...written)
  }) as typeof write
}

/** The wait for the handshake can be interrupted: a frozen peer's would not end, and neither would who closes the client. */
const connect = (key: ClusterKey, host: string, port: number) =>
  Effect.flatMap(
    Effect.acquireRelease(
      Effect.sync(() => {
        const connection = tls.connect({
          ...suite,
          host,
          port,
          // The key is the proof of the other side: there are no certificates.
          checkServerIdentity: () => undefined,
          pskCallback: () => ({ psk: key.key, identity: key.identity })
        })
        connection.setNoDelay(true)
        sendTurnsTogether(connection)
        return connection
      }),
      (connection) => Effect.sync(() => void connection.destroy())
    ),
    (connection) =>
      Effect.async<tls.TLSSocket, Socket.SocketError>((resume) => {
        connection.once("secureConnect", () => resume(Effect.succeed(connection)))
        connection.on("error", (cause) => resume(new Socket.SocketGenericError({ reason: "Open", cause })))
      })
  )

/**
 * Streams without acknowledgements, each of which would wake a process: a stream of starts has no more answers than its
 * receiver has sent orders.
 */
const withoutAcks = <P extends { readonly supportsAck: boolean }>(protocol: P): P => ({
  ...protocol,
  supportsAck: false
})

/** What reads and answers the messages of other nodes on the server of the node port. */
export const protocol = Layer.scoped(RpcServer.Protocol, Effect.map(RpcServer.makeProtocolSocketServer, withoutAcks))

/** The clients of other nodes, for the library: one connection to each, opened when it is first needed. */
export const clients = (key: ClusterKey): Layer.Layer<Runners.RpcClientProtocol> =>
  Layer.succeed(Runners.RpcClientProtocol, ({ host, port }) =>
    Effect.flatMap(NodeSocket.fromDuplex(connect(key, host, port), { openTimeout }), (socket) =>
      Effect.map(RpcClient.makeProtocolSocket({ retrySchedule: Schedule.spaced(reopenEvery) }), withoutAcks).pipe(
        Effect.provideService(Socket.Socket, socket),
        Effect.provideService(RpcSerialization.RpcSerialization, frames)
      )
    )
  )
