/** A system that workflows call: it answers after a millisecond and records the requests. */
import { type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { createTestServer } from "./httpServer.js"

export interface Request {
  readonly method: string
  readonly url: string
  readonly key: string | undefined
  /** Unix milliseconds. */
  readonly at: number
  readonly headers: IncomingMessage["headers"]
  readonly body: string
}

export interface Provider {
  readonly url: string
  readonly requests: ReadonlyArray<Request>
  readonly close: () => Promise<void>
}

type Answer = (request: Request, response: ServerResponse) => void

const ok: Answer = (request, response) => {
  setTimeout(() => {
    response.setHeader("content-type", "application/json")
    response.end(JSON.stringify({ url: request.url }))
  }, 1)
}

export const startProvider = async (answer: Answer = ok): Promise<Provider> => {
  const requests: Array<Request> = []
  const server: Server = createTestServer((incoming, response) => {
    let body = ""
    incoming.setEncoding("utf8").on("data", (text: string) => {
      body += text
    })
    incoming.on("end", () => {
      const key = incoming.headers["idempotency-key"]
      const request = {
        method: incoming.method ?? "",
        url: incoming.url ?? "",
        key: typeof key === "string" ? key : undefined,
        at: Date.now(),
        headers: incoming.headers,
        body
      }
      requests.push(request)
      answer(request, response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}
