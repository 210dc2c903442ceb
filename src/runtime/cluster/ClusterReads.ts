/** The port `ClusterReads`, and the read that it shares with `svc cluster status`. */
import { Clock, Effect, Layer, Schema } from "effect"
import { type ClusterReading, ClusterReads } from "../../actors/management/run/ClusterStatus.js"
import { Ownership } from "../../actors/ports/Ownership.js"
import { countedRuns, type NodeCondition } from "../../domain/run/ClusterView.js"
import { databaseUnavailable } from "../postgres/database/DatabaseUnavailable.js"
import { WriterSql } from "../postgres/database/Pools.js"
import type { Sql } from "../postgres/database/Sql.js"
import { rowDecoder } from "../postgres/record/Table.js"
import { serviceRelease } from "../../domain/run/ServiceRelease.js"
import { heldMillis, lockClasses, NodeRow, shardCount } from "../postgres/database/NodeRow.js"

const NodeStatus = Schema.Struct({
  ...NodeRow.pick("id", "number", "role", "address", "build", "release", "isLeaving", "silentMillis", "isConnected")
    .fields,
  isStarting: Schema.Boolean,
  engines: Schema.NullOr(Schema.Array(Schema.String)),
  /** Unix milliseconds. */
  since: Schema.Number,
  shards: Schema.Int,
  runs: Schema.Int
})
/** A node with the shards and runs that it has, as `readCluster` finds it. */
export type NodeStatus = typeof NodeStatus.Type

const ClusterRow = {
  nodes: Schema.Array(NodeStatus),
  heldShards: Schema.Int,
  unfinished: Schema.Int,
  oldestUnfinishedAt: Schema.NullOr(Schema.String),
  lagMillis: Schema.Number,
  begun: Schema.Array(Schema.Struct({ engine: Schema.String, runs: Schema.Int })),
  confirmed: Schema.Int
}

const decodeCluster = rowDecoder("nodes", ClusterRow)

/**
 * The nodes, the shards whose locks they hold, and the oldest unfinished runs of the organisation `$1`. The condition and the
 * order are those of the index `runs_list`: with `org = $1 ORDER BY id` Postgres may scan the older runs of all others.
 */
const clusterSql = `
  WITH locks AS MATERIALIZED (
    SELECT pid, classid::bigint AS class, objid::bigint AS object FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 2 AND granted
      AND classid::bigint IN (${lockClasses.node}, ${lockClasses.shard})
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  ), open AS MATERIALIZED (
    SELECT shard, status, created_at, engine FROM runs WHERE org >= $1 AND org <= $1 ORDER BY org DESC, id LIMIT ${countedRuns}
  ), loads AS (SELECT shard, count(*) AS n FROM open GROUP BY shard
  ), found AS (
    SELECT n.id, n.number, n.role, n.address, n.build, n.release, n.engines, n.leaving AS "isLeaving", n.starting AS "isStarting",
      extract(epoch FROM n.started_at)::float8 * 1000 AS since,
      greatest(0, extract(epoch FROM now() - n.heartbeat_at)::float8 * 1000) AS "silentMillis",
      l.pid IS NOT NULL AS "isConnected", count(s.object)::int AS shards, COALESCE(sum(c.n), 0)::int AS runs
    FROM nodes n LEFT JOIN locks l ON l.class = ${lockClasses.node} AND l.object = n.number
    LEFT JOIN locks s ON s.class = ${lockClasses.shard} AND s.pid = l.pid LEFT JOIN loads c ON c.shard = s.object
    GROUP BY n.id, l.pid
  )
  SELECT COALESCE((SELECT json_agg(f ORDER BY f.number) FROM found f), '[]') AS nodes,
    (SELECT count(*)::int FROM locks WHERE class = ${lockClasses.shard}) AS "heldShards",
    count(*)::int AS unfinished, min(created_at) AS "oldestUnfinishedAt",
    greatest(0, COALESCE(extract(epoch FROM now() - min(created_at) FILTER (WHERE status = 'pending')), 0))::float8 * 1000
      AS "lagMillis",
    (SELECT COALESCE(json_agg(e), '[]') FROM (SELECT engine, count(*)::int AS runs FROM open GROUP BY engine) e) AS begun,
    (SELECT s.confirmed FROM service_release s) AS confirmed
  FROM open`

