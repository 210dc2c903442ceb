/** Nodes hold no more places of an organisation together than its limit, in whatever order their requests arrive. */
import { assert, describe } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { type PlaceRequest, PlaceHoldings } from "../../src/actors/ports/organisation/PlaceHoldings.js"
import { StartQueue } from "../../src/actors/ports/run/StartQueue.js"
import { layer as holdings } from "../../src/runtime/postgres/organisation/PlaceHoldings.js"
import { ownerSql } from "../support/Database.js"
import { layer as withLayer } from "../support/layer.js"
import { empty, enqueue, layer, noneUnderWay, org, settle } from "../support/startQueue.js"

const seats = ["node_a", "node_b", "node_c"] as const
const most = 10

/** Three nodes, and no places held. */
const fresh = Effect.gen(function* () {
  const sql = yield* ownerSql
  yield* sql`DELETE FROM nodes`
  yield* sql`DELETE FROM place_leases`
  for (const [n, seat] of seats.entries())
    yield* sql`INSERT INTO nodes (id, number, role, address, build, secrets, process)
      VALUES (${seat}, ${n + 1}, 'all', ${`127.0.0.1:${n + 1}`}, 'b', ARRAY['s'], ${seat})`
})

const hold = (seat: string, turn: number, wanted: number, used = 0) =>
  Effect.flatMap(PlaceHoldings, (places) =>
    places.hold({ kind: "runs", organisation: org(1), seat, turn, used, wanted, most } satisfies PlaceRequest)
  )

describe("the places that nodes hold", () => {
  withLayer(Layer.provideMerge(holdings, layer), { excludeTestServices: true })((it) => {
    it.effect("are never more than the limit, whoever asks at the same time", () =>
      Effect.gen(function* () {
        yield* fresh
        const held = yield* Effect.forEach(seats, (seat) => hold(seat, 1, 6), { concurrency: 3 })
        assert.deepStrictEqual(
          held.toSorted((a, b) => Number(a) - Number(b)),
          [0, 4, 6]
        )
        // What one gives back, another can have.
        for (const seat of seats) yield* hold(seat, 2, 0)
        assert.strictEqual(yield* hold("node_c", 3, 99), most)
      }).pipe(Effect.scoped)
    )

    it.effect("are those that are in use in any case, and then none for others", () =>
      Effect.gen(function* () {
        yield* fresh
        assert.strictEqual(yield* hold("node_a", 1, 6), 6)
        assert.strictEqual(yield* hold("node_b", 1, 7, 7), 7)
        assert.strictEqual(yield* hold("node_c", 1, 1), 0)
      }).pipe(Effect.scoped)
    )

    it.effect("are not changed by a request that arrives after a later one", () =>
      Effect.gen(function* () {
        yield* fresh
        assert.strictEqual(yield* hold("node_a", 2, 8), 8)
        assert.isNull(yield* hold("node_a", 1, 1))
        assert.strictEqual(yield* hold("node_b", 1, 8), 2)
      }).pipe(Effect.scoped)
    )

    it.effect("count for five seconds after their node is gone, which gets no more", () =>
      Effect.gen(function* () {
        yield* fresh
        const sql = yield* ownerSql
        yield* hold("node_a", 1, 8)
        yield* sql`DELETE FROM nodes WHERE id = 'node_a'`
        assert.isNull(yield* hold("node_a", 2, 8))
        assert.strictEqual(yield* hold("node_b", 1, 8), 2)
        yield* sql`UPDATE place_leases SET ends_at = now() - interval '1 millisecond' WHERE ends_at IS NOT NULL`
        assert.strictEqual(yield* hold("node_b", 2, 8), 8)
        yield* sql`DELETE FROM nodes WHERE id = 'node_c'`
        const [row] = yield* sql<{ n: number }>`SELECT count(*)::int AS n FROM place_leases WHERE seat = 'node_a'`
        assert.strictEqual(row?.n, 0, "what has ended is removed")
      }).pipe(Effect.scoped)
    )

    it.effect("are taken by picks of the start queue too, which see those of others", () =>
      Effect.gen(function* () {
        yield* fresh
        yield* empty
        const sql = yield* ownerSql
        yield* sql`INSERT INTO organisations (id, name, slug, plan) VALUES (${org(1)}, 'Small', 'small-places', 'starter')`
        yield* enqueue([
          { org: org(1), priority: 2, times: 20 },
          { org: org(2), priority: 2, times: 3 }
        ])
        const queue = yield* StartQueue
        yield* hold("node_a", 1, 7)
        const first = yield* queue.take([1], 30, noneUnderWay, { seat: "node_b", turn: 1 })
        assert.lengthOf(first.events, 3 + 3)
        assert.include(first.passedOver, org(1))
        // An earlier request of its own changes nothing, and for others nothing is left.
        assert.isNull(yield* hold("node_b", 1, 0))
        assert.strictEqual(yield* hold("node_c", 1, 1), 0)
        assert.lengthOf((yield* queue.take([1], 30, noneUnderWay, { seat: "node_c", turn: 2 })).events, 0)
        yield* settle(first.events)
        yield* hold("node_b", 2, 0)
        assert.lengthOf((yield* queue.take([1], 30, noneUnderWay, { seat: "node_c", turn: 3 })).events, 3)
      }).pipe(Effect.scoped)
    )
  })
})
