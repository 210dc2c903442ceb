/** A provider on plain sockets: it sends what no HTTP library would send, and keeps every request byte for byte. */
import { createServer, type Socket } from "node:net"
import type { AddressInfo } from "node:net"
import { constants, createGzip } from "node:zlib"

export interface MisbehavingProvider {
  readonly url: string
  readonly port: number
  /** The heads of the requests, byte for byte, each with the body of the length in content-length. */
  readonly requests: ReadonlyArray<{ readonly head: string; readonly at: number }>
  /** The number of connections so far. */
  readonly connections: () => number
  readonly close: () => Promise<void>
}

/** Answers one request. `nth`: its number among the requests to the target, from 1. */
export type Reply = (socket: Socket, target: string, nth: number) => void

/** Answers each request by `reply`, one at a time on a connection. Without `reply` it never answers. */
export const startMisbehavingProvider = async (reply: Reply = () => undefined): Promise<MisbehavingProvider> => {
  const requests: Array<{ readonly head: string; readonly at: number }> = []
  const sockets = new Set<Socket>()
  const seen = new Map<string, number>()
  let connections = 0
  const server = createServer((socket) => {
    connections++
    sockets.add(socket)
    let held = ""
    socket.on("error", () => undefined)
    socket.on("close", () => sockets.delete(socket))
    socket.on("data", (chunk) => {
      held += chunk.toString("latin1")
      for (;;) {
        const end = held.indexOf("\r\n\r\n")
        const length = Number(/\r\ncontent-length: (\d+)/i.exec(held.slice(0, end))?.[1] ?? 0)
        if (end < 0 || held.length < end + 4 + length) return
        const head = held.slice(0, end)
        held = held.slice(end + 4 + length)
        const target = head.split(" ")[1] ?? ""
        const nth = (seen.get(target) ?? 0) + 1
        seen.set(target, nth)
        requests.push({ head, at: Date.now() })
        reply(socket, target, nth)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    requests,
    connections: () => connections,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      })
  }
}

/** A complete, well-formed answer. */
export const answer = (
  socket: Socket,
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = { "content-type": "application/json" }
) => {
  const lines = Object.entries({ ...headers, "content-length": String(Buffer.byteLength(body)) })
  socket.write(`HTTP/1.1 ${status} X\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`)
}

const json = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"

/** Sends bytes until the other side closes the connection. */
const pour = (socket: Socket, block: Buffer) => {
  const more = () => {
    while (!socket.destroyed && socket.write(block)) {
      /* until it is full */
    }
  }
  socket.on("drain", more)
  more()
}

/** The ways to misbehave, by name. */
export const misbehaviours: Readonly<Record<string, Reply>> = {
  busyForSeconds: (socket) => answer(socket, 429, "{}", { "content-type": "application/json", "retry-after": "3" }),
  broken: (socket) => answer(socket, 500, '{"error":{"message":"It broke","code":"oops"}}'),
  html: (socket) => answer(socket, 200, "<!doctype html><title>Log in</title>", { "content-type": "text/html" }),
  gateway: (socket) =>
    answer(socket, 502, "<html><head><title>502 Bad Gateway</title></head></html>", { "content-type": "text/html" }),
  notJson: (socket) => answer(socket, 200, "{nearly", { "content-type": "application/json" }),
  reset: (socket) => void socket.resetAndDestroy(),
  closed: (socket) => void socket.end(),
  silent: () => undefined,
  drip: (socket) => {
    socket.write(`${json}transfer-encoding: chunked\r\n\r\n`)
    const timer = setInterval(() => socket.write("1\r\n \r\n"), 250)
    socket.on("close", () => clearInterval(timer))
  },
  dripHead: (socket) => {
    socket.write("HTTP/1.1 200 OK\r\nx-a: ")
    const timer = setInterval(() => socket.write("x"), 250)
    socket.on("close", () => clearInterval(timer))
  },
  endless: (socket) => {
    socket.write(`${json}\r\n`)
    pour(socket, Buffer.alloc(256 * 1024, "a"))
  },
  bomb: (socket) => {
    socket.write(`${json}content-encoding: gzip\r\n\r\n`)
    const zeros = Buffer.alloc(1024 * 1024)
    const gzip = createGzip({ level: constants.Z_BEST_SPEED })
    const more = () => {
      while (!socket.destroyed && gzip.write(zeros)) {
        /* until it is full */
      }
    }
    gzip.on("drain", more).pipe(socket)
    socket.on("close", () => gzip.destroy())
    more()
  },
  tooShort: (socket) => void socket.end(`${json}content-length: 100\r\n\r\n{"a":1}`),
  twoLengths: (socket) => void socket.end(`${json}content-length: 7\r\ncontent-length: 9\r\n\r\n{"a":1}`),
  loop: (socket, target) => void socket.write(`HTTP/1.1 302 X\r\nlocation: ${target}\r\ncontent-length: 0\r\n\r\n`),
  headers: (socket) => void socket.write(`${json}${"a: b\r\n".repeat(10_000)}content-length: 2\r\n\r\n{}`),
  notHttp: (socket) => void socket.end("\u0000\u0001 hello\r\n\r\n"),
  errorInside: (socket) => answer(socket, 200, '{"ok":false,"error":{"code":"no_such_room","message":"No such room"}}')
}
