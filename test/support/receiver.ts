/** A server that receives callbacks, keeps them, and answers as a test scripts. */
import type { AddressInfo } from "node:net"
import { createTestServer } from "./httpServer.js"

export interface Received {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly at: number
}

export interface Receiver {
  readonly url: string
  /** The requests to the path, in order. */
  readonly at: (path: string) => ReadonlyArray<Received>
  /** Scripts the answers to the next requests to this path; later requests get 200. */
  readonly answer: (
    path: string,
    ...replies: ReadonlyArray<readonly [status: number, headers?: Record<string, string>]>
  ) => void
  readonly close: () => Promise<void>
}

export const startReceiver = async (): Promise<Receiver> => {
  const received: Array<Received> = []
  const planned = new Map<string, Array<readonly [status: number, headers?: Record<string, string>]>>()
  const server = createTestServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const path = request.url ?? ""
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
      received.push({ path, headers, body: Buffer.concat(chunks).toString(), at: Date.now() })
      const [status, more] = planned.get(path)?.shift() ?? [200]
      response.writeHead(status, more).end("ok")
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  // The address of a server that listens on TCP has this type.
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    at: (path) => received.filter((one) => one.path === path),
    answer: (path, ...replies) => void planned.set(path, [...replies]),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}
