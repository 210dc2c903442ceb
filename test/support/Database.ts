/** Creates a migrated database for one test file or one test, and drops it afterwards. */
import { Context, Effect, Layer, Redacted } from "effect"
import { Client } from "pg"
import { inject } from "vitest"
import type { DatabaseTrouble } from "../../src/actors/ports/DatabaseTrouble.js"
import * as Trouble from "../../src/runtime/postgres/database/DatabaseTrouble.js"
import {
  type AppSql,
  connect,
  layer as pools,
  type PoolSizes,
  type WriterSql
} from "../../src/runtime/postgres/database/Pools.js"
import { type DatabaseUrls, forEachRole } from "../../src/runtime/postgres/database/Roles.js"
import { ConnectTimeout } from "../../src/runtime/postgres/database/pool/ConnectTimeout.js"
import { patientConnect, withPatientConnect } from "./connectTimeout.js"

export interface Database {
  readonly name: string
  readonly urls: DatabaseUrls
  /** The superuser's URL of this database. */
  readonly admin: Redacted.Redacted
}

export class TestDatabase extends Context.Tag("test/TestDatabase")<TestDatabase, Database>() {}

/** Creates a database as a copy of another one, to which nobody may be connected. */
export const copyDatabase = async (template: string): Promise<Database> => {
  const shared = inject("postgres")
  const name = `svc_test_${process.pid}_${(sequence += 1)}`
  await asAdmin(
    shared.admin,
    `CREATE DATABASE ${name} OWNER svc_owner TEMPLATE ${template} STRATEGY FILE_COPY`,
    // CREATE DATABASE … TEMPLATE does not copy privileges on the database.
    `REVOKE ALL ON DATABASE ${name} FROM PUBLIC`,
    `GRANT CONNECT ON DATABASE ${name} TO svc_writer, svc_app, svc_audit_reader`
  )
  return {
    name,
    urls: forEachRole((role) => Redacted.make(elsewhere(shared.urls[role], name))),
    admin: Redacted.make(elsewhere(shared.admin, name))
  }
}

/** Creates a fresh database. The end of the scope drops it, also with open connections. */
export const freshDatabase = Effect.acquireRelease(
  Effect.promise(() => copyDatabase("svc")),
  ({ name }) => dropDatabase(name)
)

export const dropDatabase = (name: string) =>
  Effect.promise(() => asAdmin(inject("postgres").admin, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`))

/**
 * Drops the database of the administrator's URL for `svc.db`, the template, and every workspace's database and login.
 */
export const dropWorkspaces = (base: string) =>
  Effect.promise(async () => {
    const { admin } = inject("postgres")
    const client = new Client({ connectionString: admin })
    await client.connect()
    try {
      const { rows } = await client.query<{ readonly name: string }>(
        "SELECT datname AS name FROM pg_database WHERE datname = $1 OR starts_with(datname, $1 || '_')",
        [base]
      )
      for (const { name } of rows) {
        await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
        await client.query(`DROP ROLE IF EXISTS ${name}`)
      }
    } finally {
      await client.end()
    }
  })

/** The same login on another database of the server. */
export const databaseUrl = (login: Redacted.Redacted, name: string) => elsewhere(Redacted.value(login), name)

/** The fresh database and the service's pools on it, of so many connections. */
export const layerOf = (
  sizes: PoolSizes,
  database = freshDatabase
): Layer.Layer<TestDatabase | AppSql | WriterSql | DatabaseTrouble> =>
  Layer.merge(Layer.scoped(TestDatabase, database), Trouble.layer).pipe(
    (database) =>
      Layer.provideMerge(Layer.unwrapEffect(Effect.map(TestDatabase, ({ urls }) => pools(urls, sizes))), database),
    Layer.orDie
  )

/** Gives what uses it the patience for a login that services of tests have. */
const patient = Layer.provideMerge(Layer.succeed(ConnectTimeout, patientConnect))

export const layer = patient(layerOf({ app: 8, writer: 8 }))

const overTcp = (login: Redacted.Redacted) => {
  const url = new URL(Redacted.value(login))
  url.hostname = "127.0.0.1"
  return Redacted.make(url.href)
}

/** The same over TCP: other databases of tests are reached over a socket of Unix (`globalSetup.ts`). */
export const layerOverTcp = patient(
  layerOf(
    { app: 8, writer: 8 },
    Effect.map(freshDatabase, ({ admin, name, urls }) => ({
      name,
      admin: overTcp(admin),
      urls: forEachRole((role) => overTcp(urls[role]))
    }))
  )
)

/** A connection of the superuser, for statements that no pool of the service may send. */
export const adminConnection = Effect.flatMap(TestDatabase, ({ admin }) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Client({ connectionString: Redacted.value(admin) })
      await client.connect()
      return client
    }),
    (client) => Effect.promise(() => client.end())
  )
)

/** A pool of the tables' owner, to whom row-level security does not apply. */
export const ownerSql = Effect.flatMap(TestDatabase, ({ urls }) =>
  connect(urls.owner, { maxConnections: 2, applicationName: "svc test owner" }).pipe(withPatientConnect, Effect.orDie)
)

const elsewhere = (href: string, database: string) => {
  const url = new URL(href)
  url.pathname = `/${database}`
  return url.href
}

const asAdmin = async (admin: string, ...statements: ReadonlyArray<string>) => {
  const client = new Client({ connectionString: admin })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

let sequence = 0
