/** Postgres for the nodes of one machine: its connections are divided among them, and it is migrated before they start. */
import { Clock, Context, Effect, Layer, Option, Redacted, Schedule } from "effect"
import { Schema } from "effect"
import { readReleases } from "../postgres/database/ReleaseRows.js"
import type { ServiceConfig } from "../configuration/Config.js"
import { connect, type PoolSizes } from "../postgres/database/Pools.js"
import { type DatabaseUrls, variableOf } from "../postgres/database/Roles.js"
import { rowDecoder } from "../postgres/record/Table.js"
import { Databases, layersOfNodes, WorkspaceServer } from "../program/Layers.js"
import { makeFirstStartOfNodes } from "./FirstNodes.js"
import { poolsWithin, tooFewConnections } from "./NodePlan.js"

/** What nodes need to reach Postgres. */
export interface NodePostgres {
  readonly urls: DatabaseUrls
  readonly workspaces: Option.Option<Redacted.Redacted>
  readonly pools: PoolSizes
}

/** The connections that the embedded Postgres accepts of one process; more nodes get more of them. */
const connectionsOfOne = 60
/** Above as many, the embedded one gives its nodes smaller pools. */
const mostEmbedded = 1_000
/** Kept for the superuser. */
const reserved = 5
/** The supervisor's own, while it prepares. */
const ownPools = { appConnections: 2, writerConnections: 4 }

/** How long nodes of a killed supervisor may take to end. */
const leftPatience = 6_000

/**
 * Starts or finds Postgres for the life of the scope, and prepares it: migrations, secrets, the first organisation. Fails if
 * it accepts fewer connections than so many runners and their `api` nodes need. `hasLeft`: waits for the nodes of a
 * supervisor that was killed. Returns also what a first start has created.
 */
export const openPostgres = Effect.fn("Nodes.postgres")(function* (
  config: ServiceConfig,
  runners: number,
  hasLeft: boolean
) {
  const wanted = { app: config.appConnections, writer: config.writerConnections }
  const ofEmbedded = poolsWithin(runners, wanted, mostEmbedded, true)
  const { prepared, server } = layersOfNodes(
    { ...config, ...ownPools },
    { max_connections: Math.max(connectionsOfOne, ofEmbedded.connections + reserved) }
  )
  const context = yield* Layer.build(server)
  const urls = Context.get(context, Databases)
  const workspaces = Context.get(context, WorkspaceServer)
  const accepted = yield* Effect.scoped(lookAround(urls.owner, hasLeft))
  const countsWorkspaces = Option.exists(workspaces, (url) => placeOf(url) === placeOf(urls.owner))
  const { connections, pools } =
    config.database._tag === "Embedded" ? ofEmbedded : poolsWithin(runners, wanted, accepted, countsWorkspaces)
  if (connections > accepted) return yield* tooFewConnections(runners, connections, accepted)
  const created = yield* makeFirstStartOfNodes(config).pipe(
    Effect.provide(Layer.provideMerge(prepared, Layer.succeedContext(context)))
  )
  return { postgres: { urls, workspaces, pools } satisfies NodePostgres, created }
})

// --- Private ---

/** Waits for nodes that are left, and tells how many connections Postgres accepts of svc. */
const lookAround = Effect.fnUntraced(function* (owner: Redacted.Redacted, hasLeft: boolean) {
  const sql = yield* connect(owner, {
    maxConnections: 1,
    applicationName: "svc start --nodes",
    setting: variableOf(owner, "owner")
  })
  const findLeft = Effect.map(readReleases(sql), ({ live }) => live.length)
  if (hasLeft) {
    const until = (yield* Clock.currentTimeMillis) + leftPatience
    yield* Effect.repeat(Effect.zip(findLeft, Clock.currentTimeMillis), {
      until: ([left, now]) => left === 0 || now > until,
      schedule: Schedule.spaced("100 millis")
    })
  }
  const [{ accepted } = { accepted: 0 }] = (yield* sql.unsafe(acceptedSql)).map(decodeAccepted)
  return accepted
})

const acceptedSql = `
  SELECT least(NULLIF(datconnlimit, -1), current_setting('max_connections')::int
    - current_setting('superuser_reserved_connections')::int
    - COALESCE(current_setting('reserved_connections', true)::int, 0)) AS accepted
  FROM pg_database WHERE datname = current_database()`
const decodeAccepted = rowDecoder("pg_settings", { accepted: Schema.Int })

const placeOf = (login: Redacted.Redacted): string => {
  const { hostname, port } = new URL(Redacted.value(login))
  return `${hostname}:${port || "5432"}`
}
