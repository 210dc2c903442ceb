/** What of a request comes before its body: as the handlers read it, what is wrong with it, and the answer to bytes that are none. */
import type { IncomingMessage } from "node:http"
import { errorReply } from "../../http/ErrorRows.js"
import type { RawReply, RequestHead } from "../../http/Wire.js"
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

/** What was wrong, in the form of errors. */
type Mistake = Parameters<typeof errorReply>[0]

const clientMistake = ({ code }: NodeJS.ErrnoException): Pick<Mistake, "status" | "message"> => {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return { status: 431, message: "headers larger than 32 KiB" }
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return { status: 408, message: "the request took too long to come in" }
    default:
      return { status: 400, message: "not an HTTP request" }
  }
}

/** Checks what this server does not accept, and what node:http would answer in a form of its own. */
export const mistakeIn = ({
  headers: { expect },
  httpVersionMajor,
  httpVersionMinor,
  rawHeaders
}: IncomingMessage): string | undefined => {
  if (httpVersionMajor !== 1) return "send HTTP/1.1"
  if (expect !== undefined && !continues.test(expect)) return "the header Expect takes 100-continue only"
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name?.length === 4 && name.toLowerCase() === "host") hosts++
  }
  if (hosts > 1) return "the header Host must be there only once"
  return hosts === 0 && httpVersionMinor > 0 ? "the header Host is missing" : undefined
}

const continues = /^\s*100-continue\s*$/i

/** Explains why a body failed. */
export const brokenBy = ({ code }: NodeJS.ErrnoException): string => {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return "the request took too long to come in"
  return code === "HPE_INVALID_EOF_STATE" || code === "ECONNRESET" ? callerGone : "the body is not valid HTTP"
}

/** The answer to bytes that are not a valid HTTP request, and so have no id. */
export const malformedAnswer = (error: NodeJS.ErrnoException): RawReply =>
  errorReply({ code: "INVALID_REQUEST", ...clientMistake(error) }, "req_none")
