/**
 * Manages the databases of workspaces on one Postgres server: a template with the walls, and for each workspace, from
 * its first use, a copy with a login. Databases that are empty and idle are dropped. Several processes may do this at
 * once.
 */
import { Duration, Redacted } from "effect"
import { type Client, type ClientConfig, Pool } from "pg"
import { limitAnswers } from "../postgres/database/pool/AnswerLimit.js"
import type { OpenSockets } from "../postgres/database/pool/OpenSockets.js"
import { type DatabaseNames, databaseNamesOf } from "./DatabaseNames.js"
import { makeDatabaseSetup, canarySpace, withClient } from "./DatabaseSetup.js"

export interface WorkspaceDatabasesOptions {
  /** An administrator's login to the server; it manages the others while connected to the database in its path. */
  readonly admin: Redacted.Redacted
  /** The names and passwords of the logins are derived from it. */
  readonly pepper: Redacted.Redacted
  /** The longest wait for a login. */
  readonly connectTimeout: Duration.Duration
  /** Makes the sockets of all connections. */
  readonly sockets?: OpenSockets["Type"] | undefined
}

export interface WorkspaceDatabases {
  /** How to connect to a workspace's database with its login. Creates both if they do not exist. */
  readonly reach: (spaceId: string) => Promise<ClientConfig>
  /** Makes the next `reach` check again whether database and login exist. */
  readonly forget: (spaceId: string) => void
  /** Bytes of each workspace's database beyond an empty one; workspaces without a database are left out. */
  readonly sizes: <Id extends string>(spaceIds: ReadonlyArray<Id>) => Promise<ReadonlyMap<Id, number>>
  /** Ends these sessions of workspaces; with `writers`, only those that have written in their open transaction. */
  readonly terminate: (pids: ReadonlyArray<number>, which: "all" | "writers") => Promise<void>
  /** The status of a transaction: `committed`, `aborted`, `in progress`, or `null` if it is too old. */
  readonly outcome: (xid: string) => Promise<string | null>
  /** Drops empty databases, unless `isUsed`, and returns how many. */
  readonly dropEmpty: (isUsed: (database: string) => boolean) => Promise<number>
  /** The name of a workspace's database. */
  readonly databaseOf: (spaceId: string) => string
  readonly close: () => Promise<void>
}

const makersAtOnce = 2
/** Databases that one sweep checks. */
const sweepBatch = 20

/** How to connect to a database as the administrator, or with its own login. */
const makeLogins = (
  base: URL,
  names: DatabaseNames,
  { connectTimeout, sockets }: Pick<WorkspaceDatabasesOptions, "connectTimeout" | "sockets">
) => {
  const reach = {
    connectionTimeoutMillis: Duration.toMillis(connectTimeout),
    ...(sockets === undefined ? {} : { stream: sockets.open })
  }
  const adminTo = (database: string): ClientConfig => {
    const url = new URL(base)
    url.pathname = `/${database}`
    return { ...reach, connectionString: url.href, application_name: "svc workspaces" }
  }
  const loginTo = (name: string): ClientConfig => {
    const url = new URL(base)
    url.pathname = `/${name}`
    url.username = name
    url.password = names.password(name)
    url.search = new URLSearchParams(
      [...base.searchParams].filter(([parameter]) => parameter.startsWith("ssl"))
    ).toString()
    return { ...reach, connectionString: url.href, application_name: "svc.db" }
  }
  return { adminTo, loginTo }
}

/** Bounds concurrent creations: each takes two connections of the administrator. */
const makeLanes = (make: (spaceId: string) => Promise<void>) => {
  const lanes: Array<Promise<void>> = Array.from({ length: makersAtOnce }, () => Promise.resolve())
  let nextLane = 0
  return (spaceId: string): Promise<void> => {
    const lane = nextLane++ % makersAtOnce
    const making = (lanes[lane] ?? Promise.resolve()).then(() => make(spaceId))
    lanes[lane] = making.catch(() => undefined)
    return making
  }
}

