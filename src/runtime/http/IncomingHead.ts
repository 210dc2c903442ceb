/** What of a request comes before its body: as the handlers read it, what is wrong with it, and the answer to bytes that are none. */
import type { IncomingMessage } from "node:http"
import type { RequestHead } from "../../http/Wire.js"
import { callerGone } from "./IncomingBody.js"

const headersOf = (request: IncomingMessage): { readonly [name: string]: string } => {
  const headers: { [name: string]: string } = {}
  for (const name in request.headers) {
    const value = request.headers[name]
    if (typeof value === "string") headers[name] = value
    else if (value !== undefined) headers[name] = value.join(", ")
  }
  return headers
}

export const headOf = (request: IncomingMessage): RequestHead => ({
  method: request.method ?? "GET",
  target: request.url ?? "/",
  headers: headersOf(request),
  remoteAddress: request.socket.remoteAddress ?? ""
})

const clientMistake = ({ code }: NodeJS.ErrnoException): readonly [status: number, reason: string, message: string] => {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return [431, "Request Header Fields Too Large", "headers larger than 32 KiB"]
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return [408, "Request Timeout", "the request took too long to come in"]
    default:
      return [400, "Bad Request", "not an HTTP request"]
  }
}

/** Checks what node:http accepts and this server does not. */
export const mistakeIn = (request: IncomingMessage): string | undefined => {
  if (request.httpVersionMajor !== 1) return "send HTTP/1.1"
  const { rawHeaders } = request
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name?.length === 4 && name.toLowerCase() === "host") hosts++
  }
  return hosts > 1 ? "the header Host must be there only once" : undefined
}

/** Explains why a body failed. */
export const brokenBy = ({ code }: NodeJS.ErrnoException): string => {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return "the request took too long to come in"
  return code === "HPE_INVALID_EOF_STATE" || code === "ECONNRESET" ? callerGone : "the body is not valid HTTP"
}

/** The whole answer to bytes that are not a valid HTTP request. */
export const malformedAnswer = (error: NodeJS.ErrnoException): string => {
  const [status, reason, message] = clientMistake(error)
  const body = JSON.stringify({
    code: "INVALID_REQUEST",
    statusCode: status,
    message,
    requestId: "req_none",
    retryable: false,
    details: []
  })
  return `HTTP/1.1 ${status} ${reason}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`
}
