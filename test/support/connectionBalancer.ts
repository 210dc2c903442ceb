/** One address for several nodes: each connection goes to the next one that accepts it. */
import * as net from "node:net"

export interface ConnectionBalancer {
  readonly url: string
  readonly close: () => void
}

/** `port`: 0 for a free one. `serving`: the addresses of the nodes to connect to. */
export const balanceConnections = async (
  port: number,
  serving: () => ReadonlyArray<{ readonly url: string }>
): Promise<ConnectionBalancer> => {
  const open = new Set<net.Socket>()
  let turn = 0
  const pipe = (client: net.Socket, tries: number): void => {
    const nodes = serving()
    const node = nodes[(turn += 1) % nodes.length]
    if (node === undefined || tries === 0) return void client.destroy()
    const server = net.connect(Number(new URL(node.url).port), "127.0.0.1")
    const refused = () => pipe(client, tries - 1)
    server.once("error", refused)
    server.once("connect", () => {
      server.off("error", refused)
      open.add(server)
      for (const [from, to] of [
        [client, server],
        [server, client]
      ] as const) {
        from.on("error", () => undefined)
        from.once("close", () => {
          open.delete(from)
          to.destroy()
        })
        from.pipe(to)
      }
    })
  }
  const listener = net.createServer((client) => {
    open.add(client)
    client.on("error", () => undefined)
    client.once("close", () => open.delete(client))
    pipe(client, 3)
  })
  await new Promise<void>((done, fail) => listener.once("error", fail).listen(port, "127.0.0.1", done))
  const address = listener.address()
  return {
    url: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`,
    close: () => {
      listener.close()
      for (const socket of open) socket.destroy()
    }
  }
}
