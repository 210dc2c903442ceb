/**
 * Requests that ask for another protocol. Node hands all of them over without their body, so that those that the server
 * serves as usual, as HTTP allows, are put back.
 */
import type { IncomingMessage, Server } from "node:http"
import type { Duplex } from "node:stream"
import { headerBytes } from "../../domain/Limits.js"

const dropped = /^(?:upgrade|http2-settings|connection)$/i

/** The request without what asks for another protocol, followed by what came after its head. */
const plainRequest = ({ method = "GET", rawHeaders, url = "/" }: IncomingMessage, first: Buffer): Buffer => {
  const lines: Array<string> = []
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ""
    if (!dropped.test(name)) lines.push(`${name}: ${rawHeaders[at + 1] ?? ""}\r\n`)
  }
  return Buffer.concat([Buffer.from(`${method} ${url} HTTP/1.1\r\n${lines.join("")}\r\n`, "latin1"), first])
}

/** Serves the request as if it asked for nothing else. */
export const serveAsUsual = (server: Server, request: IncomingMessage, socket: Duplex, first: Buffer): void => {
  socket.unshift(plainRequest(request, first))
  server.emit("connection", socket)
}

/**
 * Reads a socket that node:http has handed over and that is not used yet, so that its end is noticed. Returns what ends that, and
 * gives all bytes that have come. `first`: the first of them.
 */
export const readAhead = (socket: Duplex, first: Buffer): (() => Buffer) => {
  const pieces = [first]
  let bytes = first.length
  const keep = (piece: Buffer) => {
    pieces.push(piece)
    bytes += piece.length
    if (bytes > headerBytes) socket.destroy()
  }
  socket.on("data", keep)
  return () => {
    socket.off("data", keep)
    // As node:http hands it over: whoever listens next gets what comes.
    Object.assign(socket, { readableFlowing: null })
    return Buffer.concat(pieces)
  }
}

/**
 * Goes on reading a socket that node:http has handed over. While a client leaves large answers unread, node:http does not read
 * from it; once it has handed the socket over, it never begins again, and nobody would notice that the client has left.
 */
export const goOnReading = (socket: Duplex): void => {
  // No bytes: the stream learns that nothing is being read, and reads.
  socket.push("")
}

/** Whether it asks for a WebSocket. */
export const asksForWebSocket = ({ headers, method }: IncomingMessage): boolean =>
  method === "GET" && headers.upgrade?.toLowerCase() === "websocket"
