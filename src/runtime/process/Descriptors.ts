/** Divides the file descriptors of this process among what svc itself needs, outgoing and incoming connections. */
import { readFileSync } from "node:fs"
import { Option } from "effect"
import { egress, incomingConnections, nodePort, workspaceDb } from "../../domain/Limits.js"
import { OperatorError } from "./OperatorError.js"

/** How many connections the node may have. */
export interface DescriptorPlan {
  readonly outgoing: number
  readonly incoming: number
}

/** What of the configuration holds descriptors. */
export interface DescriptorUse {
  readonly appConnections: number
  readonly writerConnections: number
  readonly runners: number
  /** Settings of a node of a cluster. */
  readonly node: Option.Option<unknown>
}

/** Log, files, event loop, listener, broker, locks of the database, and pipes of a Postgres or runner that starts. */
const base = 64
/** Pipes of one runner, with those of the worker that computes for tenants. */
const perRunner = 8
/** The fewest connections in each direction with which a service is of use. */
const fewest = 32

/** The most files that this process may have open; `undefined` where the system does not tell. */
export const readDescriptorLimit = (): number | undefined => {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? []
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}

/** The shares of a limit. Throws an `OperatorError` with the figure that is needed if it is too low. */
export const planDescriptors = (
  { appConnections, node, runners, writerConnections }: DescriptorUse,
  limit: number | undefined = readDescriptorLimit()
): DescriptorPlan => {
  const most = { outgoing: egress.connections, incoming: incomingConnections }
  if (limit === undefined) return most
  const nodes = Option.isSome(node) ? 2 * nodePort.peers * nodePort.connections + nodePort.handshakes : 0
  const own = base + appConnections + writerConnections + workspaceDb.connectionsPerNode + perRunner * runners + nodes
  const needed = own + 2 * fewest
  if (limit < needed)
    throw new OperatorError({
      message:
        `svc needs ${needed} file descriptors with this configuration, and this process may open ${limit}: ` +
        `raise the limit (ulimit -n ${needed}, or LimitNOFILE= of its unit), best to ${own + most.outgoing + most.incoming}.`
    })
  const outgoing = Math.min(most.outgoing, Math.floor((limit - own) / 2))
  return { outgoing, incoming: Math.min(most.incoming, limit - own - outgoing) }
}
