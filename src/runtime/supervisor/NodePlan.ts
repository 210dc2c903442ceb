/** Which nodes one machine runs, and what each of them gets of its cores, its memory and the connections to Postgres. */
import { workspaceDb } from "../../domain/Limits.js"
import type { PoolSizes } from "../postgres/database/Pools.js"
import { OperatorError } from "../process/OperatorError.js"

export interface PlannedNode {
  /** Such as `runner-1`: in the log, and the name of its directory. */
  readonly name: string
  readonly role: "api" | "runner"
}

/** What of the configuration is divided among the nodes. Memory in MiB. */
export interface Divisible {
  readonly runners: number
  readonly guestMemory: number
  readonly heldMemory: number
}

const mostRunners = 64
const runnersPerApi = 3
/** Below as many cores one process uses the machine as well. */
const fewestCores = 4
/** Memory with which a node serves at its limits. */
const nodeMemory = 1_024 * 1_048_576

/** The number that follows `--nodes`; throws an `OperatorError` unless it is one. */
export const parseNodeCount = (text: string): number | "auto" => {
  if (text === "auto") return text
  if (/^[1-9]\d?$/.test(text) && Number(text) <= mostRunners) return Number(text)
  throw new OperatorError({
    message: `--nodes takes a number of runner nodes from 1 to ${mostRunners}, or auto, and not ${JSON.stringify(text)}.`
  })
}

/** The runners of `--nodes auto`; 0: one process without nodes. `memory` in bytes. */
export const runnersFor = (cores: number, memory: number): number => {
  if (cores < fewestCores) return 0
  let runners = Math.min(mostRunners, Math.floor(cores / 2))
  while (runners > 0 && neededMemory(runners) > memory) runners -= 1
  return runners
}

/** Memory with which so many runners and their `api` nodes serve at their limits, in bytes. */
export const neededMemory = (runners: number): number => (runners + apiNodes(runners)) * nodeMemory

/** The nodes in the order in which they start: the first two already serve requests. */
export const plannedNodes = (runners: number): ReadonlyArray<PlannedNode> => {
  const nodes = (role: PlannedNode["role"], count: number) =>
    Array.from({ length: count }, (_, at): PlannedNode => ({ name: `${role}-${at + 1}`, role }))
  const [api = [], work = []] = [nodes("api", apiNodes(runners)), nodes("runner", runners)]
  return [...api.slice(0, 1), ...work, ...api.slice(1)]
}

/** What a node gets: bodies are held by all nodes, guests run on runners alone. */
export const shareOf = (
  { role }: PlannedNode,
  { guestMemory, heldMemory, runners: guests }: Divisible,
  runners: number
) => ({
  runners: role === "runner" ? Math.max(1, Math.floor(guests / runners)) : 1,
  guestMemory: Math.max(leastGuestMemory, role === "runner" ? Math.floor(guestMemory / runners) : 0),
  heldMemory: Math.max(leastHeldMemory, Math.floor(heldMemory / (runners + apiNodes(runners))))
})

/**
 * The largest pools, up to `wanted`, with which all nodes and one more, which takes the place of another at a restart, stay
 * below `capacity`. `countsWorkspaces`: the sessions of `svc.db` are on the same server.
 */
export const poolsWithin = (
  runners: number,
  wanted: PoolSizes,
  capacity: number,
  countsWorkspaces: boolean
): { readonly pools: PoolSizes; readonly connections: number } => {
  const needed = (pools: PoolSizes) => connectionsOf(runners, pools, countsWorkspaces)
  let pools = wanted
  while (needed(pools) > capacity && (pools.app > leastPools.app || pools.writer > leastPools.writer))
    pools = {
      app: Math.min(pools.app, Math.max(leastPools.app, pools.app - 1)),
      writer: Math.min(pools.writer, Math.max(leastPools.writer, pools.writer - 1))
    }
  return { pools, connections: needed(pools) }
}

/** The refusal if Postgres accepts fewer connections than these nodes need. */
export const tooFewConnections = (runners: number, needed: number, accepted: number): OperatorError =>
  new OperatorError({
    message:
      `Postgres accepts ${accepted} connections, and ${runners} runner and ${apiNodes(runners)} api nodes need ${needed}: ` +
      "raise max_connections, or start fewer nodes."
  })

// --- Private ---

/** At least those of the settings. */
const leastGuestMemory = 256
const leastHeldMemory = 64
const leastPools = { app: 2, writer: 4 }
/** The seat, the journal, maintenance and listeners of a node. */
const besidePools = 6
/** The supervisor's own, those of commands, and what Postgres needs itself. */
const besideNodes = 10

const apiNodes = (runners: number): number => Math.ceil(runners / runnersPerApi)

const connectionsOf = (runners: number, { app, writer }: PoolSizes, countsWorkspaces: boolean): number => {
  const node = app + writer + besidePools
  const workspaces = countsWorkspaces ? workspaceDb.connectionsPerNode : 0
  return besideNodes + (runners + 1) * (node + workspaces) + apiNodes(runners) * node
}
