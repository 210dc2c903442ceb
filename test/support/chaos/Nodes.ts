/**
 * The nodes of a trial: each reaches Postgres and NATS, and is reached by other nodes, through proxies of its own, and has a
 * clock of its own.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import type { ClusterNode, TestCluster } from "../cluster.js"
import { freePort } from "../freePort.js"
import { type PathProxy, startPathProxy } from "../pathProxy.js"
import type { Release } from "../release.js"
import type { Build, Path } from "./Plan.js"

export interface TrialNode {
  readonly name: string
  readonly role: "api" | "runner"
  readonly build: Build
  readonly node: ClusterNode
  readonly paths: Readonly<Record<Path, PathProxy>>
  /** Sets its clock so much ahead of what it was at its start. */
  readonly setClock: (byMillis: number) => void
  /** A fault holds it; another one waits until this one is over. */
  isHit: boolean
  /** It was killed, or asked to stop. */
  isGone: boolean
  /** When it was asked to stop, in Unix milliseconds: it answers what it had accepted. */
  stoppedAt: number | undefined
  /** When it was frozen, and woke, in Unix milliseconds. */
  readonly frozen: Array<{ readonly from: number; until: number }>
}

/** The address at which other nodes reach one: the proxy listens there, and the node at the same port of 127.0.0.1. */
const outside = "127.0.0.2"

/** The variables with every login through the proxy. */
const loginsThrough = (env: Readonly<Record<string, string>>, port: number): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => {
      if (!name.includes("DATABASE_URL")) return []
      const url = new URL(value)
      url.hostname = "127.0.0.1"
      url.port = String(port)
      return [[name, url.href]]
    })
  )

/** The clock of a process: the machine's, and so much more as the file says. */
const clockOf = (file: string): string =>
  `--import=data:text/javascript,${encodeURIComponent(`
    const fs = process.getBuiltinModule("node:fs")
    const Real = Date
    let by = 0
    const read = () => { try { by = Number(fs.readFileSync(${JSON.stringify(file)}, "utf8")) } catch {} }
    const now = () => Real.now() + by
    read()
    setInterval(read, 50).unref()
    globalThis.Date = new Proxy(Real, {
      construct: (of, words, as) => Reflect.construct(of, words.length === 0 ? [now()] : words, as),
      get: (of, name) => (name === "now" ? now : Reflect.get(of, name))
    })`)}`

interface StarterOptions {
  readonly postgresPort: number
  readonly natsPort: number
  /** The build of the next release. */
  readonly next: Release
  /** Where the clocks are kept. */
  readonly directory: string
}

/** How far the clocks of the nodes are ahead, in the order of their starts: those of two runners are ten minutes apart. */
const clocks: ReadonlyArray<number> = [0, 300_000, -300_000, 0]

export type StartNode = (role: TrialNode["role"], build: Build) => Promise<TrialNode>

/** Starts nodes of the cluster. Each resolves when the node is ready. */
export const makeStarter = (
  cluster: TestCluster,
  { directory, natsPort, next, postgresPort }: StarterOptions
): StartNode => {
  let started = 0
  return async (role, build) => {
    const number = (started += 1)
    const name = `${role}-${number}`
    const clock = path.join(directory, `clock-${number}`)
    const setClock = (byMillis: number) => {
      // Renamed, so that a node reads no part of a number.
      fs.writeFileSync(`${clock}.new`, String((clocks[number % clocks.length] ?? 0) + byMillis))
      fs.renameSync(`${clock}.new`, clock)
    }
    setClock(0)
    const port = await freePort()
    const paths = {
      postgres: await startPathProxy(postgresPort),
      nats: await startPathProxy(natsPort),
      nodes: await startPathProxy(port, { listen: { host: outside, port } })
    }
    const closeAll = () => Object.values(paths).forEach(({ close }) => close())
    try {
      const node = await cluster.start({
        env: {
          ...loginsThrough(cluster.env, paths.postgres.port),
          SVC_ROLE: role,
          SVC_NATS_URL: `nats://127.0.0.1:${paths.nats.port}`,
          SVC_NODE_ADDRESS: `${outside}:${port}`,
          SVC_NODE_LISTEN: "127.0.0.1",
          NODE_OPTIONS: clockOf(clock)
        },
        ...(build === "next" ? { release: next.program } : {})
      })
      void node.ended.then(closeAll)
      return {
        name,
        role,
        build,
        node,
        paths,
        setClock,
        isHit: false,
        isGone: false,
        stoppedAt: undefined,
        frozen: []
      }
    } catch (error) {
      closeAll()
      throw error
    }
  }
}
