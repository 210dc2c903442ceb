/**
 * Manages the databases of workspaces on one Postgres server: a template with the walls, and for each workspace, from
 * its first use, a copy with a login. Databases that are empty and idle are dropped. Several processes may do this at
 * once.
 */
import { Redacted } from "effect"
import { Client, type ClientConfig, escapeLiteral, Pool } from "pg"
import { workspaceDb } from "../../domain/Limits.js"
import { attempts, breach } from "./Canary.js"
import { databaseNamesOf, schemaOf } from "./DatabaseNames.js"
import { build, mark } from "./Walls.js"

export interface WorkspaceDatabasesOptions {
  /** An administrator's login to the server; it manages the others while connected to the database in its path. */
  readonly admin: Redacted.Redacted
  /** The names and passwords of the logins are derived from it. */
  readonly pepper: Redacted.Redacted
}

export interface WorkspaceDatabases {
  /** How to connect to a workspace's database with its login. Creates both if they do not exist. */
  readonly reach: (spaceId: string) => Promise<ClientConfig>
  /** Makes the next `reach` check again whether database and login exist. */
  readonly forget: (spaceId: string) => void
  /** Bytes of each workspace's database beyond an empty one; workspaces without a database are left out. */
  readonly sizes: (spaceIds: ReadonlyArray<string>) => Promise<ReadonlyMap<string, number>>
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

/** Arbitrary, and the same in every release. The second key of the lock is the hash of the database's name. */
const lockKey = 1_937_137_966
const connectMillis = 5_000
const makersAtOnce = 2
/** Databases that one sweep checks. */
const sweepBatch = 20

/** Builds the walls and tests them. Fails if they do not isolate: then no workspace may have a login here. */
export const openWorkspaceDatabases = async ({
  admin,
  pepper
}: WorkspaceDatabasesOptions): Promise<WorkspaceDatabases> => {
  const base = new URL(Redacted.value(admin))
  const control = base.pathname.slice(1)
  const names = databaseNamesOf(control, pepper)
  const adminTo = (database: string): ClientConfig => {
    const url = new URL(base)
    url.pathname = `/${database}`
    return { connectionString: url.href, connectionTimeoutMillis: connectMillis, application_name: "svc workspaces" }
  }
  const loginTo = (name: string): ClientConfig => {
    const url = new URL(base)
    url.pathname = `/${name}`
    url.username = name
    url.password = names.password(name)
    url.search = new URLSearchParams(
      [...base.searchParams].filter(([parameter]) => parameter.startsWith("ssl"))
    ).toString()
    return { connectionString: url.href, connectionTimeoutMillis: connectMillis, application_name: "svc.db" }
  }

  await ensureControl(adminTo("postgres"), adminTo(control), control)
  const keeper = new Pool({ ...adminTo(control), max: 2, idleTimeoutMillis: 10_000, allowExitOnIdle: true })
  keeper.on("error", () => undefined)

  /** Runs `body` under a lock: no other process creates or drops a database of this name meanwhile. */
  const withNameLock = <A>(name: string, body: (client: Client) => Promise<A>): Promise<A> =>
    connected(adminTo(control), async (client) => {
      await client.query("SELECT pg_advisory_lock($1, hashtext($2))", [lockKey, name])
      return await body(client)
    })

  // --- Making ---

  const makeTemplate = () =>
    withNameLock(names.template, async (client) => {
      if ((await markOf(client, names.template)) === mark) return
      await client.query(`DROP DATABASE IF EXISTS ${names.template}`)
      await client.query(`CREATE DATABASE ${names.template} TEMPLATE template0 ENCODING 'UTF8'`)
      await client.query(`REVOKE ALL ON DATABASE ${names.template} FROM PUBLIC`)
      await connected(adminTo(names.template), async (inside) => {
        await build(inside)
        // Removes the dead rows that building the walls has left: every database copies the template.
        await inside.query("VACUUM (FULL, FREEZE)")
      })
      await client.query(`ALTER DATABASE ${names.template} ALLOW_CONNECTIONS false`)
      await client.query(`COMMENT ON DATABASE ${names.template} IS ${escapeLiteral(mark)}`)
    })

  const make = (spaceId: string): Promise<void> => {
    const name = names.of(spaceId)
    return withNameLock(name, async (client) => {
      const exists = await client.query("SELECT FROM pg_roles WHERE rolname = $1", [name])
      const login = [
        `${exists.rowCount === 0 ? "CREATE" : "ALTER"} ROLE ${name} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT`,
        `NOREPLICATION NOBYPASSRLS CONNECTION LIMIT ${2 * workspaceDb.connectionsPerOrganisation}`,
        `PASSWORD ${escapeLiteral(names.password(name))}`
      ].join(" ")
      const settings = Object.entries(sessionSettings(spaceId)).map(
        ([setting, value]) => `ALTER ROLE ${name} SET ${setting} = ${escapeLiteral(value)}`
      )
      await client.query([login, ...settings].join("; "))
      const found = await markOf(client, name)
      if (found === mark) return
      if (found === undefined) await client.query(`CREATE DATABASE ${name} TEMPLATE ${names.template} STRATEGY WAL_LOG`)
      await client.query(
        `REVOKE ALL ON DATABASE ${name} FROM PUBLIC; GRANT CONNECT ON DATABASE ${name} TO ${name}; GRANT ${name} TO CURRENT_USER`
      )
      await connected(adminTo(name), async (inside) => {
        if (found !== undefined) await build(inside)
        await inside.query(`CREATE SCHEMA IF NOT EXISTS ${schemaOf(spaceId)} AUTHORIZATION ${name}`)
      })
      await client.query(`COMMENT ON DATABASE ${name} IS ${escapeLiteral(mark)}`)
    })
  }

  /** Runs the canary with a login like a workspace's. */
  const prove = async () => {
    await make(canarySpace)
    const name = names.of(canarySpace)
    const through = await connected(loginTo(name), breach)
    if (through !== undefined)
      throw new Error(
        `the server does not keep workspaces apart: "${through}" succeeded, one of ${attempts.length} that must fail`
      )
    const entered = await openDatabases(keeper, name)
    if (entered.length > 0)
      throw new Error(
        `any login may connect to ${entered.join(", ")}: REVOKE CONNECT ON DATABASE ${entered[0]} FROM PUBLIC`
      )
  }

  try {
    await closeToPublic(keeper, ["postgres", "template1", control])
    await makeTemplate()
    await prove()
  } catch (cause) {
    await keeper.end()
    throw cause
  }
  const { bytes: emptyBytes } = (
    await keeper.query<{ readonly bytes: number }>("SELECT pg_database_size($1)::float8 AS bytes", [names.template])
  ).rows[0] ?? { bytes: 0 }

  // --- Using ---

  const ready = new Map<string, Promise<void>>()
  /** Bounds concurrent creations: each takes two connections of the administrator. */
  const lanes: Array<Promise<void>> = Array.from({ length: makersAtOnce }, () => Promise.resolve())
  let nextLane = 0
  const makeInTurn = (spaceId: string): Promise<void> => {
    const lane = nextLane++ % makersAtOnce
    const making = (lanes[lane] ?? Promise.resolve()).then(() => make(spaceId))
    lanes[lane] = making.catch(() => undefined)
    return making
  }

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
    sizes: async (spaceIds) => {
      const byName = new Map(spaceIds.map((spaceId) => [names.of(spaceId), spaceId]))
      const { rows } = await keeper.query<{ readonly name: string; readonly bytes: number }>(
        "SELECT datname AS name, pg_database_size(oid)::float8 AS bytes FROM pg_database WHERE datname = ANY($1)",
        [[...byName.keys()]]
      )
      return new Map(rows.map(({ bytes, name }) => [byName.get(name) ?? "", Math.max(0, bytes - emptyBytes)]))
    },
    terminate: async (pids, which) => {
      await keeper.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE pid = ANY($1) AND starts_with(datname, $2) ${which === "writers" ? "AND backend_xid IS NOT NULL" : ""}`,
        [pids, names.prefix]
      )
    },
    outcome: async (xid) => {
      const found = await keeper.query<{ readonly status: string | null }>(
        "SELECT pg_xact_status($1::xid8) AS status",
        [xid]
      )
      return found.rows[0]?.status ?? null
    },
    dropEmpty: async (isUsed) => {
      const candidates = await keeper.query<{ readonly name: string }>(
        `SELECT datname AS name FROM pg_database WHERE starts_with(datname, $1) AND datname <> $2
           AND pg_database_size(oid) < $3 ORDER BY random() LIMIT $4`,
        [names.prefix, names.of(canarySpace), emptyBytes + emptySlack, sweepBatch]
      )
      let dropped = 0
      for (const { name } of candidates.rows) {
        if (isUsed(name)) continue
        const gone = await withNameLock(name, async (client) => {
          if (isUsed(name) || (await connected(adminTo(name), holdsSomething))) return false
          // Postgres refuses it while a session is connected.
          await client.query(`DROP DATABASE ${name}`)
          await client.query(`DROP ROLE IF EXISTS ${name}`)
          return true
        }).catch(() => false)
        if (gone) dropped += 1
      }
      return dropped
    },
    databaseOf: names.of,
    close: () => keeper.end()
  }
}

// --- Private ---

const canarySpace = "canary"
/** An empty database grows a little with use: statistics, free space map. */
const emptySlack = 4 * 1024 * 1024

/** Settings of every session of a workspace. The login cannot change them: it may use neither SET nor `set_config`. */
const sessionSettings = (spaceId: string): Readonly<Record<string, string>> => ({
  search_path: schemaOf(spaceId),
  statement_timeout: `${workspaceDb.statementMillis}`,
  lock_timeout: "10000",
  idle_in_transaction_session_timeout: `${workspaceDb.idleMillis}`,
  // Ends a session, and its statement, when the client has gone.
  client_connection_check_interval: "1000",
  temp_file_limit: `${workspaceDb.temporaryBytes / 1024}`,
  work_mem: "4MB",
  hash_mem_multiplier: "1",
  maintenance_work_mem: "32MB",
  max_stack_depth: "1MB",
  max_parallel_workers_per_gather: "0",
  max_parallel_maintenance_workers: "0",
  jit: "off",
  // Keeps tenants' statements out of the server's log and out of notices to the service.
  client_min_messages: "error",
  log_min_messages: "fatal",
  log_min_error_statement: "panic"
})

const connected = async <A>(config: ClientConfig, body: (client: Client) => Promise<A>): Promise<A> => {
  const client = new Client(config)
  client.on("error", () => undefined)
  await client.connect()
  try {
    return await body(client)
  } finally {
    await client.end()
  }
}

/** The comment of a database; `undefined` without the database, empty without a comment. */
const markOf = async (client: Client, database: string): Promise<string | undefined> => {
  const found = await client.query<{ readonly mark: string | null }>(
    "SELECT shobj_description(oid, 'pg_database') AS mark FROM pg_database WHERE datname = $1",
    [database]
  )
  const row = found.rows[0]
  return row === undefined ? undefined : (row.mark ?? "")
}

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

/** Other databases that this login may connect to. Checks a database again that is just being created. */
const openDatabases = async (keeper: Pool, login: string): Promise<ReadonlyArray<string>> => {
  let names: ReadonlyArray<string> = []
  for (let attempt = 0; attempt < 5; attempt++) {
    const { rows } = await keeper.query<{ readonly name: string }>(
      `SELECT datname AS name FROM pg_database
       WHERE datallowconn AND datname <> $1 AND has_database_privilege($1, oid, 'CONNECT') ORDER BY 1`,
      [login]
    )
    names = rows.map(({ name }) => name)
    if (names.length === 0) break
    await new Promise((resolve) => setTimeout(resolve, 300))
  }
  return names
}

const hasCode = (error: unknown, code: string): boolean =>
  typeof error === "object" && error !== null && "code" in error && error.code === code

const ensureControl = async (server: ClientConfig, control: ClientConfig, name: string): Promise<void> => {
  try {
    return await connected(control, async () => undefined)
  } catch (error) {
    // 3D000: the database does not exist.
    if (!hasCode(error, "3D000")) throw error
  }
  await connected(server, async (client) => {
    try {
      await client.query(`CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8'`)
    } catch (error) {
      // 42P04, 23505: another process has created it meanwhile.
      if (!hasCode(error, "42P04") && !hasCode(error, "23505")) throw error
    }
  })
}
