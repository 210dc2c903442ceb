/**
 * Finds out whether trouble of the database is over: no condition was met for a while, and the database writes a few
 * megabytes of temporary files. Asks only while there is trouble.
 */
import type { Sql } from "./Sql.js"
import { Clock, Duration, Effect, Layer, Schedule } from "effect"
import { DatabaseTrouble } from "../../../actors/ports/DatabaseTrouble.js"
import { WriterSql } from "./Pools.js"

const interval = Duration.seconds(2)
/** How long no statement may be refused. A condition that refuses single statements only is met less often. */
const quiet = { all: Duration.seconds(5), some: Duration.seconds(10) }

/** Sorts more than the memory for it holds, on the disk of the data. */
const spill = (sql: Sql) =>
  sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`SET LOCAL work_mem = '64kB'`
      yield* sql`SELECT count(*) FROM (SELECT repeat(md5(n::text), 4) AS filler FROM generate_series(1, 30000) n
        ORDER BY filler OFFSET 0) sorted`
      const [row] = yield* sql`
        SELECT current_setting('transaction_read_only')::boolean AS "isReadOnly"`
      return row?.["isReadOnly"] === false
    })
  )

export const layer = Layer.scopedDiscard(
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const trouble = yield* DatabaseTrouble
    const probe = Effect.gen(function* () {
      const ongoing = trouble.ongoing()
      if (ongoing.length === 0) return
      const now = yield* Clock.currentTimeMillis
      const refusesAll = ongoing.some(({ condition }) => condition.refusesAll)
      const before = now - Duration.toMillis(refusesAll ? quiet.all : quiet.some)
      if (ongoing.every(({ lastAt }) => lastAt >= before)) return
      const works = yield* Effect.orElseSucceed(Effect.timeout(spill(sql), "10 seconds"), () => false)
      if (works) yield* trouble.clear(before)
    })
    yield* Effect.forkScoped(Effect.interruptible(Effect.repeat(probe, Schedule.spaced(interval))))
  })
)
