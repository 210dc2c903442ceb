/**
 * The port of all nodes. The supervisor binds it and never listens: the `api` nodes get the socket over IPC and accept on it.
 * A connection that arrives while none of them does waits in the kernel, as long as the supervisor lives.
 */
import { Effect, type Scope } from "effect"
import { lookup } from "node:dns/promises"
import * as net from "node:net"
import { OperatorError } from "../process/OperatorError.js"
import { portRefusal, waitForPort } from "../process/Port.js"
import type { PortHandle } from "../process/SupervisorLink.js"

/** Binds the port for the life of the scope. `close`: earlier; nodes that listen go on until they stop. */
export const holdPort = (
  host: string,
  port: number
): Effect.Effect<{ readonly handle: PortHandle; readonly close: () => void }, OperatorError, Scope.Scope> =>
  Effect.gen(function* () {
    // While nobody listens on a port, the system lets another program bind it as well.
    yield* waitForPort(host, port)
    return yield* Effect.acquireRelease(
      Effect.tryPromise({
        try: async () => {
          const { address, family } = await lookup(host)
          const handle = bind(address, port, family)
          let isOpen = true
          const close = () => {
            if (isOpen) handle.close()
            isOpen = false
          }
          return { handle: handle as PortHandle & RawHandle, close } // the types know raw handles as servers only
        },
        catch: (cause) => (cause instanceof OperatorError ? cause : portRefusal(cause, host, port))
      }),
      ({ close }) => Effect.sync(close)
    )
  })

/** The part of libuv's handle that is used. */
interface RawHandle {
  readonly close: () => void
}

/**
 * What `node:cluster` binds with: no public function of `node:net` binds without listening, and whoever listens accepts.
 * Returns libuv's handle, or the number of an error.
 */
type Bind = (address: string, port: number, family: number) => RawHandle | number

const bind = (address: string, port: number, family: number): RawHandle => {
  const found: unknown = Reflect.get(net, "_createServerHandle")
  if (typeof found !== "function")
    throw new OperatorError({
      message: "This version of Node cannot share a port among nodes: use the one that package.json names."
    })
  const bound = (found as Bind)(address, port, family)
  if (typeof bound === "number") throw new Error(`error ${bound} of the system`)
  return bound
}
