/**
 * The server: node:http in front of the surfaces. It reads each body whole, up to the limit of its path, and hands the
 * bytes on; whatever is larger is refused while it is still coming in.
 */
import { Effect, FiberId, Runtime, type Scope } from "effect"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { pipeline } from "node:stream"
import { type Failure, PayloadTooLarge } from "../../domain/Failure.js"
import { bodyBytes, headerBytes } from "../../domain/Limits.js"
import { proxyPrefix } from "../../http/execution/Proxy.js"
import type { BodyInPieces, RawReply, RawRequest } from "../../http/Wire.js"
import { portRefusal } from "../Port.js"
import type { Refusal } from "../Refusal.js"

export interface Handlers {
  /** `POST …/execute` and `POST …/run`. */
  readonly execute: (request: RawRequest, workflow: string) => Effect.Effect<RawReply>
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

const headersOf = (request: IncomingMessage): { readonly [name: string]: string } => {
  const headers: { [name: string]: string } = {}
  for (const name in request.headers) {
    const value = request.headers[name]
    if (typeof value === "string") headers[name] = value
    else if (value !== undefined) headers[name] = value.join(", ")
  }
  return headers
}

const isWhole = (body: RawReply["body"]): body is string | Uint8Array =>
  typeof body === "string" || body instanceof Uint8Array

const write = (response: ServerResponse, reply: RawReply): void => {
  if (!isWhole(reply.body)) return pour(response, reply, reply.body)
  if (response.destroyed) return
  const length = Buffer.byteLength(reply.body)
  const bodiless = reply.status === 204 || reply.status === 304
  response.writeHead(reply.status, {
    ...reply.headers,
    ...(bodiless ? {} : { "content-length": String(length) })
  })
  response.end(bodiless ? undefined : reply.body)
}

/** Piece by piece, as fast as the client takes them. A body that breaks off ends the connection without its last chunk. */
const pour = (response: ServerResponse, { headers, status }: RawReply, { cancel, pieces }: BodyInPieces): void => {
  if (response.destroyed) return cancel()
  // A client that goes away while nothing comes would be noticed with the next piece only.
  response.once("close", cancel)
  response.writeHead(status, { ...headers })
  response.flushHeaders()
  pipeline(pieces, response, () => undefined)
}

/** How long the rest of a refused body is read and forgotten: a client that still sends would lose the answer otherwise. */
const forgetMillis = 2_000

/** Answers before the request has ended, and closes the connection when it has. */
const refuse = (request: IncomingMessage, response: ServerResponse, reply: RawReply): void => {
  const { body } = reply
  if (response.destroyed || !isWhole(body)) return
  response.writeHead(reply.status, {
    ...reply.headers,
    "content-length": String(Buffer.byteLength(body)),
    connection: "close"
  })
  response.write(body)
  const end = () => {
    clearTimeout(patience)
    response.end()
  }
  const patience = setTimeout(end, forgetMillis)
  request.once("end", end).once("close", end)
  request.resume()
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

    const onRequest = (request: IncomingMessage, response: ServerResponse) => {
      const target = request.url ?? "/"
      const started = request.method === "POST" ? executePath.exec(target) : null
      const proxied = target.startsWith(proxyPrefix)
      const limit = started !== null ? bodyBytes.execute : proxied ? bodyBytes.unified : bodyBytes.management
      open++
      response.once("close", () => {
        open--
      })
      readBody(request, limit, (body) => {
        if (body === undefined) {
          return refuse(
            request,
            response,
            handlers.refused(new PayloadTooLarge({ limitBytes: limit }), started !== null)
          )
        }
        const raw: RawRequest = {
          method: request.method ?? "GET",
          target,
          headers: headersOf(request),
          body,
          remoteAddress: request.socket.remoteAddress ?? ""
        }
        const fiber = runFork(started === null ? handlers.handle(raw) : handlers.execute(raw, started[1] ?? ""))
        // What nobody waits for any more is not asked of a provider.
        if (proxied) response.once("close", () => fiber.unsafeInterruptAsFork(FiberId.none))
        fiber.addObserver((exit) => {
          if (exit._tag === "Success") write(response, exit.value)
          else response.destroy()
        })
      })
    }

    const server = createServer(
      { maxHeaderSize: headerBytes, keepAliveTimeout: 65_000, requestTimeout: 60_000 },
      onRequest
    )
    server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
      if (!socket.writable) return
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
