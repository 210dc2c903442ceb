/**
 * A node's end of the IPC with its supervisor. The node ends when the supervisor has: a supervisor that was killed leaves
 * none of its nodes.
 */
import { Effect } from "effect"
import type { Server } from "node:net"
import { OperatorError } from "./OperatorError.js"

/** A bound socket, as `ChildProcess.send` passes it on and `Server.listen` takes it. */
export type PortHandle = Server

/** What a supervisor says to a node: `Port` comes with the socket; `Retire`: another node takes its place. */
export type ToNode = { readonly _tag: "Port" } | { readonly _tag: "Retire" }

/** What a node says to its supervisor. */
export type ToSupervisor = { readonly _tag: "PortWanted" } | { readonly _tag: "Ready" }

/** A node's end: what it asks of its supervisor, and tells it. */
export interface SupervisorLink {
  /** The socket to accept requests on. */
  readonly port: Effect.Effect<PortHandle>
  /** Says that the node takes part. `retire`: runs when another node takes its place, and then this one stops. */
  readonly ready: (retire: Effect.Effect<void>) => Effect.Effect<void>
}

/** A node that is alone has this long to stop. */
const aloneMillis = 4_000

/** Opens the IPC of this process. Fails if no supervisor has started it. */
export const openLink: Effect.Effect<SupervisorLink, OperatorError> = Effect.suspend(() => {
  if (process.send === undefined)
    return new OperatorError({ message: "Only `svc start --nodes` starts a process with --supervised." })
  const stop = () => void process.kill(process.pid, "SIGTERM")
  process.once("disconnect", () => {
    stop()
    setTimeout(() => process.exit(1), aloneMillis).unref()
  })
  const tell = (message: ToSupervisor) => void process.send?.(message, undefined, undefined, () => undefined)
  const listeners = new Map<ToNode["_tag"], (handle: PortHandle) => void>()
  process.on("message", ({ _tag }: ToNode, handle: unknown) => listeners.get(_tag)?.(handle as PortHandle)) // sent beside `Port`
  return Effect.succeed({
    port: Effect.async((resume) => {
      listeners.set("Port", (handle) => resume(Effect.succeed(handle)))
      tell({ _tag: "PortWanted" })
    }),
    ready: (retire) =>
      Effect.sync(() => {
        listeners.set("Retire", () => void Effect.runFork(retire).addObserver(stop))
        tell({ _tag: "Ready" })
      })
  })
})
