/**
 * The server: node:http in front of the surfaces. It reads each body whole, up to the limit of its path, and hands the
 * bytes on; whatever is larger is refused while it is still coming in. What goes through the proxy is handed on with its
 * head, its body while it comes.
 */
import { Duration, Effect, FiberId, Runtime, type Scope } from "effect"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { type Failure, PayloadTooLarge } from "../../domain/Failure.js"
import { bodyBytes, headerBytes } from "../../domain/Limits.js"
import { proxyPrefix } from "../../http/execution/Proxy.js"
import type { ArrivingRequest, RawReply, RawRequest } from "../../http/Wire.js"
import { portRefusal } from "../Port.js"
import type { Refusal } from "../Refusal.js"
import { refuse, type Rest, write } from "./Answer.js"
import { Arrival, gone } from "./Arrival.js"

export interface Handlers {
  /** `POST …/execute` and `POST …/run`. */
  readonly execute: (request: RawRequest, workflow: string) => Effect.Effect<RawReply>
  /** What goes through the proxy, as soon as its head is there. */
  readonly proxy: (request: ArrivingRequest) => Effect.Effect<RawReply>
  /** Everything else. */
  readonly handle: (request: RawRequest) => Effect.Effect<RawReply>
  /** The answer to a request that was not even read whole. */
  readonly refused: (failure: Failure, execution: boolean) => RawReply
}

export interface ServerOptions {
  readonly host: string
  readonly port: number
}

export interface RunningServer {
  readonly port: number
  /** Stops listening; open requests go on. */
  readonly stopListening: () => void
  /** Requests that have not been answered. */
  readonly open: () => number
}

const executePath = /^\/api\/v1\/workflows\/([^/?]+)\/(?:execute|run)(?:\?|$)/
const noBody = new Uint8Array(0)
/** How long nothing of a body may come that is waited for. */
const stall = Duration.seconds(30)

/** Reads the body; `undefined` when it is larger than the limit, or the client went away. */
const readBody = (request: IncomingMessage, limit: number, done: (body: Uint8Array | undefined) => void): void => {
  const announced = Number(request.headers["content-length"] ?? 0)
  if (announced > limit) return done(undefined)
  const chunks: Array<Buffer> = []
  let size = 0
  let ended = false
  const finish = (body: Uint8Array | undefined) => {
    if (ended) return
    ended = true
    done(body)
  }
  request.on("data", (chunk: Buffer) => {
    size += chunk.length
    if (size > limit) {
      chunks.length = 0
      finish(undefined)
    } else chunks.push(chunk)
  })
  request.on("end", () => finish(chunks.length === 1 ? (chunks[0] ?? noBody) : Buffer.concat(chunks)))
  request.on("error", () => finish(undefined))
}

/** Why a body does not come in to its end. */
const brokenBy = ({ code }: NodeJS.ErrnoException): string => {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return "the request took too long to come in"
  return code === "HPE_INVALID_EOF_STATE" || code === "ECONNRESET" ? gone : "the body is not valid HTTP"
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0

const headersOf = (request: IncomingMessage): { readonly [name: string]: string } => {
  const headers: { [name: string]: string } = {}
  for (const name in request.headers) {
    const value = request.headers[name]
    if (typeof value === "string") headers[name] = value
    else if (value !== undefined) headers[name] = value.join(", ")
  }
  return headers
}

const listen = (server: Server, { host, port }: ServerOptions) =>
  Effect.async<number, Refusal>((resume) => {
    server.once("error", (error) => resume(portRefusal(error, host, port)))
    server.listen({ host, port, backlog: 1024 }, () => {
      const address = server.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : port))
    })
  })

/** Listens until the scope closes. */
export const serve = (handlers: Handlers, options: ServerOptions): Effect.Effect<RunningServer, Refusal, Scope.Scope> =>
  Effect.gen(function* () {
    const runFork = Runtime.runFork(yield* Effect.runtime<never>())
    let open = 0

    /** Bodies that are handed on while they come, by the connection that they come over. */
    const arrivals = new WeakMap<Duplex, Arrival>()

    const answer = (handled: Effect.Effect<RawReply>, response: ServerResponse, rest?: Rest) => {
      const fiber = runFork(handled)
      fiber.addObserver((exit) => {
        if (exit._tag === "Success") write(response, exit.value, rest)
        else response.destroy()
      })
      return fiber
    }

    const pass = (request: IncomingMessage, response: ServerResponse, target: string) => {
      const limit = bodyBytes.unified
      if (Number(request.headers["content-length"] ?? 0) > limit) {
        const forget = () => void request.resume()
        return refuse(response, handlers.refused(new PayloadTooLarge({ limitBytes: limit }), false), {
          request,
          forget
        })
      }
      const arrival = hasBody(request) ? new Arrival(request, { limit, stall }) : undefined
      if (arrival === undefined) request.resume()
      else arrivals.set(request.socket, arrival)
      const fiber = answer(
        handlers.proxy({
          method: request.method ?? "GET",
          target,
          headers: headersOf(request),
          body: arrival ?? noBody,
          remoteAddress: request.socket.remoteAddress ?? ""
        }),
        response,
        arrival === undefined ? undefined : { request, forget: () => arrival.forget() }
      )
      // What nobody waits for any more is not asked of a provider.
      response.once("close", () => fiber.unsafeInterruptAsFork(FiberId.none))
    }

    const onRequest = (request: IncomingMessage, response: ServerResponse) => {
      const target = request.url ?? "/"
      const started = request.method === "POST" ? executePath.exec(target) : null
      const limit = started !== null ? bodyBytes.execute : bodyBytes.management
      open++
      response.once("close", () => {
        open--
      })
      if (target.startsWith(proxyPrefix)) return pass(request, response, target)
      readBody(request, limit, (body) => {
        if (body === undefined) {
          return refuse(response, handlers.refused(new PayloadTooLarge({ limitBytes: limit }), started !== null), {
            request,
            forget: () => void request.resume()
          })
        }
        const raw: RawRequest = {
          method: request.method ?? "GET",
          target,
          headers: headersOf(request),
          body,
          remoteAddress: request.socket.remoteAddress ?? ""
        }
        answer(started === null ? handlers.handle(raw) : handlers.execute(raw, started[1] ?? ""), response)
      })
    }

    const server = createServer(
      { maxHeaderSize: headerBytes, keepAliveTimeout: 65_000, requestTimeout: 60_000 },
      onRequest
    )
    server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
      if (!socket.writable) return
      // Whoever handles the request answers it.
      if (arrivals.get(socket)?.fail(brokenBy(error)) === true) return
      const [status, code] =
        error.code === "HPE_HEADER_OVERFLOW"
          ? ([431, "headers larger than 32 KiB"] as const)
          : ([400, "not an HTTP request"] as const)
      const body = JSON.stringify({
        code: "INVALID_REQUEST",
        statusCode: status,
        message: code,
        requestId: "req_none",
        retryable: false,
        details: []
      })
      socket.end(
        `HTTP/1.1 ${status} ${status === 431 ? "Request Header Fields Too Large" : "Bad Request"}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`
      )
    })
    yield* Effect.addFinalizer(() =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
    )
    const port = yield* listen(server, options)
    return {
      port,
      open: () => open,
      stopListening: () => {
        server.close()
      }
    }
  })
