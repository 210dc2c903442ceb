/** What the database says of releases: the services that run on it with theirs, and the release that is confirmed. */
import { Effect, Schema } from "effect"
import { type LiveService, type ReleaseRecord, serviceRelease } from "../../../domain/run/ServiceRelease.js"
import { lockKey as databaseLock, nodeSession } from "./DatabaseLock.js"
import type { Sql } from "./Sql.js"
import { rowDecoder } from "../record/Table.js"
import { isGone, liveness, nameOf, NodeRow } from "./NodeRow.js"

/** What a start has to know before it migrates or takes a seat. */
export interface KnownReleases {
  readonly live: ReadonlyArray<LiveService>
  readonly record: ReleaseRecord | undefined
}

const tablesSql = `SELECT to_regclass('nodes') IS NOT NULL AS nodes, to_regclass('service_release') IS NOT NULL AS record`
const decodeTables = rowDecoder("pg_class", { nodes: Schema.Boolean, record: Schema.Boolean })

/** Also on a database of a release without a number. */
const nodesSql = `
  SELECT n.role, n.address, n.build, n.process, COALESCE((to_jsonb(n) ->> 'release')::integer, 0) AS release,
    ${liveness.columns}
  FROM nodes n ${liveness.join}`
const { address, build, isConnected, process, release, role, silentMillis } = NodeRow.fields
const decodeNode = rowDecoder("nodes", { role, address, build, process, release, isConnected, silentMillis })

export const recordSql = "SELECT confirmed, engine FROM service_release"
export const decodeRecord = rowDecoder("service_release", {
  confirmed: Schema.Int,
  engine: Schema.NullOr(Schema.String)
})

/** The service that is alone, by the lock that it holds on the database. */
const aloneSql = `
  SELECT a.application_name AS name, COALESCE(s.alone, s.confirmed) AS release
  FROM service_release s, pg_locks l JOIN pg_stat_activity a USING (pid)
  WHERE l.locktype = 'advisory' AND l.granted AND l.mode = 'ExclusiveLock' AND l.objid = ${databaseLock}
    AND a.datname = current_database() AND a.application_name NOT LIKE '${nodeSession}%' LIMIT 1`
const decodeAlone = rowDecoder("service_release", { name: Schema.String, release: Schema.Int })

/** Reads them; of an empty database nothing. */
export const readReleases = Effect.fn("ReleaseRows.read")(function* (sql: Sql) {
  const [tables] = (yield* sql.unsafe(tablesSql)).map(decodeTables)
  const nodes = tables?.nodes === true ? (yield* sql.unsafe(nodesSql)).map(decodeNode) : []
  const [record] = tables?.record === true ? (yield* sql.unsafe(recordSql)).map(decodeRecord) : []
  const alone = tables?.record === true ? (yield* sql.unsafe(aloneSql)).map(decodeAlone) : []
  return {
    live: [
      ...nodes.filter((node) => !isGone(node)).map(liveServiceOf),
      ...alone.map(({ name, release }) => ({ name, release, build: null }))
    ],
    record
  } satisfies KnownReleases
})

/** Stores the release of the service that is alone. Most starts find it stored, and need no write. */
export const noteAlone = Effect.fn("ReleaseRows.noteAlone")(function* (sql: Sql) {
  const [known] = yield* sql`SELECT FROM service_release WHERE alone = ${serviceRelease}`
  if (known === undefined) yield* sql`UPDATE service_release SET alone = ${serviceRelease}`
})

/** A node as the rule of releases sees it. */
export const liveServiceOf = (node: Pick<NodeRow, "role" | "address" | "build" | "release">): LiveService => ({
  name: nameOf(node),
  release: node.release,
  build: node.build
})
