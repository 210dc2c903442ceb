/** Local servers for the tests of egress, and clients with and without permission to reach them. */
import { createServer, type RequestListener } from "node:http"
import { type AddressInfo, createServer as createRawServer, type Server, type Socket } from "node:net"
import { Duration, Effect, Either, type Scope } from "effect"
import { Egress, type EgressRequest } from "../../src/actors/ports/Egress.js"
import { parseAllowList } from "../../src/runtime/egress/Address.js"
import { layer } from "../../src/runtime/egress/Egress.js"
import type { Resolve } from "../../src/runtime/egress/Connect.js"
import { withEndlessMemory } from "../support/holdings.js"
import { organisation } from "../support/journal.js"
import { ownerOf } from "../support/shareOwners.js"

export interface TestServer {
  readonly port: number
  readonly origin: string
  /** The number of connections so far. */
  readonly connections: () => number
  /** The number of open connections. */
  readonly open: () => number
}

const listening = (server: Server, host: string): Effect.Effect<TestServer, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.async<{ readonly server: TestServer; readonly sockets: Set<Socket> }>((resume) => {
      const sockets = new Set<Socket>()
      let connections = 0
      server.on("connection", (socket: Socket) => {
        connections++
        sockets.add(socket)
        socket.on("error", () => undefined)
        socket.on("close", () => sockets.delete(socket))
      })
      server.listen(0, host, () => {
        const { port } = server.address() as AddressInfo
        const origin = `http://${host.includes(":") ? `[${host}]` : host}:${port}`
        resume(
          Effect.succeed({
            server: { port, origin, connections: () => connections, open: () => sockets.size },
            sockets
          })
        )
      })
    }),
    ({ sockets }) =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        for (const socket of sockets) socket.destroy()
      })
  ).pipe(Effect.map(({ server }) => server))

export const httpServer = (listener: RequestListener, host = "127.0.0.1") =>
  Effect.suspend(() => listening(createServer(listener), host))

/** A server whose answers a test writes byte by byte. */
export const rawServer = (onConnection: (socket: Socket) => void) =>
  Effect.suspend(() => listening(createRawServer(onConnection), "127.0.0.1"))

export const egressLayer = (allow = "127.0.0.1/32", resolve?: Resolve, connections?: number) =>
  layer({
    allow: Either.getOrThrow(parseAllowList(allow)),
    ...(resolve === undefined ? {} : { resolve }),
    ...(connections === undefined ? {} : { connections })
  })

export const send = (url: string, request: Partial<EgressRequest> = {}) =>
  Effect.flatMap(Egress, (egress) =>
    egress.send({
      owner: ownerOf(organisation),
      method: "GET",
      url,
      headers: [],
      body: null,
      timeout: Duration.seconds(5),
      maxBytes: 1024 * 1024,
      redirects: 0,
      ...request
    })
  ).pipe(withEndlessMemory)

export const textOf = (response: { readonly body: Uint8Array }) => new TextDecoder().decode(response.body)
