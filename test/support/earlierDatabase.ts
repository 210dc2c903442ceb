/**
 * Puts the data of a stopped service into a database as an earlier release had it: that release's migrations make the
 * tables, and every row comes over with the columns that were there.
 */
import { Migrator, SqlClient } from "@effect/sql"
import { Effect, Record, Redacted } from "effect"
import { Client } from "pg"
import { migrations } from "../../migrations/index.js"
import { startEmbedded } from "../../src/runtime/embedded/EmbeddedServer.js"
import { connect } from "../../src/runtime/postgres/database/Pools.js"
import { withPatientConnect } from "./connectTimeout.js"

interface Table {
  readonly name: string
}

/** Tables with rows of their own, not partitions. */
const tablesSql = `SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND n.nspname = 'public' AND c.relname <> 'svc_migrations'
  ORDER BY c.relname`

const inside = async <A>(url: string, use: (client: Client) => Promise<A>): Promise<A> => {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

const at = (url: Redacted.Redacted, database: string) => {
  const href = new URL(Redacted.value(url))
  href.pathname = `/${database}`
  return href.href
}

/** Runs the migrations up to this number. */
const migrateTo = (owner: string, last: number) =>
  Effect.gen(function* () {
    const sql = yield* connect(Redacted.make(owner), { maxConnections: 1, applicationName: "earlier release" })
    const earlier = Record.filter<string, Effect.Effect<void, unknown, SqlClient.SqlClient>>(
      migrations,
      (_, name) => Number(name.slice(0, 4)) <= last
    )
    yield* Migrator.make({})({ loader: Migrator.fromRecord(earlier), table: "svc_migrations" }).pipe(
      Effect.provideService(SqlClient.SqlClient, sql)
    )
    yield* sql`SELECT svc_partitions()`
  }).pipe(Effect.scoped)

/** Copies the rows of the tables that the target has; neither triggers nor references look at them. */
const copyRows = (from: Client, to: Client) =>
  Effect.promise(async () => {
    const copied: Record<string, number> = {}
    await to.query("SET session_replication_role = replica")
    const { rows: tables } = await to.query<Table>(tablesSql)
    for (const { name } of tables) {
      await to.query(`DELETE FROM ${name}`)
      const { rows } = await from.query<{ readonly all: string | null; readonly n: number }>(
        `SELECT json_agg(t)::text AS all, count(*)::int AS n FROM ${name} t`
      )
      const [found] = rows
      if (found?.all !== null)
        await to.query(
          `INSERT INTO ${name} OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::${name}, $1)`,
          [found?.all]
        )
      copied[name] = found?.n ?? 0
    }
    const { rows: sequences } = await to.query<Table>("SELECT sequencename AS name FROM pg_sequences")
    for (const { name } of sequences) {
      const { rows } = await from.query<{ readonly last: string | null }>(
        "SELECT last_value::text AS last FROM pg_sequences WHERE sequencename = $1",
        [name]
      )
      if (rows[0]?.last != null) await to.query("SELECT setval($1, $2::bigint)", [name, rows[0].last])
    }
    return copied
  })

/**
 * Replaces the database of the data directory. `lastMigration`: that of the earlier release. `inEarlierForm`: statements
 * on the database before its rows are copied, which give rows the form in which that release stored them. Returns how many
 * rows each table has.
 */
export const makeEarlier = (dataDir: string, lastMigration: number, inEarlierForm: ReadonlyArray<string>) =>
  Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const server = yield* withPatientConnect(startEmbedded({ dataDir, durable: false }))
        const admin = (use: (client: Client) => Promise<unknown>) =>
          Effect.promise(() => inside(at(server.admin, "postgres"), use))
        yield* admin((client) => client.query("CREATE DATABASE svc_earlier OWNER svc_owner TEMPLATE template0"))
        yield* migrateTo(at(server.urls.owner, "svc_earlier"), lastMigration)
        const copied = yield* Effect.promise(() =>
          inside(at(server.admin, "svc"), async (from) => {
            for (const statement of inEarlierForm) await from.query(statement)
            return await inside(at(server.admin, "svc_earlier"), (to) => Effect.runPromise(copyRows(from, to)))
          })
        )
        yield* admin(async (client) => {
          await client.query("DROP DATABASE svc WITH (FORCE)")
          await client.query("ALTER DATABASE svc_earlier RENAME TO svc")
          await client.query("REVOKE ALL ON DATABASE svc FROM PUBLIC")
          await client.query("GRANT CONNECT ON DATABASE svc TO svc_writer, svc_app, svc_audit_reader")
        })
        return copied
      })
    )
  )
