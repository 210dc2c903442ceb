/** Makes the template and the databases of workspaces, each with its login, and proves that a login reaches no other. */
import { Client, type ClientConfig, escapeLiteral, type Pool } from "pg"
import { workspaceDb } from "../../domain/Limits.js"
import { limitAnswers } from "../postgres/database/pool/AnswerLimit.js"
import { attempts, breach } from "./Canary.js"
import { type DatabaseNames, schemaOf } from "./DatabaseNames.js"
import { build, mark } from "./Walls.js"

/** Arbitrary, and the same in every release. The second key of the lock is the hash of the database's name. */
const lockKey = 1_937_137_966
/** How long a database may take to be created or dropped: its files are copied, and a checkpoint is made. */
const setupMillis = 300_000
/** So many nodes keep idle connections of a workspace for a while, beside those in use. */
const mostNodes = 64

/**
 * Sets databases up on a server. `control`: the database from which the others are managed; `keeper`: the administrator's
 * connections.
 */
export const makeDatabaseSetup = (
  control: string,
  names: DatabaseNames,
  adminTo: (database: string) => ClientConfig,
  loginTo: (name: string) => ClientConfig,
  keeper: Pool
) => {
  /** Runs `body` under a lock: no other process creates or drops a database of this name meanwhile. */
  const withNameLock = <A>(name: string, body: (client: Client) => Promise<A>): Promise<A> =>
    withClient(adminTo(control), async (client) => {
      await client.query("SELECT pg_advisory_lock($1, hashtext($2))", [lockKey, name])
      return await body(client)
    })

  /** Makes the template again if its walls are not those of this release. */
  const makeTemplate = () =>
    withNameLock(names.template, async (client) => {
      if ((await markOf(client, names.template)) === mark) return
      await client.query(`DROP DATABASE IF EXISTS ${names.template}`)
      await client.query(`CREATE DATABASE ${names.template} TEMPLATE template0 ENCODING 'UTF8'`)
      await client.query(`REVOKE ALL ON DATABASE ${names.template} FROM PUBLIC`)
      await withClient(adminTo(names.template), async (inside) => {
        await build(inside)
        await shrink(inside)
      })
      await client.query(`ALTER DATABASE ${names.template} ALLOW_CONNECTIONS false`)
      await client.query(`COMMENT ON DATABASE ${names.template} IS ${escapeLiteral(mark)}`)
    })

  /** Makes a workspace's login and its database, or brings them up to date. */
  const makeDatabase = (spaceId: string): Promise<void> => {
    const name = names.of(spaceId)
    return withNameLock(name, async (client) => {
      const exists = await client.query("SELECT FROM pg_roles WHERE rolname = $1", [name])
      const login = [
        `${exists.rowCount === 0 ? "CREATE" : "ALTER"} ROLE ${name} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT`,
        `NOREPLICATION NOBYPASSRLS CONNECTION LIMIT ${mostNodes * workspaceDb.connectionsPerAccount}`,
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
      await withClient(adminTo(name), async (inside) => {
        if (found !== undefined) await build(inside)
        await inside.query(`CREATE SCHEMA IF NOT EXISTS ${schemaOf(spaceId)} AUTHORIZATION ${name}`)
      })
      await client.query(`COMMENT ON DATABASE ${name} IS ${escapeLiteral(mark)}`)
    })
  }

  /** Runs the canary with a login like a workspace's. */
  const proveIsolation = async () => {
    await makeDatabase(canarySpace)
    const name = names.of(canarySpace)
    const through = await withClient(loginTo(name), breach)
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

  return { withNameLock, makeTemplate, makeDatabase, proveIsolation }
}

// --- Private ---

export const canarySpace = "canary"

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

/**
 * Removes the dead rows that building the walls has left: every database copies the template. Leaves out the tables that all
 * databases of the server share: whoever logs in reads those, and would wait for this.
 */
const shrink = async (client: Client): Promise<void> => {
  const { rows } = await client.query<{ readonly tables: string }>(
    `SELECT string_agg(oid::regclass::text, ', ') AS tables FROM pg_class WHERE relkind IN ('r', 'm') AND NOT relisshared`
  )
  await client.query(`VACUUM (FULL, FREEZE) ${rows[0]?.tables}`)
}

export const withClient = async <A>(config: ClientConfig, body: (client: Client) => Promise<A>): Promise<A> => {
  const client = new Client(config)
  client.on("error", () => undefined)
  await client.connect()
  limitAnswers(client, setupMillis)
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
