/** Deliveries of events to endpoints: the attempts that are kept, and what disables an endpoint. */
import { assert } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import { Deliveries } from "../../src/actors/ports/delivery/Deliveries.js"
import type { Delivery, Verdict } from "../../src/domain/delivery/Delivery.js"
import { layer as driver } from "../../src/runtime/postgres/delivery/Deliveries.js"
import { WriterSql } from "../support/Sql.js"
import { layer as database, ownerSql } from "../support/Database.js"
import { aloneNode } from "../support/ownership.js"
import { claimDue } from "../support/deliveries.js"
import { layer } from "../support/layer.js"
import { scaled } from "../support/slowness.js"

const delivered: Verdict = { _tag: "Delivered", status: 200 }
const refused: Verdict = { _tag: "Retry", after: Duration.minutes(5), status: 500, reason: "the endpoint answered 500" }
const gone: Verdict = { _tag: "Exhausted", status: 410, reason: "the endpoint answered 410" }

const begin = Effect.gen(function* () {
  const sql = yield* WriterSql
  yield* sql`DELETE FROM deliveries`
  yield* sql`DELETE FROM delivery_attempts`
  yield* sql`DELETE FROM webhook_endpoints`
  yield* sql`DELETE FROM domain_events`
})

const endpoint = (id: string, url: string, status = "active") =>
  Effect.flatMap(
    WriterSql,
    (
      sql
    ) => sql`INSERT INTO webhook_endpoints (id, org, space, url, events, status, secret, secret_before, rotated_at, created_by)
      VALUES (${id}, 'org_a', 'spc_a', ${url}, ${["*"]}, ${status}, 'new', 'old', now() - interval '1 hour', 'key_a')`
  )

const deliver = (id: string, endpointId: string) =>
  Effect.flatMap(
    WriterSql,
    (sql) => sql`INSERT INTO deliveries (id, org, kind, url, endpoint_id, event_type, payload, next_at)
      VALUES (${id}, 'org_a', 'outbound', 'https://former.example/', ${endpointId}, 'key.expiring', '{}', now() - interval '1 second')`
  )

const settle = (delivery: Delivery | undefined, verdict: Verdict) =>
  Effect.flatMap(Deliveries, (deliveries) =>
    delivery === undefined
      ? Effect.dieMessage("nothing was claimed")
      : deliveries.settle(delivery, verdict, Duration.millis(12))
  )

const rows = <A extends object>(statement: string) => Effect.flatMap(WriterSql, (sql) => sql.unsafe<A>(statement))

const attempts = rows<object>(
  `SELECT delivery_id AS id, number, outcome, status, error, duration_ms AS millis FROM delivery_attempts ORDER BY delivery_id, number`
)
const endpoints = rows<object>(
  `SELECT status, disabled_reason AS reason, failing_since IS NOT NULL AS failing, version FROM webhook_endpoints ORDER BY id`
)
const statuses = rows<{ readonly id: string; readonly status: string }>(`SELECT id, status FROM deliveries ORDER BY id`)