/** Builds the walls and tests them. Fails if they do not isolate: then no workspace may have a login here. */
export const openWorkspaceDatabases = async ({
  admin,
  connectTimeout,
  pepper,
  sockets
}: WorkspaceDatabasesOptions): Promise<WorkspaceDatabases> => {
  const base = new URL(Redacted.value(admin))
  const control = base.pathname.slice(1)
  const names = databaseNamesOf(control, pepper)
  const { adminTo, loginTo } = makeLogins(base, names, { connectTimeout, sockets })

  await ensureControl(adminTo("postgres"), adminTo(control), control)
  const keeper = new Pool({ ...adminTo(control), max: 2, idleTimeoutMillis: 10_000, allowExitOnIdle: true })

  keeper.on("error", () => undefined)
  keeper.on("connect", (client) => limitAnswers(client))
  const { makeDatabase, makeTemplate, proveIsolation, withNameLock } = makeDatabaseSetup(
    control,
    names,
    adminTo,
    loginTo,
    keeper
  )

  try {
    await closeToPublic(keeper, ["postgres", "template1", control])
    await makeTemplate()
    await proveIsolation()
  } catch (cause) {
    await keeper.end()
    throw cause
  }
  const { bytes: emptyBytes } = (
    await keeper.query<{ readonly bytes: number }>("SELECT pg_database_size($1)::float8 AS bytes", [names.template])
  ).rows[0] ?? { bytes: 0 }

  /** Bytes of the workspaces' databases beyond an empty one. */
  const readSizes = async <Id extends string>(spaceIds: ReadonlyArray<Id>): Promise<ReadonlyMap<Id, number>> => {
    const byName = new Map(spaceIds.map((spaceId): readonly [string, Id] => [names.of(spaceId), spaceId]))
    const { rows } = await keeper.query<{ readonly name: string; readonly bytes: number }>(
      "SELECT datname AS name, pg_database_size(oid)::float8 AS bytes FROM pg_database WHERE datname = ANY($1)",
      [[...byName.keys()]]
    )
    const sizes = new Map<Id, number>()
    for (const { bytes, name } of rows) {
      const spaceId = byName.get(name)
      if (spaceId !== undefined) sizes.set(spaceId, Math.max(0, bytes - emptyBytes))
    }
    return sizes
  }

  /** Ends sessions of workspaces. */
  const terminate = async (pids: ReadonlyArray<number>, which: "all" | "writers"): Promise<void> => {
    await keeper.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE pid = ANY($1) AND starts_with(datname, $2) ${which === "writers" ? "AND backend_xid IS NOT NULL" : ""}`,
      [pids, names.prefix]
    )
  }

  /** The status of a transaction. */
  const readOutcome = async (xid: string): Promise<string | null> => {
    const found = await keeper.query<{ readonly status: string | null }>("SELECT pg_xact_status($1::xid8) AS status", [
      xid
    ])
    return found.rows[0]?.status ?? null
  }

  /** Drops empty databases with their logins. */
  const dropEmpty = async (isUsed: (database: string) => boolean): Promise<number> => {
    const candidates = await keeper.query<{ readonly name: string }>(
      `SELECT datname AS name FROM pg_database WHERE starts_with(datname, $1) AND datname <> $2
       AND pg_database_size(oid) < $3 ORDER BY random() LIMIT $4`,
      [names.prefix, names.of(canarySpace), emptyBytes + emptySlack, sweepBatch]
    )
    let dropped = 0
    for (const { name } of candidates.rows) {
      if (isUsed(name)) continue
      const gone = await withNameLock(name, async (client) => {
        if (isUsed(name) || (await withClient(adminTo(name), holdsSomething))) return false
        // Postgres refuses it while a session is connected.
        await client.query(`DROP DATABASE ${name}`)
        await client.query(`DROP ROLE IF EXISTS ${name}`)
        return true
      }).catch(() => false)
      if (gone) dropped += 1
    }
    return dropped
  }

  const ready = new Map<string, Promise<void>>()
  const makeInTurn = makeLanes(makeDatabase)

  return {
    reach: async (spaceId) => {
      let making = ready.get(spaceId)
      if (making === undefined) {
        making = makeInTurn(spaceId)
        ready.set(spaceId, making)
        making.catch(() => ready.delete(spaceId))
      }
      await making
      return loginTo(names.of(spaceId))
    },
    forget: (spaceId) => void ready.delete(spaceId),
    sizes: readSizes,
    terminate,
    outcome: readOutcome,
    dropEmpty,
    databaseOf: names.of,
    close: () => keeper.end()
  }
}

/** An empty database grows a little with use: statistics, free space map. */
const emptySlack = 4 * 1024 * 1024

/** Whether the schema of the workspace contains any table, view, sequence or type. */
const holdsSomething = async (inside: Client): Promise<boolean> => {
  const found = await inside.query(
    `SELECT FROM pg_namespace n WHERE n.nspname LIKE 'ws\\_%' AND (
       EXISTS (SELECT FROM pg_class WHERE relnamespace = n.oid) OR EXISTS (SELECT FROM pg_type WHERE typnamespace = n.oid))`
  )
  return (found.rowCount ?? 0) > 0
}

const publicMayEnter = `EXISTS (
  SELECT FROM aclexplode(COALESCE(datacl, acldefault('d', datdba))) a WHERE a.grantee = 0 AND a.privilege_type = 'CONNECT')`

const closeToPublic = async (keeper: Pool, databases: ReadonlyArray<string>): Promise<void> => {
  const found = await keeper.query<{ readonly name: string }>(
    `SELECT quote_ident(datname) AS name FROM pg_database WHERE datname = ANY($1) AND ${publicMayEnter}`,
    [databases]
  )
  // Another process may do this at the same time; the canary checks the result afterwards.
  for (const { name } of found.rows)
    await keeper.query(`REVOKE ALL ON DATABASE ${name} FROM PUBLIC`).catch(() => undefined)
}

const hasCode = (error: unknown, code: string): boolean =>
  typeof error === "object" && error !== null && "code" in error && error.code === code

const ensureControl = async (server: ClientConfig, control: ClientConfig, name: string): Promise<void> => {
  try {
    return await withClient(control, async () => undefined)
  } catch (error) {
    // 3D000: the database does not exist.
    if (!hasCode(error, "3D000")) throw error
  }
  await withClient(server, async (client) => {
    try {
      await client.query(`CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8'`)
    } catch (error) {
      // 42P04, 23505: another process has created it meanwhile.
      if (!hasCode(error, "42P04") && !hasCode(error, "23505")) throw error
    }
  })
}
