/**
 * A migration holds its locks for less than a second on tables of 10 million rows, which the long form fills
 * (`SVC_TEST_LONG=1`); the short one fills them with fewer.
 */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { SqlClient } from "@effect/sql"
import { Effect, Redacted } from "effect"
import { readFileSync } from "node:fs"
import { Client } from "pg"
import { migrations } from "../../../migrations/index.js"
import { connect } from "../../../src/runtime/postgres/database/Pools.js"
import { copyDatabase, type Database, dropDatabase } from "../../support/Database.js"
import { touchedTables } from "../../support/migrationForms.js"
import { assertWithin } from "../../support/pace.js"
import { isLong } from "../../support/longForm.js"

const rows = isLong ? 10_000_000 : 20_000

/** Migrations before ran while no node did. */
const firstBound = 64

let database: Database
let client: Client

beforeAll(async () => {
  database = await copyDatabase("svc")
  client = new Client({ connectionString: Redacted.value(database.admin) })
  await client.connect()
  await client.query("DROP SCHEMA public CASCADE; CREATE SCHEMA public AUTHORIZATION svc_owner")
}, 60_000)
afterAll(async () => {
  await client.end()
  await Effect.runPromise(dropDatabase(database.name))
}, 60_000)

/** Runs migrations as the release does, in one transaction. */
const run = (names: ReadonlyArray<string>): Promise<void> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const sql = yield* connect(database.urls.owner, { maxConnections: 1, applicationName: "test" })
      yield* sql
        .withTransaction(
          Effect.forEach(names, (name) => migrations[name as keyof typeof migrations], { discard: true })
        )
        .pipe(Effect.provideService(SqlClient.SqlClient, sql))
    }).pipe(Effect.scoped)
  )

interface Column {
  readonly name: string
  /** Of `pg_type.typcategory`. */
  readonly category: string
  readonly type: string
  readonly isUnique: boolean
  readonly isNeeded: boolean
}

const columnsSql = `
  SELECT a.attname AS name, t.typcategory::text AS category, t.typname AS type, a.attnotnull AND NOT a.atthasdef AS "isNeeded",
    EXISTS (SELECT FROM pg_index i WHERE i.indrelid = a.attrelid AND i.indisunique AND a.attnum = ANY (i.indkey)) AS "isUnique"
  FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
  WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attidentity = '' AND a.attgenerated = ''`

const valueOf = ({ category, isUnique, type }: Column): string => {
  if (type === "json" || type === "jsonb") return "'{}'"
  if (type === "bytea") return isUnique ? "int8send(n)" : "''"
  if (category === "N") return isUnique ? "n" : "0"
  if (category === "D") return isUnique ? "now() + n * interval '1 ms'" : "now()"
  if (category === "B") return "false"
  if (category === "A") return "'{}'"
  return isUnique ? "'x' || n" : "'x'"
}

/** Fills a table with rows that are unique where they must be, without its other conditions. */
const fill = async (table: string): Promise<void> => {
  const { rows: checks } = await client.query<{ name: string }>(
    "SELECT conname AS name FROM pg_constraint WHERE conrelid = $1::regclass AND contype = 'c'",
    [table]
  )
  for (const { name } of checks) await client.query(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`)
  const { rows: kinds } = await client.query<{ kind: string }>(
    "SELECT relkind::text AS kind FROM pg_class WHERE oid = $1::regclass",
    [table]
  )
  if (kinds[0]?.kind === "p") await client.query(`CREATE TABLE ${table}_rest PARTITION OF ${table} DEFAULT`)
  const columns = (await client.query<Column>(columnsSql, [table])).rows.filter((one) => one.isNeeded || one.isUnique)
  // Neither triggers nor references look at them.
  await client.query("SET session_replication_role = replica")
  await client.query(
    `INSERT INTO ${table} (${columns.map(({ name }) => `"${name}"`).join()})
     SELECT ${columns.map(valueOf).join()} FROM generate_series(1, ${rows}) AS n`
  )
  await client.query("RESET session_replication_role; CHECKPOINT")
}

const names = Object.keys(migrations)
const isBound = (name: string): boolean => Number(name.slice(0, 4)) >= firstBound

it(
  "a migration holds its locks for less than a second on large tables",
  async () => {
    await run(names.filter((name) => !isBound(name)))
    const filled = new Set<string>()
    for (const name of names.filter(isBound)) {
      for (const table of touchedTables(readFileSync(`migrations/${name}.ts`, "utf8"))) {
        if (!filled.has(table)) await fill(table)
        filled.add(table)
      }
      const began = performance.now()
      await run([name])
      assertWithin(performance.now() - began, 1_000, name)
    }
    const { rows: counts } = await client.query<{ n: number }>("SELECT count(*)::int AS n FROM nodes")
    assert.deepStrictEqual(counts, [{ n: rows }])
  },
  isLong ? 3_600_000 : 60_000
)
