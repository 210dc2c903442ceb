import { assert } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import { Deliveries } from "../../src/actors/ports/delivery/Deliveries.js"
import type { Room } from "../../src/actors/Places.js"
import { layer as driver } from "../../src/runtime/postgres/delivery/Deliveries.js"
import { WriterSql } from "../support/Sql.js"
import { layer as database } from "../support/Database.js"
import { aloneNode } from "../support/ownership.js"
import { claimDue, endpointOf, openRoom } from "../support/deliveries.js"
import { layer } from "../support/layer.js"
import { scaled } from "../support/slowness.js"
import { outwardPlaces } from "../../src/domain/Limits.js"
import { insertFamily } from "../support/family.js"

const insert = (
  rows: ReadonlyArray<{ readonly id: string; readonly url: string; readonly ageMillis?: number; readonly org?: string }>
) =>
  Effect.flatMap(WriterSql, (sql) =>
    Effect.forEach(
      rows,
      ({
        ageMillis = 1_000,
        id,
        org = "org_a",
        url
      }) => sql`INSERT INTO deliveries (id, org, space, kind, url, execution_id, payload, next_at)
        VALUES (${id}, ${org}, 'spc_a', 'callback', ${url}, 'exec_a', '{}', now() - ${ageMillis} * interval '1 millisecond')`,
      { discard: true }
    )
  )

const clear = Effect.flatMap(WriterSql, (sql) => sql`DELETE FROM deliveries`)

interface Row {
  readonly status: string
  readonly attempts: number
  readonly claimed: boolean
  readonly wait: number
  readonly lastStatus: number | null
  readonly lastError: string | null
}

const rowOf = (id: string) =>
  Effect.flatMap(WriterSql, (sql) =>
    Effect.map(
      sql<Row>`SELECT status, attempts, claimed_until IS NOT NULL AS claimed, last_status AS "lastStatus", last_error AS "lastError",
        round(extract(epoch FROM next_at - now()))::int AS wait FROM deliveries WHERE id = ${id}`,
      ([row]) => row
    )
  )

const ids = (claimed: ReadonlyArray<{ readonly id: string }>) => claimed.map(({ id }) => id).sort()

