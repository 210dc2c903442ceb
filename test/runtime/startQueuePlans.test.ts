/** A pick from a long start queue, by a plan that was made while the queue was short. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { ownerSql } from "../support/Database.js"
import { empty, layer } from "../support/startQueue.js"
import { layer as withLayer } from "../support/layer.js"

describe("the start queue", () => {
  withLayer(layer, { excludeTestServices: true })((it) => {
    // A connection keeps the plans that it made while the table looked like this.
    const earlier: Readonly<Record<string, string>> = {
      "was empty": "",
      "held one row": "(1, false, 0)",
      "held rows of one organisation": "(3000, false, 0)",
      "held rows that may not start": "(3000, true, 0)",
      "held rows of later times": "(3000, false, 1000)"
    }
    for (const [name, rows] of Object.entries(earlier))
      it.effect(`a pick from 20,000 rows reads few of them, also if the table ${name} when its plan was made`, () =>
        Effect.gen(function* () {
          yield* empty
          const sql = yield* ownerSql
          const insert = (values: string, org: string, flow: string) =>
            sql.unsafe(`INSERT INTO start_queue (org, id, shard, priority, flow, held, not_before)
              SELECT ${org}, 'evt_' || gen_random_uuid(), 1, 1 + i % 4, ${flow}, held, now() + delay * interval '1 second'
              FROM (VALUES ${values}) AS v (times, held, delay), generate_series(1, times) i`)
          const pick = (slots: number) =>
            sql.unsafe(`SELECT FROM svc_take_queued('{1}', ${slots}, 'node', '10 s', '{}', '{}', '{}', '{}')`)
          const read = sql<{ readonly n: number }>`SELECT (seq_tup_read + idx_tup_fetch)::int AS n
            FROM pg_stat_xact_user_tables WHERE relname = 'start_queue'`
          // In one transaction, that is on one connection.
          const fetched = yield* sql.withTransaction(
            Effect.gen(function* () {
              if (rows !== "") yield* insert(rows, "'org_first'", "''")
              yield* sql`ANALYZE start_queue`
              yield* pick(1)
              yield* insert("(20000, false, 0)", "'org_' || i % 100", "'cus_' || i % 300")
              const [before] = yield* read
              assert.lengthOf(yield* pick(64), 64)
              const [after] = yield* read
              return (after?.n ?? Infinity) - (before?.n ?? 0)
            })
          )
          assert.isBelow(fetched, 2_000)
        }).pipe(Effect.scoped)
      )
  })
})
