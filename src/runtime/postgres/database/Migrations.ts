/**
 * Migrates the database to the schema of this release, as far as no service that runs, or may still be gone back to, breaks:
 * what only the confirmed release can do without follows its confirmation.
 */
import { SqlClient } from "@effect/sql"
import { Effect, type Redacted, Schedule } from "effect"
import { migrations, oldestBeside } from "../../../../migrations/index.js"
import {
  confirmedAfterStart,
  planMigrations,
  serviceRelease,
  startRefusal,
  type StartingProgram
} from "../../../domain/run/ServiceRelease.js"
import { type KnownReleases, readReleases } from "./ReleaseRows.js"
import { reasonOf, OperatorError } from "../../process/OperatorError.js"
import { sqlStateOf } from "./DatabaseUnavailable.js"
import { connect } from "./Pools.js"
import { variableOf } from "./Roles.js"
import { UnreachableDatabase } from "./UnreachableDatabase.js"
import type { Sql } from "./Sql.js"

/** A command, or a service that is alone. */
const aProgram: StartingProgram = { release: serviceRelease, build: null, engines: null }

/**
 * Runs the pending migrations and returns their names: all of them or none, but one after the other while services run, so
 * that none holds the locks of several. Two processes never migrate at once: the second waits for the lock and then has
 * none to run. Fails with `OperatorError` if the program must not run on this database, or would break a service on it.
 */
export const migrate = Effect.fn("Migrations.migrate")(
  function* (owner: Redacted.Redacted, program: StartingProgram = aProgram) {
    const sql = yield* connect(owner, {
      maxConnections: 2,
      applicationName: "svc migrations",
      setting: variableOf(owner, "owner")
    })
    const applied = yield* plan(sql, program).pipe(
      // Most starts have none to run, and need no lock.
      Effect.flatMap(({ isCurrent }) =>
        isCurrent ? Effect.succeed([]) : Effect.scoped(Effect.zipRight(holdMigrationLock, runMigrations(program)))
      ),
      Effect.provideService(SqlClient.SqlClient, sql)
    )
    const last = applied.at(-1)
    if (last !== undefined)
      yield* Effect.annotateLogs(Effect.logInfo("postgres.migrated"), { migrations: applied.length, last })
    return applied.map((name) => name.slice(5))
  },
  Effect.scoped,
  Effect.catchTag("SqlError", (failure) => migrationError(failure.cause))
)

/** The names of the migrations that the database has not run, without those that wait for the release's confirmation. */
export const pendingMigrations = Effect.fn("Migrations.missing")(function* (sql: Sql) {
  return planMigrations(yield* findPending(sql), serviceRelease, [], (yield* readReleases(sql)).record).now
})

/** The pending migrations, each with the oldest release that may run beside it. */
const findPending = Effect.fnUntraced(function* (sql: Sql) {
  const [table] = yield* sql`SELECT to_regclass('svc_migrations') IS NOT NULL AS present`
  const applied = table?.["present"] === true ? yield* sql`SELECT migration_id AS id FROM svc_migrations` : []
  return Object.keys(migrations)
    .filter((name) => !applied.some((row) => row["id"] === numberOf(name)))
    .map((name) => ({ name, oldestBeside: oldestBeside[name] ?? 1 }))
})

const numberOf = (name: string): number => Number(name.slice(0, 4))

/** What the program has to run. A command is told first what it would break, a start beside whom it cannot run. */
const plan = Effect.fnUntraced(function* (sql: Sql, program: StartingProgram) {
  const known = yield* readReleases(sql)
  const { now, refusal } = planMigrations(yield* findPending(sql), program.release, known.live, known.record)
  const foreign = startRefusal(program, known.live, known.record)
  const message = program.build === null ? (refusal ?? foreign) : (foreign ?? refusal)
  if (message !== undefined) return yield* new OperatorError({ message })
  const confirmed = confirmedAfter(program, known)
  return { known, names: now, confirmed, isCurrent: now.length === 0 && known.record?.confirmed === confirmed }
})

/** Nothing changes what is confirmed while services run. */
const confirmedAfter = ({ release }: StartingProgram, { live, record }: KnownReleases): number =>
  live.length > 0 && record !== undefined ? record.confirmed : confirmedAfterStart(release, record)

/** An accepted call may wait this long for a migration that waits for its own lock; then that lets it go first. */
const lockTimeout = "SET LOCAL lock_timeout = '1s'"
const lockNotAvailable = "55P03"
const deadlockDetected = "40P01"
/** Half a minute of tries. */
const lockTries = Schedule.intersect(Schedule.spaced("500 millis"), Schedule.recurs(20))

/** The caller holds the lock. */
const runMigrations = Effect.fnUntraced(function* (program: StartingProgram) {
  const sql = yield* SqlClient.SqlClient
  const { confirmed, known, names } = yield* plan(sql, program)
  yield* sql`CREATE TABLE IF NOT EXISTS svc_migrations (
    migration_id integer primary key, created_at timestamp with time zone not null default now(), name text not null)`
  const run = (name: string) =>
    Effect.zipRight(
      // The name of one, since it is a key.
      migrations[name as keyof typeof migrations],
      sql`INSERT INTO svc_migrations ${sql.insert({ migration_id: numberOf(name), name: name.slice(5) })}`
    )
  const areServed = known.live.length > 0
  for (const batch of areServed ? names.map((name) => [name]) : [names]) {
    const all = Effect.zipRight(
      areServed ? sql.unsafe(lockTimeout) : Effect.void,
      Effect.forEach(batch, run, { discard: true })
    )
    yield* Effect.retry(sql.withTransaction(all), {
      schedule: lockTries,
      while: (failure) => [lockNotAvailable, deadlockDetected].includes(sqlStateOf(failure) ?? "")
    })
  }
  yield* sql`UPDATE service_release SET confirmed = ${confirmed}, confirmed_at = now(), engine = NULL
    WHERE confirmed <> ${confirmed}`
  return names
})

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
