/** A node of a cluster, as its row says. */
import { Schema } from "effect"
import { NodeRole } from "../../../domain/run/ClusterView.js"
import { rowDecoder } from "../record/Table.js"

export const NodeRow = Schema.Struct({
  id: Schema.String,
  number: Schema.Int,
  role: NodeRole,
  address: Schema.NullOr(Schema.String),
  build: Schema.String,
  /** The number of its service release. */
  release: Schema.Int,
  /** The sandbox engines of its build, the current one first. */
  engines: Schema.Array(Schema.String),
  secrets: Schema.Array(Schema.String),
  process: Schema.String,
  /** It gives its shards to the others, and ends; or it starts, and has none yet. */
  isLeaving: Schema.Boolean,
  /** Since its last heartbeat, in Postgres' time. */
  silentMillis: Schema.Number,
  /** Its session lives, and with it the locks that it holds. */
  isConnected: Schema.Boolean
})

export type NodeRow = typeof NodeRow.Type

export const decodeNode = rowDecoder("nodes", NodeRow)

/** The class of the lock that a node holds on its number, and of those that it holds on shards. */
export const lockClasses = { node: 1_937_137_968, shard: 1_937_137_969 } as const

/** The columns that tell whether a node `n` is gone, and their tables. */
export const liveness = {
  columns: `extract(epoch FROM now() - n.heartbeat_at)::float8 * 1000 AS "silentMillis", l.objid IS NOT NULL AS "isConnected"`,
  join: `LEFT JOIN (
    SELECT DISTINCT objid::bigint AS objid FROM pg_locks
    WHERE locktype = 'advisory' AND classid::bigint = ${lockClasses.node} AND objsubid = 2 AND granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  ) l ON l.objid = n.number`
} as const

/** All nodes with a row. A node whose process is frozen keeps its session, and is silent. */
export const membersSql = `
  SELECT n.id, n.number, n.role, n.address, n.build, n.release, n.engines, n.secrets, n.process,
    n.leaving AS "isLeaving", ${liveness.columns}
  FROM nodes n ${liveness.join}`

/** How many shards there are, on every node. */
export const shardCount = 300

/** A node counts on its seat for this long after its last answered sign of life, sent. */
export const heldMillis = 3_000
/** A node that is silent for longer has lost its seat. Longer than `heldMillis`: it knows before. */
export const silenceLimitMillis = 5_000

/** Whether the node has lost its seat, so that others may take its shards. */
export const isGone = ({ isConnected, silentMillis }: Pick<NodeRow, "isConnected" | "silentMillis">): boolean =>
  !isConnected || silentMillis > silenceLimitMillis

/** Whether it holds shards and answers messages to their owners. */
export const holdsShards = ({ role }: NodeRow): boolean => role !== "api"

/** Whether it serves the requests of clients. */
export const servesRequests = ({ role }: NodeRow): boolean => role !== "runner"

/** A node, for its operator. */
export const nameOf = ({ address, role }: Pick<NodeRow, "address" | "role">): string =>
  address === null ? role : `${role} at ${address}`
