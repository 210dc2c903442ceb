/**
 * The sockets of this process to Postgres. To the system a silent path is no error for a quarter of an hour, so who knows
 * of one ends them all: what waits for an answer fails, as with any lost connection.
 */
import { Context, Layer } from "effect"
import { Socket } from "node:net"

export class OpenSockets extends Context.Tag("svc/OpenSockets")<
  OpenSockets,
  {
    /** Makes the socket of a connection: `stream` of its configuration. */
    readonly open: () => Socket
    /** Ends all that are open. */
    readonly endAll: () => void
    /** Notes what has been read on each that is open. The result ends those of them on which nothing has been read since. */
    readonly watchReads: () => () => void
  }
>() {}

export const layer = Layer.sync(OpenSockets, () => {
  const sockets = new Set<Socket>()
  return {
    open: () => {
      const socket = new Socket()
      sockets.add(socket)
      socket.once("close", () => sockets.delete(socket))
      return socket
    },
    endAll: () => {
      for (const socket of sockets) socket.destroy()
    },
    watchReads: () => {
      const before = new Map([...sockets].map((socket) => [socket, socket.bytesRead]))
      return () => {
        for (const [socket, bytes] of before) if (socket.bytesRead === bytes) socket.destroy()
      }
    }
  }
})
