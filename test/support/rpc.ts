/** A client of the typed RPC that sends what a test tells it to, well-formed or not. */
import { WebSocket } from "ws"
import { eventually } from "./eventually.js"

/** A message of the service. */
export interface RpcMessage {
  readonly _tag: string
  readonly requestId?: string
  // Each test asserts the shape that it expects.
  readonly exit?: any // oxlint-disable-line typescript/no-explicit-any
  readonly values?: any // oxlint-disable-line typescript/no-explicit-any
}

export interface RawRpc {
  /** What has come so far. */
  readonly messages: ReadonlyArray<RpcMessage>
  readonly sendText: (text: string | Buffer) => void
  readonly send: (message: object) => void
  /** Calls a method, and resolves with its value or its failure. */
  // oxlint-disable-next-line typescript/no-explicit-any -- As above.
  readonly call: (tag: string, payload?: unknown) => Promise<{ readonly value?: any; readonly failure?: any }>
  /** Opens a stream. Items are acknowledged unless `acks` is false. */
  readonly stream: (tag: string, payload?: unknown, acks?: boolean) => RpcStream
  /** Resolves with the code by which the connection was closed. */
  readonly closed: Promise<number>
  readonly socket: WebSocket
  readonly close: () => Promise<unknown>
}

export interface RpcStream {
  readonly id: string
  // oxlint-disable-next-line typescript/no-explicit-any -- As above.
  readonly items: ReadonlyArray<any>
  // oxlint-disable-next-line typescript/no-explicit-any -- As above.
  readonly ended: Promise<{ readonly value?: any; readonly failure?: any }>
}

/** The refusal of a connection. */
export interface RefusedRpc {
  readonly status: number
  readonly body: any // oxlint-disable-line typescript/no-explicit-any
}

/** In the place of an answer that a closed connection does not bring. */
const lost: RpcMessage = { _tag: "Exit", exit: { cause: { _tag: "Closed" } } }

const outcomeOf = ({ exit }: RpcMessage) =>
  exit?._tag === "Success" ? { value: exit.value } : { failure: exit?.cause?.error ?? exit?.cause }

/** Opens a connection to `baseUrl`, or resolves with its refusal. */
export const openRpc = (
  baseUrl: string,
  headers: { readonly [name: string]: string }
): Promise<RawRpc | RefusedRpc> => {
  const socket = new WebSocket(`${baseUrl.replace(/^http/, "ws")}/api/v1/rpc`, { headers, perMessageDeflate: false })
  const messages: Array<RpcMessage> = []
  const waiting = new Map<string, (message: RpcMessage) => void>()
  const streams = new Map<string, { readonly items: Array<unknown>; readonly acks: boolean }>()
  let last = 0
  const send = (message: object) => socket.send(JSON.stringify(message))
  socket.on("message", (data: Buffer) => {
    const message = JSON.parse(data.toString()) as RpcMessage
    messages.push(message)
    const { requestId = "" } = message
    if (message._tag === "Exit") {
      waiting.get(requestId)?.(message)
      waiting.delete(requestId)
    }
    const stream = streams.get(requestId)
    if (message._tag !== "Chunk" || stream === undefined) return
    stream.items.push(...message.values)
    if (stream.acks) send({ _tag: "Ack", requestId })
  })
  const exitOf = (id: string) => new Promise<RpcMessage>((resolve) => waiting.set(id, resolve))
  const request = (tag: string, payload: unknown) => {
    const id = String(++last)
    const exit = exitOf(id)
    if (socket.readyState === WebSocket.OPEN) send({ _tag: "Request", id, tag, payload, headers: [] })
    else waiting.get(id)?.(lost)
    return { id, exit }
  }
  const closed = new Promise<number>((resolve) =>
    socket.on("close", (code) => {
      for (const end of waiting.values()) end(lost)
      resolve(code)
    })
  )
  const rpc: RawRpc = {
    messages,
    socket,
    closed,
    send,
    sendText: (text) => socket.send(text, { binary: typeof text !== "string" }),
    call: (tag, payload = {}) => request(tag, payload).exit.then(outcomeOf),
    stream: (tag, payload = {}, acks = true) => {
      const items: Array<unknown> = []
      const { exit, id } = request(tag, payload)
      streams.set(id, { items, acks })
      return { id, items, ended: exit.then(outcomeOf) }
    },
    close: () => {
      socket.close()
      return closed
    }
  }
  return new Promise((resolve, reject) => {
    socket.on("open", () => resolve(rpc))
    socket.on("error", reject)
    socket.on("unexpected-response", (_, response) => {
      let text = ""
      response.on("data", (chunk) => (text += chunk))
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) }))
    })
  })
}

/** Opens a connection that must be accepted. */
export const connectRpc = async (baseUrl: string, key: string, headers: { readonly [name: string]: string } = {}) => {
  const opened = await openRpc(baseUrl, { authorization: `Bearer ${key}`, ...headers })
  if (!("call" in opened)) throw new Error(`refused with ${opened.status}: ${JSON.stringify(opened.body)}`)
  return opened
}

/** Waits until an item of the stream is found. */
export const itemOf = (stream: RpcStream, isFound: (item: RpcStream["items"][number]) => boolean) =>
  eventually(
    async () => stream.items.find(isFound),
    (found) => found !== undefined
  )
