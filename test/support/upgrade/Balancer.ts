/** A balancer before nodes: follows their `/readyz`, and repeats what was refused, as docs/operate.md sets up nginx. */
import { setTimeout as sleep } from "node:timers/promises"
import type { ClusterNode } from "../cluster.js"
import { balanceConnections } from "../connectionBalancer.js"

export interface Balancer {
  /** The nodes behind it from now on. */
  readonly serve: (nodes: ReadonlyArray<ClusterNode>) => void
  readonly post: (path: string, body: object) => Promise<{ readonly status: number; readonly body: unknown }>
  /** The address for connections that last; each goes to a node that is ready. */
  readonly url: string
  readonly close: () => Promise<void>
}

/** Refusals that a proxy repeats at another server: a connection that is not accepted, and 503. */
const isRefused = (error: unknown): boolean =>
  error instanceof TypeError && /ECONNREFUSED/.test(String((error.cause as { code?: string } | undefined)?.code))

const tries = 20
/** Between two tries, and between two looks at `/readyz`, in milliseconds. */
const pauses = { again: 25, probe: 50 } as const

const isReady = ({ url }: ClusterNode): Promise<boolean> =>
  fetch(`${url}/readyz`).then(
    ({ status }) => status === 200,
    () => false
  )

export const startBalancer = async (nodes: ReadonlyArray<ClusterNode>, apiKey: string): Promise<Balancer> => {
  const stopping = new AbortController()
  const probes = new Map<ClusterNode, Promise<void>>()
  const ready = new Set<ClusterNode>()
  let all = nodes
  let turn = 0
  const next = (): ClusterNode | undefined => [...ready][turn++ % Math.max(1, ready.size)]

  /** Each node is looked at by itself: one that answers slowly delays no news of another. */
  const probe = async (node: ClusterNode) => {
    while (!stopping.signal.aborted && all.includes(node)) {
      if (await isReady(node)) ready.add(node)
      else ready.delete(node)
      await sleep(pauses.probe)
    }
    ready.delete(node)
  }
  const serve = (given: ReadonlyArray<ClusterNode>) => {
    all = given
    for (const node of given) if (!probes.has(node)) probes.set(node, probe(node))
  }
  serve(nodes)

  const connections = await balanceConnections(0, () => [...ready])

  return {
    serve,
    post: async (path, body) => {
      for (let left = tries; ; left--) {
        const node = next()
        try {
          if (node === undefined) throw new Error("no node is ready")
          const answer = await fetch(`${node.url}${path}`, {
            method: "POST",
            headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
            body: JSON.stringify(body)
          })
          const text = await answer.text()
          if (answer.status !== 503 || left === 0)
            return { status: answer.status, body: text === "" ? null : JSON.parse(text) }
        } catch (error) {
          if (left === 0 || (node !== undefined && !isRefused(error))) throw error
        }
        await sleep(pauses.again)
      }
    },
    url: connections.url,
    close: async () => {
      stopping.abort()
      await Promise.all(probes.values())
      connections.close()
    }
  }
}
