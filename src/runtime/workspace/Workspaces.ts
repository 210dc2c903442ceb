/** The database of the workspaces, and each workspace's login and schema in it, made when they are first used. */
import { createHash, createHmac } from "node:crypto"
import { Redacted } from "effect"
import { Client, escapeLiteral, Pool, type PoolConfig } from "pg"
import { workspaceDb } from "../../domain/Limits.js"
import { attempts, breach, build } from "./Walls.js"

export interface WorkspacesOptions {
  /** An administrator's login to the server; its path names the database of the workspaces. */
  readonly admin: Redacted.Redacted
  /** The passwords of the logins are made from it. */
  readonly pepper: Redacted.Redacted
}

/** Schema and login of a workspace. Contract: `ws_<hash>`. */
export const workspaceName = (spaceId: string): string =>
  `ws_${createHash("sha256").update(spaceId).digest("hex").slice(0, 12)}`

/** Arbitrary, and the same in every release: one process at a time makes logins and walls. */
const lockKey = 1_937_137_966
const connectMillis = 5_000

export interface Workspaces {
  /** Connections of the workspace's own login, which is made if it is not there. */
  readonly poolOf: (spaceId: string) => Promise<Pool>
  /** Bytes that the workspace's schema takes. */
  readonly size: (spaceId: string) => Promise<number>
  /** `committed`, `aborted`, `in progress`, or `null` when it is too long ago. */
  readonly outcome: (xid: string) => Promise<string | null>
  readonly close: () => Promise<void>
}

/** Fails where the walls do not hold: then no workspace may have a login here. */
export const open = async ({ admin, pepper }: WorkspacesOptions): Promise<Workspaces> => {
  const base = new URL(Redacted.value(admin))
  const database = base.pathname.slice(1)
  const secret = Redacted.value(pepper)
  const password = (name: string) =>
    createHmac("sha256", secret).update(`svc.db|${database}|${name}`).digest("base64url")
  const loginUrl = (name: string) => {
    const url = new URL(base)
    url.username = name
    url.password = password(name)
    url.search = ""
    return url.href
  }
  const keeper = new Pool({
    connectionString: base.href,
    max: 2,
    idleTimeoutMillis: 10_000,
    connectionTimeoutMillis: connectMillis,
    allowExitOnIdle: true,
    application_name: "svc workspaces"
  })
  keeper.on("error", () => undefined)

  // --- Making ---

  const alone = async <A>(body: (client: Client) => Promise<A>): Promise<A> => {
    const client = new Client({ connectionString: base.href, connectionTimeoutMillis: connectMillis })
    await client.connect()
    try {
      await client.query("SELECT pg_advisory_lock($1)", [lockKey])
      return await body(client)
    } finally {
      await client.end()
    }
  }

  const make = (name: string) =>
    alone(async (client) => {
      const limits = {
        search_path: name,
        statement_timeout: `${workspaceDb.statementMillis}`,
        lock_timeout: "10000",
        idle_in_transaction_session_timeout: `${workspaceDb.idleMillis}`,
        temp_file_limit: "262144"
      }
      const attributes = `LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT NOREPLICATION NOBYPASSRLS CONNECTION LIMIT 32`
      const exists = await client.query("SELECT FROM pg_roles WHERE rolname = $1", [name])
      await client.query(
        `${exists.rowCount === 0 ? "CREATE" : "ALTER"} ROLE ${name} ${attributes} PASSWORD ${escapeLiteral(password(name))}`
      )
      for (const [setting, value] of Object.entries(limits))
        await client.query(`ALTER ROLE ${name} SET ${setting} = ${escapeLiteral(value)}`)
      await client.query(`GRANT CONNECT ON DATABASE ${database} TO ${name}`)
      await client.query(`GRANT ${name} TO CURRENT_USER`)
      await client.query(`CREATE SCHEMA IF NOT EXISTS ${name} AUTHORIZATION ${name}`)
    })

  /** A login like any other tries everything that it must not be able to do. */
  const prove = async () => {
    const name = `ws_canary_${createHash("sha256").update(database).digest("hex").slice(0, 8)}`
    await make(name)
    const login = new Client({ connectionString: loginUrl(name), connectionTimeoutMillis: connectMillis })
    await login.connect()
    try {
      const through = await breach(login)
      if (through !== undefined)
        throw new Error(
          `the server does not keep workspaces apart: "${through}" succeeded, one of ${attempts.length} that must fail`
        )
    } finally {
      await login.end()
    }
  }

  await ensureDatabase(base, database)
  await alone((client) => build(client, database))
  await prove()

  // --- Using ---

  const pools = new Map<string, Promise<Pool>>()
  const connect = async (spaceId: string): Promise<Pool> => {
    const name = workspaceName(spaceId)
    const config: PoolConfig = {
      connectionString: loginUrl(name),
      max: workspaceDb.connections,
      idleTimeoutMillis: 10_000,
      connectionTimeoutMillis: connectMillis,
      allowExitOnIdle: true,
      application_name: "svc.db"
    }
    await make(name)
    const pool = new Pool(config)
    pool.on("error", () => undefined)
    return pool
  }
  const poolOf = (spaceId: string): Promise<Pool> => {
    const known = pools.get(spaceId)
    if (known !== undefined) return known
    const made = connect(spaceId)
    pools.set(spaceId, made)
    made.catch(() => pools.delete(spaceId))
    return made
  }

  return {
    poolOf,
    size: async (spaceId) => {
      const found = await keeper.query<{ readonly bytes: string }>(
        `SELECT COALESCE(sum(pg_total_relation_size(c.oid)), 0)::text AS bytes FROM pg_class c
         WHERE c.relnamespace = to_regnamespace($1) AND c.relkind IN ('r', 'm', 'S')`,
        [workspaceName(spaceId)]
      )
      return Number(found.rows[0]?.bytes ?? 0)
    },
    outcome: async (xid) => {
      const found = await keeper.query<{ readonly status: string | null }>(
        "SELECT pg_xact_status($1::xid8) AS status",
        [xid]
      )
      return found.rows[0]?.status ?? null
    },
    close: async () => {
      const open = await Promise.allSettled(pools.values())
      await Promise.all(open.map((one) => (one.status === "fulfilled" ? one.value.end() : undefined)))
      await keeper.end()
    }
  }
}

const ensureDatabase = async (base: URL, database: string): Promise<void> => {
  if (!/^[a-z][a-z0-9_]{0,62}$/.test(database)) throw new Error("the URL's path must name a database in small letters")
  const url = new URL(base)
  url.pathname = "/postgres"
  const direct = new Client({ connectionString: base.href, connectionTimeoutMillis: connectMillis })
  try {
    await direct.connect()
    return await direct.end()
  } catch (error) {
    // 3D000: there is no such database.
    if (!(typeof error === "object" && error !== null && "code" in error && error.code === "3D000")) throw error
  }
  const client = new Client({ connectionString: url.href, connectionTimeoutMillis: connectMillis })
  await client.connect()
  try {
    await client.query(`CREATE DATABASE ${database} TEMPLATE template0 ENCODING 'UTF8'`)
  } catch (error) {
    // Another process made it meanwhile.
    if (!(typeof error === "object" && error !== null && "code" in error && error.code === "42P04")) throw error
  } finally {
    await client.end()
  }
}
