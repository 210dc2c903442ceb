/** Checks and finds the port that the service listens on. */
import { Effect, Random } from "effect"
import { createServer } from "node:net"
import { reasonOf, OperatorError } from "./OperatorError.js"

/** Succeeds when a server can listen on the port. */
export const waitForPort = (host: string, port: number): Effect.Effect<void, OperatorError> =>
  Effect.async((resume) => {
    const server = createServer()
    server.once("error", (cause) => resume(portRefusal(cause, host, port)))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resume(Effect.void)))
  })

/** Below the ephemeral ports: an outgoing connection could take one of those at once. */
const firstFree = 10_240
const freePorts = 22_000

/** A port that is free now. */
export const freePort = (host: string): Effect.Effect<number, OperatorError> =>
  Random.nextIntBetween(firstFree, firstFree + freePorts).pipe(
    Effect.tap((port) => waitForPort(host, port)),
    Effect.retry({ times: 10 })
  )

/** The error for the operator when listening fails. */
export const portRefusal = (cause: unknown, host: string, port: number): OperatorError => {
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined
  switch (code) {
    case "EADDRINUSE":
      return new OperatorError({
        message: `Port ${port} of ${host} is taken by another program. Stop it, or set SVC_PORT to a free port (0 takes any).`
      })
    case "EACCES":
      return new OperatorError({ message: `Port ${port} is not for ordinary users. Set SVC_PORT to 1024 or more.` })
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return new OperatorError({
        message: `SVC_HOST ${host} is no address of this machine. Set it to one, or to 0.0.0.0 for all.`
      })
    default:
      return new OperatorError({ message: `svc cannot listen on ${host}, port ${port}: ${reasonOf(cause)}.` })
  }
}

/** The same for the port that other nodes connect to. */
export const nodePortRefusal = (cause: unknown, host: string, port: number): OperatorError =>
  new OperatorError({
    message: `svc cannot listen for other nodes on ${host}, port ${port}: ${reasonOf(cause)}. Set SVC_NODE_ADDRESS to a free port of this machine.`
  })
