/** Ensures that one service runs per database: the single-node layout has no other protection. */
import type { Sql } from "./Sql.js"
import type { SqlError } from "@effect/sql/SqlError"
import { Cause, Deferred, Effect, Schedule, Schema } from "effect"
import { OperatorError } from "../../process/OperatorError.js"
import { rowDecoder } from "../record/Table.js"

/** Arbitrary, and the same in every release. */
export const lockKey = 1_937_137_967

/**
 * Holds an advisory lock on the database as long as the scope lives. It is a session's lock, so it ends with the
 * process, however that ends. Fails when another process holds it. A session that is lost is replaced within seconds;
 * if another process takes the lock before, `onLost` runs and must end this process.
 */
export const holdDatabase = Effect.fn("Single.hold")(function* (sql: Sql, onLost: Effect.Effect<void>) {
  const acquired = yield* Deferred.make<void, OperatorError | SqlError>()
  const onFailure = (failure: OperatorError | SqlError, what: Effect.Effect<void>) =>
    Effect.flatMap(Deferred.fail(acquired, failure), (wasFirst) => (wasFirst ? Effect.never : what))
  yield* hold(sql, Deferred.succeed(acquired, undefined)).pipe(
    Effect.catchTags({
      Refusal: (failure) =>
        onFailure(failure, Effect.zipRight(Effect.logFatal("database.held_by_another", Cause.fail(failure)), onLost)),
      SqlError: (failure) => onFailure(failure, Effect.logWarning("database.session_lost", Cause.fail(failure)))
    }),
    Effect.repeat(Schedule.spaced(checkInterval)),
    Effect.forkScoped
  )
  return yield* Deferred.await(acquired)
})

/** Takes the lock and checks its session until that is lost. */
const hold = (sql: Sql, onAcquired: Effect.Effect<unknown>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const session = yield* sql.reserve
      const rows = yield* session.executeValues("SELECT pg_try_advisory_lock($1)", [lockKey])
      if (rows[0]?.[0] !== true) return yield* refusal(sql)
      yield* Effect.addFinalizer(() => Effect.ignore(session.executeValues("SELECT pg_advisory_unlock($1)", [lockKey])))
      yield* onAcquired
      return yield* Effect.repeat(session.executeValues("SELECT 1", []), Schedule.spaced(checkInterval))
    })
  )

/** Who holds the database's lock. `since`: when it connected, Unix milliseconds. */
export const decodeHolder = rowDecoder("pg_stat_activity", {
  name: Schema.String,
  address: Schema.NullOr(Schema.String),
  since: Schema.Number
})

/** Who holds the database's lock: a service that is alone, or a node of a cluster, whose nodes share it. */
export const holderSql = `
  SELECT application_name AS name, host(client_addr) AS address, extract(epoch FROM backend_start)::float8 * 1000 AS since
  FROM pg_stat_activity JOIN pg_locks USING (pid)
  WHERE locktype = 'advisory' AND granted AND objid = ${lockKey} AND datname = current_database() LIMIT 1`

const refusal = (sql: Sql) =>
  Effect.flatMap(sql.unsafe(holderSql), ([holder]) =>
    refusalOf(
      holder,
      "Stop it first, or give this one a database of its own; a node of its cluster starts with --role."
    )
  )

/** The refusal for whom the lock was not free. `advice`: what to do. */
export const refusalOf = (holder: object | undefined, advice: string): OperatorError => {
  const { name, address } = holder === undefined ? { name: "", address: null } : decodeHolder(holder)
  const who = name === "" ? "" : ` (${name}${address === null ? "" : ` from ${address}`})`
  const what = name.startsWith(nodeSession) ? "A cluster of svc" : "Another svc"
  return new OperatorError({ message: `${what} already runs on this database${who}. ${advice}` })
}

/** How the sessions of a cluster's nodes are named. */
export const nodeSession = "svc node"

const checkInterval = "1 second"
