/** The end of a server: requests that are on their way are refused, and none meets a closed connection. */
import { Duration, Effect } from "effect"
import type { Server } from "node:http"
import { Server as NetServer } from "node:net"
import type { RequestGate } from "./RequestGate.js"

/** Stops listening and closes all connections. */
export const stopServer = (server: Server) =>
  Effect.async<void>((resume) => {
    server.close(() => resume(Effect.void))
    server.closeAllConnections()
  })

/**
 * Accepts no further connection. `close` of an HTTP server would also close idle connections at once, and a request may be on
 * its way on one of them.
 */
export const stopAccepting = (server: Server): void => void NetServer.prototype.close.call(server)

/** How long refusals may take to be written before the server closes its connections. */
const refusing = Duration.millis(100)
/** A node that leaves goes on refusing until it had nothing to refuse for the first of these, or for the second in all. */
const balancing = { quiet: Duration.seconds(1), most: Duration.seconds(5) }

/** Two turns of the loop: connections that were made meanwhile are accepted, and what came on them is read. */
const twoTurns = Effect.async<void>((resume) => {
  setImmediate(() => setImmediate(() => resume(Effect.void)))
})

/** Ends the serving of a node that leaves, so that no request that was sent meets a closed connection. */
export const endServing = (server: Server, gate: RequestGate, hasOthers: boolean) =>
  Effect.gen(function* () {
    if (hasOthers) yield* gate.quiet(balancing.quiet, balancing.most)
    yield* twoTurns
    stopAccepting(server)
    yield* twoTurns
    yield* gate.settled(refusing)
  })
