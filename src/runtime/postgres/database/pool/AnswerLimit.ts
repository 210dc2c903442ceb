/** The time limit of the client on an answer of Postgres. Those of the server say nothing over a path that is silent. */
import { Socket } from "node:net"
import type { ClientBase } from "pg"

/** Above the minute after which the server ends a statement of the pools, with its waits for locks. */
export const answerMillis = 70_000

/**
 * Ends a connection from which nothing came for so long while a statement is under way, or while it ends: the statement
 * fails, as with any lost connection. An idle connection stays open.
 */
export const limitAnswers = (client: ClientBase, millis = answerMillis): void => {
  const socket = socketOf(client)
  socket?.setTimeout(millis, () => {
    const isIdle = Reflect.get(client, "readyForQuery") === true && Reflect.get(client, "_ending") !== true
    if (!isIdle) socket.destroy()
  })
}

/** The socket of a connection, which the types do not show. */
export const socketOf = (client: ClientBase): Socket | undefined => {
  const connection: unknown = Reflect.get(client, "connection")
  const stream: unknown =
    typeof connection === "object" && connection !== null ? Reflect.get(connection, "stream") : undefined
  return stream instanceof Socket ? stream : undefined
}
