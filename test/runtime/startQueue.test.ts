import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { type LeasedEvent, StartQueue } from "../../src/actors/ports/run/StartQueue.js"
import { Runs } from "../../src/actors/ports/run/Runs.js"
import { runMaintenance } from "../../src/runtime/postgres/database/Maintenance.js"
import { layer as runsLayer } from "../../src/runtime/postgres/run/Runs.js"
import { ownerSql } from "../support/Database.js"
import { jain } from "../support/jain.js"
import { aloneNode } from "../support/ownership.js"
import { countBy, empty, enqueue, layer, newQueue, noneUnderWay, org, settle } from "../support/startQueue.js"
import { layer as withLayer } from "../support/layer.js"

const shards = [1]

/** Takes `slots` rows `picks` times, and settles them. */
const takeMany = Effect.fnUntraced(function* (slots: number, picks: number) {
  const queue = yield* StartQueue
  const events: Array<LeasedEvent> = []
  for (let i = 0; i < picks; i++) {
    const taken = yield* queue.take(shards, slots, noneUnderWay, null)
    events.push(...taken.events)
    yield* settle(taken.events)
  }
  return { events }
})

const ids = ({ events }: { readonly events: ReadonlyArray<LeasedEvent> }) => events.map(({ id }) => String(id))