layer(
  driver.pipe(
    Layer.provide(aloneNode),
    Layer.provideMerge(
      Layer.effectDiscard(
        Effect.scoped(
          Effect.flatMap(
            ownerSql,
            (sql) => sql`INSERT INTO organisations (id, name, slug, plan) VALUES ('org_a', 'A', 'a', 'unlimited')`
          )
        )
      )
    ),
    Layer.provideMerge(database)
  ),
  { excludeTestServices: true, timeout: scaled(120_000) }
)("a delivery to an endpoint", (it) => {
  it.effect("goes to the endpoint's present URL, with its secrets, and each attempt is kept", () =>
    Effect.gen(function* () {
      const deliveries = yield* Deliveries
      const sql = yield* WriterSql
      yield* begin
      yield* endpoint("whe_a", "https://old.example/")
      yield* deliver("dlv_a", "whe_a")
      const [first] = yield* claimDue(deliveries)
      assert.deepInclude(first, { url: "https://old.example/", attempt: 1, scheduledAttempt: 1, spaceId: null })
      assert.deepStrictEqual(
        [Buffer.from(first?.endpoint?.secret ?? []), Buffer.from(first?.endpoint?.secretBefore ?? [])].map(String),
        ["new", "old"]
      )
      yield* settle(first, refused)
      yield* sql`UPDATE webhook_endpoints SET url = 'https://new.example/', rotated_at = now() - interval '25 hours'`
      yield* sql`UPDATE deliveries SET next_at = now()`
      const [second] = yield* claimDue(deliveries)
      assert.deepInclude(second, { url: "https://new.example/", attempt: 2 })
      assert.isNull(second?.endpoint?.secretBefore, "the overlap of the secrets has ended")
      yield* settle(second, delivered)
      assert.deepStrictEqual(yield* attempts, [
        { id: "dlv_a", number: 1, outcome: "failed", status: 500, error: "the endpoint answered 500", millis: 12 },
        { id: "dlv_a", number: 2, outcome: "delivered", status: 200, error: null, millis: 12 }
      ])
    })
  )

  it.effect("that is answered 410 disables the endpoint, and tells of it once", () =>
    Effect.gen(function* () {
      const deliveries = yield* Deliveries
      yield* begin
      yield* endpoint("whe_a", "https://a.example/")
      yield* deliver("dlv_a", "whe_a")
      yield* deliver("dlv_b", "whe_a")
      for (const one of yield* claimDue(deliveries)) yield* settle(one, gone)
      assert.deepStrictEqual(yield* endpoints, [{ status: "disabled", reason: "gone", failing: true, version: 2 }])
      assert.deepStrictEqual(yield* rows(`SELECT type, subject, payload FROM domain_events`), [
        {
          type: "webhook_endpoint.disabled",
          subject: "whe_a",
          payload: { webhookEndpointId: "whe_a", url: "https://a.example/", reason: "gone" }
        }
      ])
      assert.deepStrictEqual(
        (yield* statuses).map(({ status }) => status),
        ["undelivered", "undelivered"]
      )
    })
  )

  it.effect("to the former URL says nothing about the endpoint's new one", () =>
    Effect.gen(function* () {
      const deliveries = yield* Deliveries
      const sql = yield* WriterSql
      yield* begin
      yield* endpoint("whe_a", "https://old.example/")
      yield* deliver("dlv_a", "whe_a")
      const [late] = yield* claimDue(deliveries)
      yield* sql`UPDATE webhook_endpoints SET url = 'https://new.example/'`
      yield* settle(late, gone)
      assert.deepStrictEqual(yield* endpoints, [{ status: "active", reason: null, failing: false, version: 1 }])
    })
  )

  it.effect("that fails for five days without a success disables the endpoint; a success begins anew", () =>
    Effect.gen(function* () {
      const deliveries = yield* Deliveries
      const sql = yield* WriterSql
      const next = (verdict: Verdict) =>
        Effect.gen(function* () {
          yield* sql`UPDATE deliveries SET next_at = now(), status = 'pending'`
          yield* settle((yield* claimDue(deliveries))[0], verdict)
          return (yield* endpoints)[0]
        })
      yield* begin
      yield* endpoint("whe_a", "https://a.example/")
      yield* deliver("dlv_a", "whe_a")
      const active = { status: "active", reason: null, version: 1 }
      assert.deepStrictEqual(yield* next(refused), { ...active, failing: true })
      yield* sql`UPDATE webhook_endpoints SET failing_since = now() - interval '119 hours'`
      assert.deepStrictEqual(yield* next(refused), { ...active, failing: true })
      assert.deepStrictEqual(yield* next(delivered), { ...active, failing: false })
      assert.deepStrictEqual(yield* next(refused), { ...active, failing: true })
      yield* sql`UPDATE webhook_endpoints SET failing_since = now() - interval '121 hours'`
      assert.deepStrictEqual(yield* next(refused), { status: "disabled", reason: "failing", failing: true, version: 2 })
    })
  )

  it.effect("that is disabled or deleted is kept as undelivered, and hides no other", () =>
    Effect.gen(function* () {
      const deliveries = yield* Deliveries
      const sql = yield* WriterSql
      yield* begin
      yield* endpoint("whe_a", "https://a.example/", "disabled")
      yield* endpoint("whe_b", "https://b.example/")
      yield* sql`INSERT INTO deliveries (id, org, kind, url, endpoint_id, payload, next_at)
        SELECT 'dlv_' || n, 'org_a', 'outbound', '', CASE WHEN n % 2 = 0 THEN 'whe_a' ELSE 'whe_gone' END, '{}', now() - interval '1 hour'
        FROM generate_series(1000, 3499) AS n`
      yield* deliver("dlv_b", "whe_b")
      assert.deepStrictEqual(
        (yield* claimDue(deliveries)).map(({ id }) => String(id)),
        ["dlv_b"]
      )
      assert.deepStrictEqual(yield* rows(`SELECT status, count(*)::int AS n FROM deliveries GROUP BY 1 ORDER BY 1`), [
        { status: "pending", n: 1 },
        { status: "undelivered", n: 2500 }
      ])
      assert.deepStrictEqual(
        yield* rows(`SELECT outcome, number, error, count(*)::int AS n FROM delivery_attempts GROUP BY 1, 2, 3`),
        [{ outcome: "skipped", number: 0, error: "the endpoint is disabled", n: 2500 }]
      )
    })
  )
})
