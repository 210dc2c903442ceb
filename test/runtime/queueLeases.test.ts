/** Leases of events: who may settle one, when another node takes it, and what counts against an event. */
import { assert, describe } from "@effect/vitest"
import { Effect, Fiber, Option } from "effect"
import { type LeasedEvent, StartQueue } from "../../src/actors/ports/run/StartQueue.js"
import { ownerSql } from "../support/Database.js"
import { layer as withLayer } from "../support/layer.js"
import { aloneNode } from "../support/ownership.js"
import { empty, enqueue, layer, newQueue, noneUnderWay, org } from "../support/startQueue.js"

const shards = [1]

const ids = ({ events }: { readonly events: ReadonlyArray<LeasedEvent> }) => events.map(({ id }) => String(id))

describe("leases of the start queue", () => {
  withLayer(layer, { excludeTestServices: true })((it) => {
    it.effect("a leased event is taken again after its lease, by another claim; a renewed or settled one is not", () =>
      Effect.gen(function* () {
        yield* empty
        const sql = yield* ownerSql
        yield* enqueue([{ org: org(1), times: 3 }])
        const queue = yield* StartQueue
        const { events } = yield* queue.take(shards, 3, noneUnderWay, null)
        assert.deepStrictEqual(
          events.map(({ claims }) => claims),
          [1, 1, 1]
        )
        assert.lengthOf((yield* queue.take(shards, 3, noneUnderWay, null)).events, 0)
        const [released, renewed, lost] = events.map(({ id }) => id)
        assert(released !== undefined && renewed !== undefined && lost !== undefined)
        yield* queue.release([released])
        yield* sql`UPDATE start_queue SET claimed_until = now() + interval '1 second'`
        assert.deepStrictEqual(yield* queue.renew([released, renewed]), [renewed])
        yield* sql`UPDATE start_queue SET claimed_until = claimed_until - interval '5 seconds'`
        assert.deepStrictEqual(yield* queue.renew([lost]), [])
        const again = yield* (yield* Effect.provide(StartQueue, newQueue())).take(shards, 3, noneUnderWay, null)
        assert.sameMembers(ids(again), [released, lost].map(String))
        assert.deepStrictEqual(
          again.events.map(({ claims }) => claims),
          [2, 2]
        )
      }).pipe(Effect.scoped)
    )

    it.effect("counts the leases that ended with their node, not those that were given up", () =>
      Effect.gen(function* () {
        yield* empty
        const sql = yield* ownerSql
        yield* enqueue([{ org: org(1), times: 2 }])
        const queue = yield* StartQueue
        const [released, expired] = (yield* queue.take(shards, 2, noneUnderWay, null)).events.map(({ id }) => id)
        assert(released !== undefined && expired !== undefined)
        const lost = Effect.map(
          sql<{ id: string; lost: number }>`SELECT id, lost FROM start_queue ORDER BY lost`,
          (rows) => rows.map((row) => [row.id, row.lost])
        )
        yield* queue.release([released])
        yield* sql`UPDATE start_queue SET claimed_until = now() - interval '1 second' WHERE id = ${expired}`
        yield* queue.take(shards, 2, noneUnderWay, null)
        assert.deepStrictEqual(yield* lost, [
          [released, 0],
          [expired, 1]
        ])
        // The node that starts is alone: the leases are of one that has ended.
        yield* Effect.provide(StartQueue, newQueue(aloneNode))
        assert.deepStrictEqual(yield* lost, [
          [released, 1],
          [expired, 2]
        ])
      }).pipe(Effect.scoped)
    )

    it.effect("a renewal waits for no row that is being settled, and keeps its lease", () =>
      Effect.gen(function* () {
        yield* empty
        const sql = yield* ownerSql
        yield* enqueue([{ org: org(1), times: 2 }])
        const queue = yield* StartQueue
        const [settling, other] = (yield* queue.take(shards, 2, noneUnderWay, null)).events.map(({ id }) => id)
        assert(settling !== undefined && other !== undefined)
        const [deleted, over] = yield* Effect.all([Effect.makeLatch(false), Effect.makeLatch(false)])
        const settlement = yield* sql`DELETE FROM start_queue WHERE id = ${settling}`.pipe(
          Effect.zipRight(deleted.open),
          Effect.zipRight(over.await),
          sql.withTransaction,
          Effect.fork
        )
        yield* deleted.await
        const renewed = yield* Effect.timeoutOption(queue.renew([settling, other]), "5 seconds")
        yield* over.open
        yield* Fiber.join(settlement)
        assert.sameMembers([...Option.getOrElse(renewed, () => [])], [settling, other])
        assert.deepStrictEqual(yield* queue.renew([settling, other]), [other])
      }).pipe(Effect.scoped)
    )
  })
})
