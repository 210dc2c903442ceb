import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Schedule } from "effect"
import { migrations } from "../../migrations/index.js"
import { migrate } from "../../src/runtime/postgres/database/Migrations.js"
import { AppSql, connect, WriterSql } from "../../src/runtime/postgres/database/Pools.js"
import { holdDatabase } from "../../src/runtime/postgres/database/DatabaseLock.js"
import { urlsOfLogin } from "../../src/runtime/postgres/database/Roles.js"
import { layer, layerOverTcp, ownerSql, TestDatabase } from "../support/Database.js"
import { layer as withLayer } from "../support/layer.js"
import { announce } from "../support/LogExpectations.js"

/** The key of the lock under which migrations run. */
const migrationLock = 1_937_137_966

const insertOrganisation = (id: string) =>
  Effect.flatMap(
    WriterSql,
    (sql) => sql`INSERT INTO organisations (id, name, slug, plan) VALUES (${id}, ${id}, ${id}, 'unlimited')`
  )

withLayer(layerOverTcp, { excludeTestServices: true })("a migrated database", (it) => {
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

  it.scoped("a start that waits for another's migration can be stopped", () =>
    Effect.gen(function* () {
      const { urls } = yield* TestDatabase
      const owner = yield* ownerSql
      const other = yield* owner.reserve
      const [last] =
        yield* owner`DELETE FROM svc_migrations WHERE migration_id = (SELECT max(migration_id) FROM svc_migrations)
        RETURNING migration_id, created_at, name`
      yield* other.executeUnprepared("SELECT pg_advisory_lock($1)", [migrationLock], undefined)
      const waiting = yield* Effect.fork(migrate(urls.owner))
      yield* Effect.repeat(owner`SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`, {
        until: (rows) => rows.length > 0
      })
      yield* Effect.timeout(Fiber.interrupt(waiting), "5 seconds")
      yield* other.executeUnprepared("SELECT pg_advisory_unlock($1)", [migrationLock], undefined)
      assert.isDefined(last)
      yield* owner`INSERT INTO svc_migrations ${owner.insert(last ?? {})}`
    })
  )

  it.effect("a request sees the rows of its own organisation, and none without one; the writer sees all", () =>
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

  it.effect("neither a request nor the writer can create tables or read without a grant", () =>
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

  it.scoped("one login assumes each role by its connection", () =>
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
      const refusal = yield* Effect.scoped(
        holdDatabase(sql, Effect.void).pipe(Effect.zipRight(Effect.flip(Effect.scoped(holdDatabase(sql, Effect.void)))))
      )
      assert.match(String(refusal), /Another svc already runs on this database \(svc writer \w+ from 127\.0\.0\.1\)/)
      yield* Effect.scoped(holdDatabase(sql, Effect.void))
    })
  )
})

it.scopedLive(
  "a service whose session was terminated takes the lock again, or learns that another service has it",
  () =>
    Effect.gen(function* () {
      announce(/"database\.session_lost"/, { required: true })
      announce(/"database\.held_by_another"/, { required: true })
      const { admin, urls } = yield* TestDatabase
      const server = yield* connect(admin, { maxConnections: 1, applicationName: "test" })
      const first = yield* connect(urls.owner, { maxConnections: 2, applicationName: "first" })
      const lost = yield* Deferred.make<void>()
      yield* holdDatabase(first, Deferred.succeed(lost, undefined))
      const holder = server<{ readonly pid: number; readonly name: string }>`
        SELECT pid, application_name AS name FROM pg_stat_activity JOIN pg_locks USING (pid)
        WHERE locktype = 'advisory' AND granted AND datname = current_database()`
      const cut = Effect.flatMap(holder, ([{ pid } = { pid: 0 }]) => server`SELECT pg_terminate_backend(${pid}, 5000)`)
      const [before] = yield* holder
      yield* cut
      const after = yield* holder.pipe(
        Effect.filterOrFail(
          (rows) => rows.length > 0,
          () => "nobody holds it yet"
        ),
        Effect.retry(Schedule.spaced("50 millis"))
      )
      assert.strictEqual(after[0]?.name, "first")
      assert.notStrictEqual(after[0]?.pid, before?.pid)
      const second = yield* connect(urls.owner, { maxConnections: 2, applicationName: "second" })
      yield* cut
      yield* holdDatabase(second, Effect.void)
      yield* Deferred.await(lost)
      assert.strictEqual((yield* holder)[0]?.name, "second")
    }).pipe(Effect.timeout("20 seconds"), Effect.provide(layer))
)
