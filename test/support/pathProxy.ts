/**
 * A proxy before a server, whose path can be slow, or go silent in one direction or in both: no byte passes, and nothing is
 * closed. It stands before Postgres, a NATS server, or the port at which other nodes reach one.
 */
import * as net from "node:net"

/** What a cut stops: what clients send, what the server answers, or both. */
export type Direction = "toServer" | "toClient" | "both"

export interface PathProxy {
  readonly port: number
  /** No byte passes in this direction from now on. New connections are accepted, and silent as well. */
  readonly cut: (direction?: Direction) => void
  /** New connections pass again. Those of before, also of during the cut, pass on as well or stay silent for ever. */
  readonly heal: (before: "resumed" | "dead") => void
  /** What arrives from now on passes so much later. */
  readonly delay: (millis: number) => void
  readonly close: () => void
}

/** Where the proxy listens, and where the server does. */
export interface PathProxyOptions {
  /** By default 127.0.0.1 and a free port. */
  readonly listen?: { readonly host: string; readonly port: number }
}

/** One direction of a connection. */
interface Half {
  readonly from: net.Socket
  readonly to: net.Socket
  /** What has not passed, with the time at which it may; `undefined` is the end of the sender's side. */
  readonly waiting: Array<{ readonly due: number; readonly bytes: Buffer | undefined }>
  isCut: boolean
  timer: NodeJS.Timeout | undefined
}

interface Pair {
  readonly toServer: Half
  readonly toClient: Half
}

const halfOf = (from: net.Socket, to: net.Socket): Half => ({ from, to, waiting: [], isCut: false, timer: undefined })

/** Passes on what is due, in order. */
const pass = (half: Half): void => {
  clearTimeout(half.timer)
  for (let [first] = half.waiting; first !== undefined && !half.isCut; [first] = half.waiting) {
    const early = first.due - performance.now()
    if (early > 0) {
      half.timer = setTimeout(pass, Math.ceil(early), half)
      return
    }
    half.waiting.shift()
    if (first.bytes === undefined) half.to.destroy()
    else half.to.write(first.bytes)
  }
}

const silence = (half: Half): void => {
  half.isCut = true
  half.from.pause()
}

const resume = (half: Half): void => {
  half.isCut = false
  half.from.resume()
  pass(half)
}

export const startPathProxy = async (serverPort: number, options: PathProxyOptions = {}): Promise<PathProxy> => {
  const pairs = new Set<Pair>()
  /** Those that stay silent for ever. */
  const dead = new Set<Pair>()
  let current: Direction | undefined
  let delayMillis = 0
  const halves = ({ toClient, toServer }: Pair, direction: Direction): ReadonlyArray<Half> =>
    direction === "both" ? [toServer, toClient] : [direction === "toServer" ? toServer : toClient]
  const server = net.createServer((client) => {
    const upstream = net.connect(serverPort, "127.0.0.1")
    for (const socket of [client, upstream]) socket.setNoDelay(true)
    const pair: Pair = { toServer: halfOf(client, upstream), toClient: halfOf(upstream, client) }
    pairs.add(pair)
    for (const half of halves(pair, "both")) {
      const arrive = (bytes: Buffer | undefined) => {
        half.waiting.push({ due: performance.now() + delayMillis, bytes })
        pass(half)
      }
      half.from.on("data", arrive)
      half.from.on("error", () => undefined)
      // A silent path does not pass the end of one side either.
      half.from.on("close", () => {
        arrive(undefined)
        if (half.to.destroyed) pairs.delete(pair)
      })
    }
    if (current !== undefined) halves(pair, current).forEach(silence)
  })
  const { host, port } = options.listen ?? { host: "127.0.0.1", port: 0 }
  await new Promise<void>((done, fail) => server.once("error", fail).listen(port, host, done))
  const address = server.address()
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    cut: (direction = "both") => {
      current = direction
      for (const pair of pairs) halves(pair, direction).forEach(silence)
    },
    heal: (before) => {
      const healed = current
      current = undefined
      if (healed === undefined) return
      for (const pair of pairs)
        if (before === "resumed") halves(pair, "both").forEach(resume)
        else {
          halves(pair, "both").forEach(silence)
          pairs.delete(pair)
          dead.add(pair)
        }
    },
    delay: (millis) => {
      delayMillis = millis
    },
    close: () => {
      server.close()
      for (const pair of [...pairs, ...dead])
        for (const half of halves(pair, "both")) {
          clearTimeout(half.timer)
          half.from.destroy()
        }
    }
  }
}

/** The settings of a node whose logins reach Postgres through a proxy: all. */
export const throughProxy = (env: Readonly<Record<string, string>>, port: number): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => {
      if (!name.includes("DATABASE_URL")) return []
      const url = new URL(value)
      url.hostname = "127.0.0.1"
      url.port = String(port)
      return [[name, url.href]]
    })
  )