layer(driver.pipe(Layer.provideMerge(Layer.merge(database, aloneNode))), {
  excludeTestServices: true,
  timeout: scaled(120_000)
})("waiting deliveries on Postgres", (it) => {
  it.effect("are claimed once, the longest due first, two for an endpoint", () =>
    Effect.gen(function* () {
      const deliveries = yield* Deliveries
      yield* clear
      yield* insert([
        { id: "d1", url: "https://a.example/x?n=1", ageMillis: 3_000 },
        { id: "d2", url: "https://a.example/x?n=2", ageMillis: 2_000 },
        { id: "d3", url: "https://a.example/x#3", ageMillis: 1_000 },
        { id: "d4", url: "https://a.example/y", ageMillis: 500 },
        { id: "later", url: "https://b.example/", ageMillis: -60_000 }
      ])
      const first = yield* claimDue(deliveries)
      assert.deepStrictEqual(ids(first), ["d1", "d2", "d4"])
      const { id: _, ...oldest } = first.find(({ url }) => url.endsWith("n=1")) ?? { id: null }
      assert.deepStrictEqual<object>(oldest, {
        organisationId: "org_a",
        spaceId: "spc_a",
        kind: "callback",
        url: "https://a.example/x?n=1",
        executionId: "exec_a",
        payload: "{}",
        attempt: 1,
        scheduledAttempt: 1,
        endpoint: null
      })
      assert.deepStrictEqual(yield* claimDue(deliveries, { closedPartners: ["https://a.example/x"] }), [])
      assert.deepStrictEqual(ids(yield* claimDue(deliveries)), ["d3"])
    })
  )

  it.effect("are found up to the places of an organisation, organisations in turn, and of those who have room", () =>
    Effect.gen(function* () {
      const deliveries = yield* Deliveries
      yield* clear
      const many = (org: string, ageMillis: number) =>
        Array.from({ length: 50 }, (_, i) => ({
          id: `${org}${i}`,
          org,
          url: `https://${org}.example/${i}`,
          ageMillis: ageMillis - i
        }))
      yield* insert([...many("org_a", 9_000), ...many("org_b", 8_000)])
      const found = (room: Partial<Room> = {}) =>
        Effect.map(deliveries.find("deliveries", { ...openRoom, ...room }), (all) => all.map(({ id }): string => id))
      const first = yield* found()
      assert.lengthOf(first, 32)
      assert.deepStrictEqual(first.slice(0, 4), ["org_a0", "org_b0", "org_a1", "org_b1"])
      assert.deepStrictEqual((yield* found({ fullAccounts: ["org_a"] }))[0], "org_b0")
      const answering = ["https://org_a.example/7", "https://org_b.example/9"]
      assert.deepStrictEqual(yield* found({ isReserved: true, answering }), ["org_a7", "org_b9"])
      const reserved = yield* found({ reservedFor: ["org_b"], answering })
      assert.deepStrictEqual(
        reserved.filter((id) => id.startsWith("org_b")),
        ["org_b9"]
      )
      assert.lengthOf(reserved, 17)
    })
  )

  it.effect("of the organisations of an account are found up to the places of one account, in turn", () =>
    Effect.gen(function* () {
      const deliveries = yield* Deliveries
      yield* clear
      yield* insertFamily("org_p", ["org_x", "org_y"])
      const many = (org: string, ageMillis: number) =>
        Array.from({ length: 30 }, (_, i) => ({
          id: `${org}${i}`,
          org,
          url: `https://${org}.example/${i}`,
          ageMillis: ageMillis - i
        }))
      yield* insert([...many("org_x", 9_000), ...many("org_y", 8_000), ...many("org_b", 7_000)])
      const found = (room: Partial<Room> = {}) => deliveries.find("deliveries", { ...openRoom, ...room })
      const first = yield* found()
      assert.lengthOf(first, 32)
      assert.deepStrictEqual(
        first.slice(0, 6).map(({ accountId, id }) => [id, accountId]),
        [
          ["org_x0", "org_p"],
          ["org_b0", "org_b"],
          ["org_y0", "org_p"],
          ["org_b1", "org_b"],
          ["org_x1", "org_p"],
          ["org_b2", "org_b"]
        ]
      )
      const ofBoth = first.filter(({ accountId }) => accountId === "org_p")
      assert.lengthOf(ofBoth, outwardPlaces.deliveries.perAccount)
      const isOfAccount = ({ organisationId }: { readonly organisationId: string }) => organisationId !== "org_b"
      assert.isFalse((yield* found({ fullAccounts: ["org_p"] })).some(isOfAccount))
      assert.deepStrictEqual(
        (yield* found({ reservedFor: ["org_p"], answering: ["https://org_y.example/7"] }))
          .filter(isOfAccount)
          .map(({ id }) => id),
        ["org_y7"]
      )
    })
  )

  it.effect("of notifications are found by themselves", () =>
    Effect.gen(function* () {
      const deliveries = yield* Deliveries
      const sql = yield* WriterSql
      yield* clear
      yield* insert([
        { id: "callback", url: "https://a.example/" },
        { id: "mail", url: "mailto:ops@example.com" }
      ])
      yield* sql`UPDATE deliveries SET kind = 'notification' WHERE id = 'mail'`
      assert.deepStrictEqual(ids(yield* deliveries.find("notifications", openRoom)), ["mail"])
      assert.deepStrictEqual(ids(yield* deliveries.find("deliveries", openRoom)), ["callback"])
    })
  )

  it.effect("to an endpoint with thousands of them do not hide the others", () =>
    Effect.gen(function* () {
      const deliveries = yield* Deliveries
      const sql = yield* WriterSql
      yield* clear
      yield* sql`INSERT INTO deliveries (id, org, space, kind, url, payload, next_at)
          SELECT 'flood' || n, 'org_a', 'spc_a', 'callback', 'https://flood.example/hook?n=' || n, '{}', now() - interval '1 hour'
          FROM generate_series(1, 5000) AS n`
      yield* insert([{ id: "other", url: "https://other.example/" }])
      const first = yield* claimDue(deliveries)
      assert.deepStrictEqual(
        first.map(({ url }) => endpointOf(url)),
        ["https://flood.example/hook", "https://flood.example/hook"]
      )
      assert.deepStrictEqual(ids(yield* claimDue(deliveries, { closedPartners: ["https://flood.example/hook"] })), [
        "other"
      ])
    })
  )

  it.effect("claimed by many at once are each claimed by one", () =>
    Effect.gen(function* () {
      const deliveries = yield* Deliveries
      yield* clear
      yield* insert(Array.from({ length: 100 }, (_, i) => ({ id: `d${i}`, url: `https://a.example/${i}` })))
      const claims = yield* Effect.all(
        Array.from({ length: 8 }, () => claimDue(deliveries)),
        { concurrency: 8 }
      )
      const all = claims.flat().map(({ id }) => id)
      assert.strictEqual(new Set(all).size, all.length)
    })
  )

  it.effect("are settled as delivered, deferred by Postgres' clock, or kept as exhausted", () =>
    Effect.gen(function* () {
      const deliveries = yield* Deliveries
      yield* clear
      yield* insert(["a", "b", "c"].map((id) => ({ id, url: `https://a.example/${id}` })))
      const claimed = yield* claimDue(deliveries)
      for (const delivery of claimed) {
        const id: string = delivery.id
        yield* deliveries.settle(
          delivery,
          id === "a"
            ? { _tag: "Delivered", status: 204 }
            : id === "b"
              ? { _tag: "Retry", after: Duration.minutes(5), status: 500, reason: "no" }
              : { _tag: "Exhausted", status: null, reason: "blocked" },
          Duration.millis(12)
        )
      }
      assert.deepInclude(yield* rowOf("a"), {
        status: "delivered",
        attempts: 1,
        claimed: false,
        lastStatus: 204,
        lastError: null
      })
      assert.deepInclude(yield* rowOf("b"), {
        status: "pending",
        attempts: 1,
        claimed: false,
        wait: 300,
        lastStatus: 500,
        lastError: "no"
      })
      assert.deepInclude(yield* rowOf("c"), {
        status: "exhausted",
        attempts: 1,
        claimed: false,
        lastStatus: null,
        lastError: "blocked"
      })
      assert.deepStrictEqual(yield* claimDue(deliveries), [])
    })
  )

  it.effect("whose lease has expired go to the next claim, and the late result changes nothing", () =>
    Effect.gen(function* () {
      const deliveries = yield* Deliveries
      const sql = yield* WriterSql
      yield* clear
      yield* insert([{ id: "a", url: "https://a.example/" }])
      const [late] = yield* claimDue(deliveries)
      yield* sql`UPDATE deliveries SET claimed_until = now() - interval '1 second'`
      const [next] = yield* claimDue(deliveries)
      assert.strictEqual(next?.attempt, 2)
      if (late !== undefined)
        yield* deliveries.settle(late, { _tag: "Exhausted", status: 410, reason: "gone" }, Duration.zero)
      assert.deepInclude(yield* rowOf("a"), { status: "pending", attempts: 2, claimed: true, lastError: null })
    })
  )

  it.effect("that a dead process had claimed are free when the next one starts", () =>
    Effect.gen(function* () {
      const deliveries = yield* Deliveries
      yield* clear
      yield* insert([{ id: "a", url: "https://a.example/" }])
      yield* claimDue(deliveries)
      assert.deepStrictEqual(yield* claimDue(deliveries), [])
      const restarted = yield* Effect.provide(Deliveries, Layer.fresh(driver))
      assert.deepStrictEqual(ids(yield* claimDue(restarted)), ["a"])
    })
  )
})
