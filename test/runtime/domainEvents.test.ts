/** Domain events leave the outbox once, with all that they become. */
import { assert } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { DomainEvents, type PublishedEvent } from "../../src/actors/pipeline/Outbound.js"
import type { DeliveryId, WebhookEndpointId } from "../../src/domain/Ids.js"
import { layer as driver } from "../../src/runtime/postgres/delivery/DomainEvents.js"
import { WriterSql } from "../../src/runtime/postgres/database/Pools.js"
import { layer as database } from "../support/Database.js"
import { layer } from "../support/layer.js"
import { oneOfTwoNodes } from "../support/ownership.js"
import { scaled } from "../support/slowness.js"

const emit = (count: number) =>
  Effect.flatMap(
    WriterSql,
    (sql) => sql`INSERT INTO domain_events (id, org, type, subject, customer_id, payload)
      SELECT 'evt_' || n, 'org_a', 'installation.created', 'inst_' || n, 'cus_a', '{"n": 1}' FROM generate_series(1000, ${999 + count}::int) AS n`
  )

const forOneEndpoint = (node: string) => (events: ReadonlyArray<PublishedEvent["event"]>) =>
  events.map((event) => ({
    event,
    deliveries: [
      {
        id: `dlv_${event.id}_${node}` as DeliveryId,
        endpoint: { id: "whe_a" as WebhookEndpointId, url: "https://a.example/" },
        payload: "{}"
      }
    ],
    notifications: []
  }))

layer(driver.pipe(Layer.provideMerge(Layer.merge(database, oneOfTwoNodes))), {
  excludeTestServices: true,
  timeout: scaled(120_000)
})("domain events", (it) => {
  it.effect("that several nodes publish at once become deliveries once", () =>
    Effect.gen(function* () {
      const events = yield* DomainEvents
      const sql = yield* WriterSql
      yield* emit(500)
      const read = yield* events.lease(200)
      assert.deepStrictEqual([read.length, read[0]?.id, read[199]?.id].map(String), ["200", "evt_1000", "evt_1199"])
      // Only one node has an event: the next one gets others.
      assert.strictEqual((yield* events.lease(1))[0]?.id, "evt_1200")
      // A node that cannot publish gives back what it has, and what one that died had is free after its lease.
      yield* events.release(read.slice(0, 100))
      assert.strictEqual((yield* events.lease(1))[0]?.id, "evt_1000")
      yield* sql`UPDATE domain_events SET leased_until = now() - interval '1 second' WHERE leased_until IS NOT NULL`
      const node = (name: string) =>
        Effect.gen(function* () {
          let removed = 0
          for (;;) {
            const pending = yield* events.lease(100)
            if (pending.length === 0) return removed
            removed += (yield* events.publish(forOneEndpoint(name)(pending))).length
          }
        })
      const removed = yield* Effect.all([node("a"), node("b"), node("c")], { concurrency: "unbounded" })
      assert.strictEqual(
        removed.reduce((sum, one) => sum + one, 0),
        500
      )
      assert.deepStrictEqual(
        yield* sql`SELECT count(*)::int AS n, count(DISTINCT substr(id, 5, 8))::int AS events, min(kind) AS kind,
            min(event_type) AS type, min(customer_id) AS customer, min(status) AS status FROM deliveries`,
        [
          {
            n: 500,
            events: 500,
            kind: "outbound",
            type: "installation.created",
            customer: "cus_a",
            status: "pending"
          }
        ]
      )
      assert.deepStrictEqual(yield* sql`SELECT id FROM domain_events`, [])
    })
  )

  it.effect("that another node has locked for a moment are published when it lets go", () =>
    Effect.gen(function* () {
      const events = yield* DomainEvents
      const sql = yield* WriterSql
      yield* emit(10)
      const leased = yield* events.lease(10)
      const isLocked = yield* Effect.makeLatch()
      const mayEnd = yield* Effect.makeLatch()
      const other = yield* sql`SELECT id FROM domain_events WHERE id < 'evt_1005' FOR UPDATE`.pipe(
        Effect.zipRight(isLocked.open),
        Effect.zipRight(mayEnd.await),
        sql.withTransaction,
        Effect.fork
      )
      yield* isLocked.await
      const publisher = yield* Effect.fork(events.publish(forOneEndpoint("late")(leased)))
      const isWaiting = sql`SELECT pid FROM pg_locks WHERE NOT granted`
      yield* Effect.repeat(isWaiting, { until: (waiting) => waiting.length > 0 })
      yield* mayEnd.open
      assert.lengthOf(yield* publisher, 10)
      yield* other
    })
  )
})
