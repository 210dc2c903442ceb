/** The nodes of a trial: each reaches Postgres and NATS, and is reached by other nodes, through proxies of its own. */
import type { ClusterNode, TestCluster } from "../cluster.js"
import { freePort } from "../freePort.js"
import { type PathProxy, startPathProxy } from "../pathProxy.js"
import type { Path } from "./Plan.js"

export interface TrialNode {
  readonly name: string
  readonly role: "api" | "runner"
  readonly node: ClusterNode
  readonly paths: Readonly<Record<Path, PathProxy>>
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

/** Starts nodes of the cluster. `natsPort`: of the NATS server. */
export const makeStarter = (cluster: TestCluster, natsPort: number) => {
  let started = 0
  const postgresPort = Number(new URL(cluster.env["SVC_DATABASE_URL_OWNER"] ?? "").port)
  /** Resolves when the node is ready. */
  return async (role: TrialNode["role"]): Promise<TrialNode> => {
    const name = `${role}-${(started += 1)}`
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
          SVC_NODE_LISTEN: "127.0.0.1"
        }
      })
      void node.ended.then(closeAll)
      return { name, role, node, paths, isHit: false, isGone: false, stoppedAt: undefined, frozen: [] }
    } catch (error) {
      closeAll()
      throw error
    }
  }
}
