/** Migrates the database to the schema of this release. */
import { Migrator, SqlClient } from "@effect/sql"
import { Cause, Effect, Option, type Redacted } from "effect"
import { migrations } from "../../../../migrations/index.js"
import { reasonOf, OperatorError } from "../../process/OperatorError.js"
import { connect } from "./Pools.js"
import { variableOf } from "./Roles.js"
import { UnreachableDatabase } from "./UnreachableDatabase.js"
import type { Sql } from "./Sql.js"

/**
 * Runs the pending migrations, all of them or none, and returns their names. Two processes never migrate at once: the
 * second waits for the lock and then has none to run.
 */
export const migrate = Effect.fn("Migrations.migrate")(
  function* (owner: Redacted.Redacted) {
    const sql = yield* connect(owner, {
      maxConnections: 2,
      applicationName: "svc migrations",
      setting: variableOf(owner, "owner")
    })
    const applied = yield* pendingMigrations(sql).pipe(
      // Most starts have none to run, and need no lock.
      Effect.flatMap((pending) =>
        pending.length === 0 ? Effect.succeed([]) : Effect.scoped(Effect.zipRight(holdMigrationLock, runMigrations))
      ),
      Effect.provideService(SqlClient.SqlClient, sql)
    )
    const last = applied.at(-1)
    if (last !== undefined)
      yield* Effect.annotateLogs(Effect.logInfo("postgres.migrated"), {
        migrations: applied.length,
        last: `${String(last[0]).padStart(4, "0")}_${last[1]}`
      })
    return applied.map(([, name]) => name)
  },
  Effect.scoped,
  Effect.catchTags({
    SqlError: (failure) => migrationError(failure.cause),
    MigrationError: (failure) => migrationError(failure.cause ?? failure)
  })
)

/** The names of the migrations that the database has not run. */
export const pendingMigrations = Effect.fn("Migrations.missing")(function* (sql: Sql) {
  const [table] = yield* sql`SELECT to_regclass('svc_migrations') IS NOT NULL AS present`
  const applied = table?.["present"] === true ? yield* sql`SELECT migration_id AS id FROM svc_migrations` : []
  return Object.keys(migrations).filter((name) => !applied.some((row) => row["id"] === Number(name.slice(0, 4))))
})

const runMigrations = Effect.catchAllCause(
  Migrator.make({})({ loader: Migrator.fromRecord(migrations), table: "svc_migrations" }),
  // The migrator turns a failed migration into a defect.
  (cause) =>
    Option.match(Cause.dieOption(cause), {
      onNone: () => Effect.failCause(cause),
      onSome: (defect) => (defect instanceof Migrator.MigrationError ? Effect.fail(defect) : Effect.failCause(cause))
    })
)

/** Holds the lock on a connection of its own: the migrations use the other one. */
const holdMigrationLock = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const session = yield* sql.reserve
  // A start that waits for another's migration can be stopped.
  yield* Effect.acquireReleaseInterruptible(
    session.executeUnprepared("SELECT pg_advisory_lock($1)", [lockKey], undefined),
    () => Effect.ignore(session.executeUnprepared("SELECT pg_advisory_unlock($1)", [lockKey], undefined))
  )
})

const migrationError = (cause: unknown) =>
  new OperatorError({
    message:
      cause instanceof UnreachableDatabase
        ? cause.message
        : `The database could not be migrated: ${rootReason(cause)}. ` +
          "If roles or the database are missing, run `npm run svc -- migrate --admin-url <administrator's URL>`."
  })

const rootReason = (cause: unknown): string =>
  cause instanceof Error && cause.cause !== undefined ? rootReason(cause.cause) : reasonOf(cause)

/** Arbitrary, and the same in every release. */
const lockKey = 1_937_137_966