describe("the start queue", () => {
  withLayer(layer, { excludeTestServices: true })((it) => {
    for (const slots of [1, 7, 64])
      it.effect(`gives the classes 8:4:2:1 of the starts, in picks of ${slots}`, () =>
        Effect.gen(function* () {
          yield* empty
          yield* enqueue(([1, 2, 3, 4] as const).map((priority) => ({ org: org(1), priority, times: 400 })))
          const shares = countBy(
            yield* takeMany(slots, Math.ceil((slots === 1 ? 150 : 448) / slots)),
            ({ priority }) => priority
          )
          const total = [...shares.values()].reduce((a, b) => a + b, 0)
          for (const [priority, weight] of [8, 4, 2, 1].entries())
            assert.closeTo((shares.get((priority + 1) as 1) ?? 0) / total, weight / 15, 0.05 * (weight / 15) + 0.003)
        })
      )

    it.effect("a class that was idle gets no more than its share afterwards", () =>
      Effect.gen(function* () {
        yield* empty
        yield* enqueue([{ org: org(1), priority: 4, times: 500 }])
        yield* takeMany(16, 10)
        yield* enqueue([{ org: org(1), priority: 1, times: 500 }])
        const shares = countBy(yield* takeMany(9, 10), ({ priority }) => priority)
        assert.isAtLeast(shares.get(4) ?? 0, 9)
        assert.isAtLeast(shares.get(1) ?? 0, 80)
      })
    )

    it.effect("an organisation that floods through 300 customers and 50 triggers takes no share of ten others", () =>
      Effect.gen(function* () {
        yield* empty
        yield* enqueue(Array.from({ length: 300 }, (_, i) => ({ org: org(0), flow: `cus_${i}`, times: 20 })))
        yield* enqueue(
          Array.from({ length: 300 }, (_, i) => ({
            org: org(0),
            flow: `cus_${i}`,
            lane: `trg_${i % 50}:${i}`,
            times: 5
          }))
        )
        yield* enqueue(Array.from({ length: 10 }, (_, i) => ({ org: org(i + 1), times: 100 })))
        const shares = countBy(yield* takeMany(64, 8), ({ organisationId }) => organisationId)
        assert.isAtLeast(jain(Array.from({ length: 11 }, (_, i) => shares.get(org(i)) ?? 0)), 0.99)
      })
    )

    it.effect("the customers of an organisation have equal shares, however many rows each has", () =>
      Effect.gen(function* () {
        yield* empty
        const rows = yield* enqueue([
          { org: org(1), flow: "cus_a", times: 500 },
          { org: org(1), flow: "cus_b", times: 50 },
          { org: org(1), times: 40 }
        ])
        const flowOf = new Map(rows.map((id, i) => [id, i < 500 ? "a" : i < 550 ? "b" : "none"]))
        const shares = countBy(yield* takeMany(5, 20), ({ id }) => flowOf.get(id) ?? "unknown")
        assert.deepStrictEqual(Object.fromEntries(shares), { none: 34, a: 33, b: 33 })
      })
    )

    it.effect("each of 10,000 organisations has a turn before any has a second one", () =>
      Effect.gen(function* () {
        yield* empty
        yield* enqueue(Array.from({ length: 10_000 }, (_, i) => ({ org: org(i), times: 2 })))
        const { events } = yield* takeMany(500, 20)
        assert.strictEqual(new Set(events.map(({ organisationId }) => organisationId)).size, 10_000)
      })
    )

    it.effect("an organisation that comes late is served in the next pick, in the order of its rows", () =>
      Effect.gen(function* () {
        yield* empty
        yield* enqueue([{ org: org(1), times: 1_000 }])
        yield* takeMany(20, 5)
        const late = yield* enqueue([{ org: org(2), times: 3 }])
        const taken = yield* takeMany(6, 1)
        assert.deepStrictEqual(
          ids(taken).filter((id) => late.includes(id)),
          late
        )
      })
    )

    it.effect("a restart and the purge of turns change no order", () =>
      Effect.gen(function* () {
        yield* empty
        const flows = ["a", "b", "c", "d", "e"]
        yield* enqueue(flows.flatMap((flow) => [1, 2].map((n) => ({ org: org(n), flow: `cus_${flow}`, times: 100 }))))
        const order: Array<string> = []
        for (let i = 0; i < 12; i++) {
          // Every pick is that of a process that has just started.
          const taken = yield* takeMany(i % 2 === 0 ? 3 : 2, 1).pipe(Effect.provide(newQueue(aloneNode)))
          order.push(...taken.events.map(({ organisationId }) => organisationId))
          yield* runMaintenance
        }
        const shares = [1, 2].map((n) => order.filter((one) => one === org(n)).length)
        assert.deepStrictEqual(shares, [15, 15])
        const sql = yield* ownerSql
        const left = yield* sql<{ n: number }>`SELECT count(*)::int AS n FROM start_queue GROUP BY org, flow`
        assert.isTrue(
          left.every(({ n }) => n === 97),
          JSON.stringify(left)
        )
        yield* sql`TRUNCATE start_queue`
        yield* runMaintenance
        assert.deepStrictEqual(yield* sql`SELECT FROM queue_organisations`, [])
      }).pipe(Effect.scoped)
    )

    it.effect("rows are taken once, by whichever of several takers", () =>
      Effect.gen(function* () {
        yield* empty
        const rows = yield* enqueue(Array.from({ length: 20 }, (_, i) => ({ org: org(i), times: 20 })))
        const queue = yield* StartQueue
        const other = yield* Effect.provide(StartQueue, newQueue())
        const taken = yield* Effect.forEach(
          Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? queue : other)),
          (taker) => taker.take(shards, 20, noneUnderWay, null),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(taken.flatMap(ids).sort(), [...rows].sort())
      })
    )

    it.effect("of a lane only the first row starts, and the next one when it has gone, with two takers at once", () =>
      Effect.gen(function* () {
        yield* empty
        const lanes = ["trg_a:1", "trg_a:2", "trg_b"]
        const rows = yield* enqueue(
          Array.from({ length: 60 }, (_, i) => ({
            org: org(1),
            lane: lanes[i % 3] ?? "",
            flow: `cus_${i % 2}`,
            priority: i % 5 === 0 ? 1 : 2
          }))
        )
        const queue = yield* StartQueue
        const other = yield* Effect.provide(StartQueue, newQueue())
        const order: Array<string> = []
        while (order.length < rows.length) {
          const both = yield* Effect.all(
            [queue.take(shards, 10, noneUnderWay, null), other.take(shards, 10, noneUnderWay, null)],
            {
              concurrency: "unbounded"
            }
          )
          const events = both.flatMap((taken) => taken.events)
          assert.isAtLeast(events.length, 1)
          assert.strictEqual(new Set(events.map(({ lane }) => lane)).size, events.length, "one row of a lane at a time")
          order.push(...ids({ events }))
          yield* settle(events)
        }
        for (const [n] of lanes.entries())
          assert.deepStrictEqual(
            order.filter((id) => rows.indexOf(id) % 3 === n),
            rows.filter((_, i) => i % 3 === n)
          )
      })
    )

    it.effect("a lane waits for its held head and for the execution that occupies it; rows without a lane do not", () =>
      Effect.gen(function* () {
        yield* empty
        const sql = yield* ownerSql
        yield* sql`INSERT INTO lanes (org, lane, execution_id) VALUES (${org(1)}, 'busy', 'exec_1')`
        const [held, , , free] = yield* enqueue([
          { org: org(1), lane: "held", held: true },
          { org: org(1), lane: "held" },
          { org: org(1), lane: "busy" },
          { org: org(1) }
        ])
        const queue = yield* StartQueue
        assert.deepStrictEqual(ids(yield* queue.take(shards, 10, noneUnderWay, null)), [free])
        yield* sql`DELETE FROM lanes`
        yield* sql`UPDATE start_queue SET held = false WHERE id = ${String(held)}`
        const taken = yield* queue.take(shards, 10, noneUnderWay, null)
        assert.sameMembers(
          taken.events.map(({ lane }) => lane),
          ["held", "busy"]
        )
        assert.include(ids(taken), held)
      }).pipe(Effect.scoped)
    )

    it.effect("many occupied lanes, delayed rows and rows of other shards hide no row that may start", () =>
      Effect.gen(function* () {
        yield* empty
        const sql = yield* ownerSql
        yield* enqueue(Array.from({ length: 1_200 }, (_, i) => ({ org: org(1), lane: `trg:${1_000 + i}` })))
        yield* sql`INSERT INTO lanes (org, lane, execution_id)
          SELECT org, lane, 'exec_' || lane FROM start_queue WHERE lane <> 'trg:2100'`
        yield* enqueue(Array.from({ length: 100 }, (_, i) => ({ org: org(2), flow: `cus_${100 + i}`, delay: 3_600 })))
        const [ripe] = yield* enqueue([{ org: org(2), flow: "cus_999" }])
        yield* enqueue(Array.from({ length: 30 }, (_, i) => ({ org: org(10 + i), shard: 2, priority: 1 })))
        const taken = yield* takeMany(1, 6)
        assert.lengthOf(taken.events, 2)
        assert.include(ids(taken), ripe)
        assert.deepStrictEqual(
          taken.events.map(({ lane }) => lane).filter((lane) => lane !== null),
          ["trg:2100"]
        )
      }).pipe(Effect.scoped)
    )

    it.effect(
      "has work if a row may start or a lease is over, and none in rows of later, of other shards, held or leased",
      () =>
        Effect.gen(function* () {
          yield* empty
          const sql = yield* ownerSql
          const runs = yield* Runs
          const hasWork = Effect.map(runs.findWork(shards, [], []), ({ queued }) => queued !== null)
          assert.isFalse(yield* hasWork)
          yield* enqueue([
            { org: org(1), delay: 3_600 },
            { org: org(1), held: true },
            { org: org(1), shard: 2 }
          ])
          assert.isFalse(yield* hasWork)
          yield* enqueue([{ org: org(1) }])
          assert.isTrue(yield* hasWork)
          const queue = yield* StartQueue
          assert.lengthOf((yield* queue.take(shards, 1, noneUnderWay, null)).events, 1)
          assert.isFalse(yield* hasWork)
          yield* sql`UPDATE start_queue SET claimed_until = now() WHERE claimed_by IS NOT NULL`
          assert.isTrue(yield* hasWork)
        }).pipe(Effect.scoped, Effect.provide(runsLayer))
    )

    it.effect("the only node gives up the leases of the process before it at its start", () =>
      Effect.gen(function* () {
        yield* empty
        yield* enqueue([{ org: org(1), times: 5 }])
        yield* (yield* StartQueue).take(shards, 5, noneUnderWay, null)
        const restarted = yield* Effect.provide(StartQueue, newQueue(aloneNode))
        assert.lengthOf((yield* restarted.take(shards, 5, noneUnderWay, null)).events, 5)
      })
    )

    it.effect("a suspended organisation starts nothing, and does not count as waiting, until it is active again", () =>
      Effect.gen(function* () {
        yield* empty
        const sql = yield* ownerSql
        yield* sql`INSERT INTO organisations (id, name, slug, plan, status)
          VALUES (${org(7)}, 'Suspended', 'suspended-queue', 'unlimited', 'suspended')`
        yield* enqueue([
          { org: org(7), priority: 1, times: 10 },
          { org: org(2), priority: 3, times: 10 }
        ])
        const queue = yield* StartQueue
        const taken = yield* queue.take(shards, 64, noneUnderWay, null)
        assert.deepStrictEqual(
          countBy(taken, ({ organisationId }) => organisationId),
          new Map([[org(2), 10]])
        )
        assert.deepStrictEqual([taken.firstWaiting, taken.passedOver], [3, []])
        yield* sql`UPDATE organisations SET status = 'active' WHERE id = ${org(7)}`
        const later = yield* queue.take(shards, 64, noneUnderWay, null)
        assert.deepStrictEqual([later.events.length, later.firstWaiting], [10, 1])
        yield* sql`DELETE FROM organisations WHERE id = ${org(7)}`
      }).pipe(Effect.scoped)
    )

    it.effect("an organisation at its limit leaves its slots to others, and its classes take turns", () =>
      Effect.gen(function* () {
        yield* empty
        const sql = yield* ownerSql
        yield* sql`INSERT INTO organisations (id, name, slug, plan) VALUES (${org(1)}, 'Small', 'small-queue', 'starter')`
        yield* enqueue([
          { org: org(1), priority: 1, times: 400 },
          { org: org(1), priority: 4, times: 400 },
          { org: org(2), priority: 3, times: 400 }
        ])
        const queue = yield* StartQueue
        const first = yield* queue.take(shards, 64, new Map([[org(1), 4]]), null)
        const shares = countBy(first, ({ organisationId }) => organisationId)
        assert.deepStrictEqual([shares.get(org(1)), shares.get(org(2))], [6, 58])
        yield* settle(first.events)
        let fourth = 0
        for (let i = 0; i < 100; i++) {
          const taken = yield* queue.take(
            shards,
            1,
            new Map([
              [org(1), 9],
              [org(2), 5]
            ]),
            null
          )
          fourth += countBy(taken, ({ priority }) => priority).get(4) ?? 0
          yield* settle(taken.events)
        }
        assert.isAtLeast(fourth, 2)
      }).pipe(Effect.scoped)
    )
  })
})
