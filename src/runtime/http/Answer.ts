/**
 * Writes replies, complete or streamed, also before their request has ended. All that this server answers leaves here, with
 * what keeps browsers from taking it for something else.
 */
import { Duration } from "effect"
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http"
import type { Duplex } from "node:stream"
import { refusedBody } from "../../domain/Limits.js"
import type { StreamedBody, RawReply } from "../../http/Wire.js"
import type { OpenReply } from "./OpenReplies.js"

/** The unread rest of a request that is answered early. */
export interface Rest {
  readonly request: IncomingMessage
  /** Reads and discards the rest of the body. */
  readonly forget: () => void
}

/** What a browser opens as a document, which may have scripts. */
const documentType = /^\s*(?:text\/(?:html|xml)|image\/svg\+xml|application\/(?:[\w.-]+\+)?xml)/i

/** Of a document without a policy of its own, which is no page of the service: it runs, loads and sends nothing. */
const closedPolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"

/** The headers of an answer, and those that every answer has. */
const withProtection = (headers: RawReply["headers"]): RawReply["headers"] => ({
  ...headers,
  "x-content-type-options": "nosniff",
  ...(headers["content-security-policy"] === undefined && documentType.test(headers["content-type"] ?? "")
    ? { "content-security-policy": closedPolicy }
    : {})
})

/** Writes a reply. `open`: its place on the connection; `rest`: of a request whose body may not have ended. */
export const write = (response: ServerResponse, reply: RawReply, open: OpenReply, rest?: Rest): void => {
  const unread = rest === undefined || rest.request.complete ? undefined : rest
  if (!isWhole(reply.body)) return stream(response, reply, reply.body, open, unread)
  if (unread !== undefined) return refuse(response, reply, unread)
  if (response.destroyed) return
  const length = Buffer.byteLength(reply.body)
  const bodiless = reply.status === 204 || reply.status === 304
  response.writeHead(reply.status, {
    ...withProtection(reply.headers),
    ...(bodiless ? {} : { "content-length": String(length) })
  })
  response.end(bodiless ? undefined : hasLetters(reply.headers) ? Buffer.from(reply.body) : reply.body)
}

const beyondAscii = /[^\0-\x7f]/

/**
 * Whether headers have letters beyond ASCII, as those that a provider sent may: node writes them as the bytes that they are,
 * except before a text, with which it encodes them in UTF-8.
 */
const hasLetters = (headers: RawReply["headers"]): boolean => {
  for (const name in headers) if (beyondAscii.test(headers[name] ?? "")) return true
  return false
}
const noBytes = new Uint8Array()

/** Answers before the request has ended, and closes the connection when it has. */
export const refuse = (response: ServerResponse, { body, headers, status }: RawReply, rest: Rest): void => {
  if (response.destroyed || !isWhole(body)) return
  response.writeHead(status, closing(headers, body))
  response.write(body)
  afterRest(rest, () => response.end())
}

const closing = (headers: RawReply["headers"], body: string | Uint8Array): RawReply["headers"] => ({
  ...withProtection(headers),
  "content-length": String(Buffer.byteLength(body)),
  connection: "close"
})

/** Answers on a socket that is no longer node:http's, and ends it. `done`: when the answer is written. */
export const answerSocket = (socket: Duplex, { body, headers, status }: RawReply, done?: () => void): void => {
  const text = typeof body === "string" ? body : ""
  const lines = Object.entries(closing(headers, text)).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Refused"}\r\n${lines.join("")}\r\n${text}`, done)
}

/** Answers a request that asked for another protocol, and closes its connection. */
export const refuseUpgrade = (socket: Duplex, reply: RawReply): void =>
  answerSocket(socket, reply, () => socket.destroy())

export const isWhole = (body: RawReply["body"]): body is string | Uint8Array =>
  typeof body === "string" || body instanceof Uint8Array

/**
 * Streams a body, as fast as the client reads it. A body that fails ends the connection without its last chunk. A
 * request that has not ended may continue meanwhile.
 */
const stream = (
  response: ServerResponse,
  { headers, status }: RawReply,
  { cancel, pieces }: StreamedBody,
  open: OpenReply,
  rest: Rest | undefined
): void => {
  if (response.destroyed) return cancel()
  // Cancels at once when the client disconnects, instead of at the next chunk.
  open.onEnd(cancel)
  response.writeHead(status, withProtection(headers))
  // Sends the head now, and its letters as the bytes that they are, as `flushHeaders` does not.
  response.write(noBytes)
  const end = (): void => {
    if (rest === undefined) return void response.end()
    // At the end of the response node closes such a connection, and bytes that still arrive would reset it.
    if (!response.shouldKeepAlive) return afterRest(rest, () => response.end())
    response.end()
    // The connection stays open if the client ends the request soon.
    afterRest(rest, (ended) => ended || rest.request.socket.destroy())
  }
  pour(pieces, response, open).then(
    () => open.hasEnded || end(),
    () => response.destroy()
  )
}

/** Writes the pieces one after the other, until they end or the reply does. */
const pour = async (pieces: AsyncIterable<Uint8Array>, response: ServerResponse, open: OpenReply): Promise<void> => {
  let proceed: () => void = () => undefined
  open.onEnd(() => proceed())
  for await (const piece of pieces) {
    if (open.hasEnded) return
    await new Promise<void>((resolve) => {
      proceed = resolve
      if (response.write(piece, () => resolve())) resolve()
    })
  }
}

/**
 * Discards the rest of an answered request: most clients send it before they read the answer, which they would lose with
 * a connection that is reset. Ends when the request has ended, when nothing comes for a while, or at a bound of time or
 * size; a client that sends more is not read meanwhile, so that it finds the answer.
 */
const afterRest = ({ forget, request }: Rest, done: (ended: boolean) => void): void => {
  forget()
  if (request.complete) return done(true)
  let ended = false
  const end = () => {
    if (ended) return
    ended = true
    clearTimeout(idle)
    clearTimeout(whole)
    done(request.complete)
  }
  const idle = setTimeout(end, Duration.toMillis(refusedBody.idle))
  const whole = setTimeout(end, Duration.toMillis(refusedBody.deadline))
  let bytes = 0
  request.on("data", (piece: Buffer) => {
    bytes += piece.length
    idle.refresh()
    if (bytes > refusedBody.bytes) request.pause()
  })
  request.once("end", end).once("close", end)
}
