/** The port on which the service listens, and why it may not be had. */
import { Effect } from "effect"
import { createServer } from "node:net"
import { reasonOf, Refusal } from "./Refusal.js"

/** Succeeds when a server could listen there now. */
export const whenFree = (host: string, port: number): Effect.Effect<void, Refusal> =>
  Effect.async((resume) => {
    const server = createServer()
    server.once("error", (cause) => resume(portRefusal(cause, host, port)))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resume(Effect.void)))
  })

/** What the operator is told when listening fails. */
export const portRefusal = (cause: unknown, host: string, port: number): Refusal => {
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined
  switch (code) {
    case "EADDRINUSE":
      return new Refusal({
        message: `Port ${port} of ${host} is taken by another program. Stop it, or set SVC_PORT to a free port (0 takes any).`
      })
    case "EACCES":
      return new Refusal({ message: `Port ${port} is not for ordinary users. Set SVC_PORT to 1024 or more.` })
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return new Refusal({
        message: `SVC_HOST ${host} is no address of this machine. Set it to one, or to 0.0.0.0 for all.`
      })
    default:
      return new Refusal({ message: `svc cannot listen on ${host}, port ${port}: ${reasonOf(cause)}.` })
  }
}
