/** One service per database, where one node does everything and no other may. */
import type { SqlClient } from "@effect/sql"
import { Effect } from "effect"
import { Refusal } from "../Refusal.js"

/**
 * Holds the database for this process as long as the scope lives: by a lock of its session, which ends with the
 * process however it ends. Fails when another process holds it.
 */
export const single = Effect.fn("Single.hold")(function* (sql: SqlClient.SqlClient) {
  const session = yield* sql.reserve
  const rows = yield* session.executeValues("SELECT pg_try_advisory_lock($1)", [lockKey])
  if (rows[0]?.[0] === true) {
    return yield* Effect.addFinalizer(() =>
      Effect.ignore(session.executeUnprepared("SELECT pg_advisory_unlock($1)", [lockKey], undefined))
    )
  }
  const holder = yield* session.executeValues(
    "SELECT application_name, client_addr::text FROM pg_stat_activity JOIN pg_locks USING (pid) " +
      "WHERE locktype = 'advisory' AND granted AND objid = $1",
    [lockKey]
  )
  const [name, address] = holder[0] ?? []
  return yield* new Refusal({
    message:
      `Another svc already runs on this database${name ? ` (${name}${address ? ` from ${address}` : ""})` : ""}. ` +
      "Stop it first, or give this one a database of its own."
  })
})

/** Arbitrary, and the same in every release. */
const lockKey = 1_937_137_967
