/** A proxy before a NATS server that can withhold the server's confirmations of stored messages. */
import { Effect } from "effect"
import * as net from "node:net"

export interface NatsProxy {
  readonly url: string
  /** Whether confirmations are withheld from now on. */
  readonly withhold: (isWithheld: boolean) => Effect.Effect<void>
  /** How many were withheld so far. */
  readonly withheld: () => number
}

const crlf = Buffer.from("\r\n")

/** The length of the frame at the beginning of the bytes; `undefined` if it is not complete. */
const frameLength = (bytes: Buffer): number | undefined => {
  const end = bytes.indexOf(crlf)
  if (end < 0) return undefined
  const [verb = "", ...words] = bytes.subarray(0, end).toString("latin1").split(" ")
  const isMessage = verb === "MSG" || verb === "HMSG"
  const length = end + 2 + (isMessage ? Number(words.at(-1)) + 2 : 0)
  return bytes.length < length ? undefined : length
}

/** The answer to a publication, which no other answer of JetStream's API resembles. */
const isConfirmation = (frame: Buffer): boolean => /\r\n\{"stream":"[^"]*", ?"seq":\d+/.test(frame.toString("latin1"))

export const startNatsProxy = (port: number) =>
  Effect.gen(function* () {
    let isWithheld = false
    let count = 0
    const sockets = new Set<net.Socket>()
    const server = net.createServer((client) => {
      const upstream = net.connect(port, "127.0.0.1")
      for (const socket of [client, upstream]) {
        sockets.add(socket)
        socket.on("error", () => undefined)
        socket.on("close", () => {
          sockets.delete(socket)
          client.destroy()
          upstream.destroy()
        })
      }
      client.pipe(upstream)
      let rest = Buffer.alloc(0)
      upstream.on("data", (piece: Buffer) => {
        rest = Buffer.concat([rest, piece])
        for (let length = frameLength(rest); length !== undefined; length = frameLength(rest)) {
          const frame = rest.subarray(0, length)
          rest = rest.subarray(length)
          if (isWithheld && isConfirmation(frame)) count += 1
          else client.write(frame)
        }
      })
    })
    yield* Effect.acquireRelease(
      Effect.async<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () =>
        Effect.async<void>((resume) => {
          server.close(() => resume(Effect.void))
          for (const socket of sockets) socket.destroy()
        })
    )
    const address = server.address()
    const listening = typeof address === "object" && address !== null ? address.port : 0
    return {
      url: `nats://127.0.0.1:${listening}`,
      withhold: (value) =>
        Effect.sync(() => {
          isWithheld = value
        }),
      withheld: () => count
    } satisfies NatsProxy
  })
