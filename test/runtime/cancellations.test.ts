/** An interrupted statement is cancelled on the server, and no statement of anybody else. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { connect } from "../../src/runtime/postgres/database/Pools.js"
import { layer, TestDatabase } from "../support/Database.js"

const pool = Effect.flatMap(TestDatabase, ({ urls }) =>
  connect(urls.writer, { maxConnections: 3, applicationName: "cancellations" })
)

describe("an interrupted statement", () => {
  it.scopedLive("does not cancel the next one on its connection", () =>
    Effect.gen(function* () {
      const sql = yield* pool
      const interrupted = Effect.gen(function* () {
        const fiber = yield* Effect.fork(sql`SELECT pg_sleep(0.002)`)
        yield* Effect.sleep("2 millis")
        yield* Fiber.interrupt(fiber)
      })
      const others = Effect.repeatN(sql`SELECT pg_sleep(0.0005)`, 400)
      const background = yield* Effect.fork(Effect.forever(interrupted))
      yield* Effect.all([others, others], { concurrency: "unbounded" })
      yield* Fiber.interrupt(background)
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("ends on the server", () =>
    Effect.gen(function* () {
      const sql = yield* pool
      const fiber = yield* Effect.fork(sql`SELECT pg_sleep(600)`)
      const sleeping = sql<{ n: number }>`SELECT count(*)::int AS n FROM pg_stat_activity
        WHERE query = 'SELECT pg_sleep(600)' AND state = 'active'`
      const until = (n: number) => Effect.repeat(sleeping, { until: ([row]) => row?.n === n })
      yield* until(1)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(yield* until(0), [{ n: 0 }])
    }).pipe(Effect.provide(layer))
  )
})