/** Leaves no other plan than that index, whose cost `countedRuns` bounds. */
const planSql = `SELECT set_config(name, 'off', true) FROM unnest(ARRAY['enable_seqscan', 'enable_bitmapscan', 'enable_sort',
  'enable_incremental_sort', 'jit']) AS name`

const noCluster = {
  nodes: [],
  heldShards: 0,
  unfinished: 0,
  oldestUnfinishedAt: null,
  lagMillis: 0,
  begun: [],
  confirmed: serviceRelease
}

/** Reads the cluster, with the runs of the organisation; of an empty id none. At a bounded cost: locks are in memory. */
export const readCluster = (sql: Sql, organisation: string) =>
  sql
    .withTransaction(Effect.zipRight(sql.unsafe(planSql), sql.unsafe(clusterSql, [organisation])))
    .pipe(Effect.map(([row]) => (row === undefined ? noCluster : decodeCluster(row))))

/** A node is silent once it no longer counts on its seat itself. */
export const stateOf = ({ isConnected, isLeaving, isStarting, silentMillis }: NodeStatus): NodeCondition => {
  if (!isConnected || silentMillis > heldMillis) return "silent"
  if (isStarting) return "starting"
  return isLeaving ? "leaving" : "alive"
}

/** Seconds to one decimal. */
export const secondsOf = (millis: number): number => Math.round(millis / 100) / 10

/** Enough to tell builds apart. */
export const shortBuild = (build: string): string => build.slice(0, 8)

const viewOf = (node: NodeStatus): ClusterReading["nodes"][number] => {
  const { build, engines, id, number, release, role, runs, shards, silentMillis, since } = node
  const state = stateOf(node)
  return {
    id,
    number,
    role,
    version: shortBuild(build),
    state,
    healthy: state === "alive",
    since: new Date(since).toISOString(),
    secondsSinceHeartbeat: secondsOf(silentMillis),
    shards,
    runs,
    release,
    engines
  }
}

/** The newest release of the nodes, and whether it is confirmed. */
export const releaseOf = (nodes: ReadonlyArray<Pick<NodeStatus, "release">>, confirmed: number) => {
  const newest = Math.max(0, ...nodes.map(({ release }) => release))
  return { newest, confirmed, isConfirmed: newest <= confirmed }
}

/** The id of a service that is no node of a cluster. */
export const aloneId = "alone"

/** `build`: of the program. */
export const layer = (build: () => string) =>
  Layer.effect(
    ClusterReads,
    Effect.gen(function* () {
      const sql = yield* WriterSql
      const { isAlone } = yield* Ownership
      const startedAt = yield* Clock.currentTimeMillis
      const ownBuild = yield* Effect.cached(Effect.sync(build))
      /** Rows of nodes beside a service that is alone are those of ended processes. */
      const only = (runs: number) =>
        Effect.map(ownBuild, (build): NodeStatus => ({
          id: aloneId,
          number: 1,
          role: "all",
          address: null,
          build,
          release: serviceRelease,
          engines: null,
          isLeaving: false,
          isStarting: false,
          since: startedAt,
          silentMillis: 0,
          isConnected: true,
          shards: shardCount,
          runs
        }))

      return ClusterReads.of({
        read: Effect.fn("ClusterReads.read")(function* (organisation) {
          const found = yield* Effect.mapError(readCluster(sql, organisation), databaseUnavailable)
          const { begun, confirmed, heldShards, lagMillis, oldestUnfinishedAt, unfinished } = found
          const nodes = isAlone ? [yield* only(unfinished)] : found.nodes
          return {
            nodes: nodes.map(viewOf),
            release: releaseOf(nodes, confirmed),
            begun,
            shards: { total: shardCount, unowned: isAlone ? 0 : Math.max(0, shardCount - heldShards) },
            unfinished,
            oldestUnfinishedAt,
            lagMs: Math.round(lagMillis)
          }
        })
      })
    })
  )
