/** A port for a process of a test. */
import { randomInt } from "node:crypto"
import * as net from "node:net"

/** Below those that systems give to outgoing connections, one of which would take the port before the process listens. */
const [least, most] = [20_000, 32_000]

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = net.createServer()
    server.once("error", () => resolve(false))
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)))
  })

/** A free port of 127.0.0.1 that stays free until somebody asks for it by its number. */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = randomInt(least, most)
    if (await isFree(port)) return port
  }
}
