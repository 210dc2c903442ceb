/** Opens one WebSocket to the service. A refusal of the upgrade becomes the failure that the same answer of REST is. */
import { Option, Redacted, Schema } from "effect"
import { WebSocket } from "ws"
import { type Failures, localRefusal, type RpcFailure, ServiceFailure, unexpectedAnswer } from "./Failures.js"

/** An open connection. */
export interface RpcSocket {
  readonly send: (text: string) => void
  readonly close: (code: number) => void
  /** Closes it at once, without waiting for the service. */
  readonly drop: () => void
}

/** What a connection tells: either `onFailed`, or `onOpen`, frames, and `onClose` once. */
export interface SocketListener {
  readonly onFailed: (attempt: FailedAttempt) => void
  readonly onOpen: (socket: RpcSocket) => void
  readonly onFrame: (text: string) => void
  readonly onClose: (code: number) => void
}

/** Why there is no connection. `failure`: of a refusal; absent: the service was not reached. */
export interface FailedAttempt {
  readonly reason: string
  readonly failure?: RpcFailure
  /** Trying again would be refused again. */
  readonly isFinal: boolean
  /** The service asks to wait so long, in milliseconds. */
  readonly wait?: number
}

interface Refusal {
  readonly status: number
  readonly retryAfter: string | undefined
  readonly text: string
}

/** More than the service sends in a frame. */
const longestFrame = 16 * 1_048_576
const longestRefusal = 65_536
const handshakeMillis = 10_000

const refusalTags: ReadonlyMap<number, { readonly tag: keyof typeof Failures; readonly isFinal: boolean }> = new Map([
  [400, { tag: "InvalidRequest", isFinal: true }],
  [401, { tag: "Unauthorized", isFinal: true }],
  [403, { tag: "Forbidden", isFinal: true }],
  [404, { tag: "NotFound", isFinal: true }],
  [429, { tag: "RateLimited", isFinal: false }],
  [503, { tag: "Unavailable", isFinal: false }]
])

const parseObject = (text: string): object => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null ? value : {}
  } catch {
    return {}
  }
}

const decodeFailure = Schema.decodeUnknownOption(ServiceFailure)

const refusedAttempt = ({ retryAfter, status, text }: Refusal): FailedAttempt => {
  const reason = `the service answered the upgrade with ${status}`
  const found = refusalTags.get(status)
  if (found === undefined)
    return status >= 500
      ? { reason, isFinal: false }
      : { reason, isFinal: true, failure: unexpectedAnswer("connect", reason) }
  const { isFinal, tag } = found
  const seconds = Number(retryAfter ?? 1)
  const wait = isFinal || !(seconds >= 0) ? undefined : seconds * 1_000
  const members = {
    ...localRefusal(tag.replaceAll(/\B[A-Z]/g, "_$&").toUpperCase(), status, reason),
    ...(wait === undefined ? {} : { retryable: true, retryAfterSeconds: wait / 1_000 })
  }
  const failure = Option.orElse(decodeFailure({ ...members, ...parseObject(text), _tag: tag }), () =>
    decodeFailure({ ...members, _tag: tag })
  )
  return {
    reason,
    isFinal,
    ...(wait === undefined ? {} : { wait }),
    ...(Option.isSome(failure) ? { failure: failure.value } : {})
  }
}

/** Connects. Returns what gives the attempt up, if it has not ended. */
export const openSocket = (
  url: string,
  headers: Redacted.Redacted<Readonly<Record<string, string>>>,
  listener: SocketListener
): (() => void) => {
  const socket = new WebSocket(url, {
    headers: Redacted.value(headers),
    handshakeTimeout: handshakeMillis,
    maxPayload: longestFrame,
    perMessageDeflate: false
  })
  let state: "connecting" | "open" | "failed" = "connecting"
  const fail = (attempt: FailedAttempt) => {
    if (state !== "connecting") return
    state = "failed"
    listener.onFailed(attempt)
    socket.terminate()
  }
  socket.on("unexpected-response", (_request, response) => {
    let text = ""
    const answer = () =>
      fail(refusedAttempt({ status: response.statusCode ?? 0, retryAfter: response.headers["retry-after"], text }))
    response.setEncoding("utf8")
    response.on("data", (part: string) => {
      if (text.length + part.length <= longestRefusal) text += part
      else answer()
    })
    response.on("end", answer)
    response.on("close", answer)
  })
  socket.on("open", () => {
    state = "open"
    listener.onOpen({
      send: (text) => socket.send(text),
      close: (code) => socket.close(code),
      drop: () => socket.terminate()
    })
  })
  // The service sends text alone.
  socket.on("message", (data, isBinary) => listener.onFrame(isBinary ? "" : String(data)))
  // After an error an open connection is closed, and its code says why.
  socket.on("error", ({ message }) => fail({ reason: `the service cannot be reached: ${message}`, isFinal: false }))
  socket.on("close", (code) => {
    if (state === "open") listener.onClose(code)
  })
  return () => fail({ reason: "the client was closed", isFinal: false })
}
