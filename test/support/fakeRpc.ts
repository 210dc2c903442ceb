/** A service of the typed RPC that answers as a test tells it to, and breaks off, stalls or refuses connections. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { type WebSocket, WebSocketServer } from "ws"

/** A request that the service has received. `connection`: the number of its connection, from 1 on. */
export interface FakeRequest {
  readonly connection: number
  readonly id: string
  readonly tag: string
  // oxlint-disable-next-line typescript/no-explicit-any -- Each test asserts the payload that it expects.
  readonly payload: any
  readonly succeed: (value: unknown) => void
  readonly fail: (error: object) => void
  readonly chunk: (...values: ReadonlyArray<unknown>) => void
  readonly socket: WebSocket
}

/** An HTTP answer instead of a connection. */
export interface FakeRefusal {
  readonly status: number
  readonly headers?: string
  readonly body?: string
}

export interface FakeRpc {
  readonly url: string
  readonly requests: ReadonlyArray<FakeRequest>
  /** Messages that are no requests, with the number of their connection. */
  readonly messages: ReadonlyArray<{ readonly connection: number; readonly _tag: string; readonly requestId?: string }>
  readonly headers: ReadonlyArray<NodeJS.Dict<string | Array<string>>>
  readonly sockets: ReadonlyArray<WebSocket>
  /** Answers no ping from now on. */
  stall: () => void
  readonly close: () => Promise<void>
}

/** Starts one. `answer`: of each request. `refuse`: of the nth attempt to connect, from 1 on. */
export const startFakeRpc = async (
  answer: (request: FakeRequest) => void,
  refuse: (nth: number) => FakeRefusal | undefined = () => undefined
): Promise<FakeRpc> => {
  const server = createServer()
  const sockets = new WebSocketServer({ noServer: true })
  const requests: Array<FakeRequest> = []
  const messages: Array<FakeRpc["messages"][number]> = []
  const headers: Array<NodeJS.Dict<string | Array<string>>> = []
  const opened: Array<WebSocket> = []
  let attempts = 0
  let isStalled = false

  const serve = (socket: WebSocket) => {
    const connection = opened.push(socket)
    socket.on("error", () => {})
    socket.on("message", (data) => {
      const message = JSON.parse(String(data))
      const send = (reply: object) => socket.send(JSON.stringify(reply))
      if (message._tag === "Ping" && !isStalled) send({ _tag: "Pong" })
      if (message._tag !== "Request") return void messages.push({ connection, ...message })
      const { id, payload, tag } = message
      const exit = (exit: object) => send({ _tag: "Exit", requestId: id, exit })
      const request: FakeRequest = {
        connection,
        id,
        tag,
        payload,
        socket,
        succeed: (value) => exit({ _tag: "Success", value }),
        fail: (error) => exit({ _tag: "Failure", cause: { _tag: "Fail", error } }),
        chunk: (...values) => send({ _tag: "Chunk", requestId: id, values })
      }
      requests.push(request)
      answer(request)
    })
  }

  server.on("upgrade", (request, socket, head) => {
    headers.push(request.headers)
    const refusal = refuse((attempts += 1))
    if (refusal === undefined) return sockets.handleUpgrade(request, socket, head, serve)
    const { body = "", headers: more = "", status } = refusal
    socket.end(
      `HTTP/1.1 ${status} Refused\r\n${more}content-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`
    )
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    messages,
    headers,
    sockets: opened,
    stall: () => {
      isStalled = true
    },
    close: () => {
      for (const socket of opened) socket.terminate()
      return new Promise((resolve) => server.close(() => resolve()))
    }
  }
}
