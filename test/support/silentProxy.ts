/** A proxy before a server, whose path can go silent: no byte passes in either direction, and nothing is closed. */
import * as net from "node:net"

export interface SilentProxy {
  readonly port: number
  /** No byte passes from now on. New connections are accepted, and silent as well. */
  readonly cut: () => void
  /** New connections pass again. Those of before, also of during the cut, pass on as well or stay silent for ever. */
  readonly heal: (before: "resumed" | "dead") => void
  readonly close: () => void
}

interface Pair {
  readonly sockets: readonly [net.Socket, net.Socket]
  isSilent: boolean
}

export const startSilentProxy = async (port: number): Promise<SilentProxy> => {
  const pairs = new Set<Pair>()
  let isCut = false
  const silence = (pair: Pair) => {
    pair.isSilent = true
    for (const socket of pair.sockets) socket.pause()
  }
  const server = net.createServer((client) => {
    const upstream = net.connect(port, "127.0.0.1")
    const pair: Pair = { sockets: [client, upstream], isSilent: false }
    pairs.add(pair)
    for (const [from, to] of [pair.sockets, [upstream, client] as const]) {
      from.on("data", (bytes: Buffer) => void to.write(bytes))
      from.on("error", () => undefined)
      from.on("close", () => {
        // The end of one side does not pass a silent path either.
        if (pair.isSilent) return
        to.destroy()
        pairs.delete(pair)
      })
    }
    if (isCut) silence(pair)
  })
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
  const address = server.address()
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    cut: () => {
      isCut = true
      for (const pair of pairs) silence(pair)
    },
    heal: (before) => {
      isCut = false
      if (before === "dead") return
      for (const pair of pairs) {
        const [client, upstream] = pair.sockets
        pair.isSilent = false
        // What ended meanwhile is told now.
        if (client.destroyed) upstream.destroy()
        else if (upstream.destroyed) client.destroy()
        for (const socket of pair.sockets) socket.resume()
      }
    },
    close: () => {
      server.close()
      for (const { sockets } of pairs) for (const socket of sockets) socket.destroy()
    }
  }
}
