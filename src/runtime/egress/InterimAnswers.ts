/**
 * Makes undici skip `100 Continue`, which servers and proxies also send when it was not asked for. undici skips every
 * other interim answer (RFC 9110, section 15.2), but closes the connection at this one, though the answer follows it.
 */
import type { Socket } from "node:net"
import type { Connector } from "./Connect.js"

/** The connector, whose connections take `100` as undici takes `102`. */
export const skippingContinue =
  (connect: Connector): Connector =>
  (target, callback) =>
    connect(target, (...[error, socket]) => {
      if (error !== null) return callback(error, null)
      // undici makes the parser of the connection in this call.
      callback(null, socket)
      const parser = parserOf(socket)
      if (parser === undefined) return
      const onHeadersComplete = parser.onHeadersComplete.bind(parser)
      parser.onHeadersComplete = (status, ...rest) => onHeadersComplete(status === 100 ? 102 : status, ...rest)
    })

/** undici's parser of one connection. */
interface Parser {
  onHeadersComplete: (status: number, upgrade: boolean, shouldKeepAlive: boolean) => number
}

/** The parser, which undici keeps at the socket under a symbol of its own; none if the connection is closed already. */
const parserOf = (socket: Socket): Parser | undefined => {
  const key = Object.getOwnPropertySymbols(socket).find(({ description }) => description === "parser")
  return key === undefined ? undefined : ((Reflect.get(socket, key) as Parser | null) ?? undefined)
}
