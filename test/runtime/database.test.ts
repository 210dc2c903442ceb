import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { migrations } from "../../migrations/index.js"
import { migrate } from "../../src/runtime/postgres/Migrations.js"
import { AppSql, connect, WriterSql } from "../../src/runtime/postgres/Pools.js"
import { single } from "../../src/runtime/postgres/Single.js"
import { urlsOfLogin } from "../../src/runtime/postgres/Roles.js"
import { layer, ownerSql, TestDatabase } from "../support/Database.js"

const insertOrganisation = (id: string) =>
  Effect.flatMap(
    WriterSql,
    (sql) => sql`INSERT INTO organisations (id, name, slug, plan) VALUES (${id}, ${id}, ${id}, 'unlimited')`
  )

it.layer(layer)("a migrated database", (it) => {
  it.scoped("two processes that migrate at once run each migration once", () =>
    Effect.gen(function* () {
      const { urls } = yield* TestDatabase
      const owner = yield* ownerSql
      yield* owner`DROP SCHEMA public CASCADE`
      yield* owner`CREATE SCHEMA public`
      yield* owner`GRANT USAGE ON SCHEMA public TO svc_writer, svc_app, svc_audit_reader`
      const done = yield* Effect.all([migrate(urls.owner), migrate(urls.owner)], { concurrency: 2 })
      assert.deepStrictEqual(done.map((names) => names.length).sort(), [0, Object.keys(migrations).length])
    })
  )

  it.effect("a request sees its own organisation and nothing without one; the writer sees all", () =>
    Effect.gen(function* () {
      yield* insertOrganisation("org_a")
      yield* insertOrganisation("org_b")
      const app = yield* AppSql
      const writer = yield* WriterSql
      const seen = yield* app.withTransaction(
        app`SELECT set_config('svc.org', 'org_a', true)`.pipe(Effect.zipRight(app`SELECT id FROM organisations`))
      )
      assert.deepStrictEqual(seen, [{ id: "org_a" }])
      assert.deepStrictEqual(yield* app`SELECT id FROM organisations`, [])
      assert.strictEqual((yield* writer`SELECT id FROM organisations`).length, 2)
    })
  )

  it.effect("neither a request nor the writer can make tables or read what was not granted", () =>
    Effect.gen(function* () {
      const app = yield* AppSql
      const writer = yield* WriterSql
      const refusals = yield* Effect.all([
        Effect.flip(app`CREATE TABLE t (a int)`),
        Effect.flip(writer`CREATE TABLE t (a int)`),
        Effect.flip(app`CREATE TEMP TABLE t (a int)`),
        Effect.flip(app`SELECT * FROM journal`),
        Effect.flip(app`SELECT * FROM svc_migrations`)
      ])
      for (const { cause } of refusals) assert.match(String(cause), /permission denied/)
    })
  )

  it.effect("bigint reads as number where exact and as text beyond", () =>
    Effect.gen(function* () {
      const sql = yield* WriterSql
      const rows = yield* sql`SELECT 9007199254740991::bigint AS exact, 9007199254740993::bigint AS beyond`
      assert.deepStrictEqual(rows, [{ exact: 9007199254740991, beyond: "9007199254740993" }])
    })
  )

  it.scoped("one login takes on each role by its connection", () =>
    Effect.gen(function* () {
      const { admin } = yield* TestDatabase
      const urls = urlsOfLogin(admin)
      const sql = yield* connect(urls.app, { maxConnections: 1, applicationName: "test" })
      assert.deepStrictEqual(yield* sql`SELECT current_user AS who`, [{ who: "svc_app" }])
      assert.match(String((yield* Effect.flip(sql`CREATE TABLE t (a int)`)).cause), /permission denied/)
    })
  )

  it.effect("a second service on the same database is refused until the first has ended", () =>
    Effect.gen(function* () {
      const sql = yield* WriterSql
      const refusal = yield* Effect.scoped(single(sql).pipe(Effect.zipRight(Effect.flip(Effect.scoped(single(sql))))))
      assert.match(String(refusal), /Another svc already runs on this database \(svc writer from 127\.0\.0\.1/)
      yield* Effect.scoped(single(sql))
    })
  )
})
