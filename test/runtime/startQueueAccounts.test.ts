/** Organisations with a parent in the start queue: they share the turns and the limit of their parent. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { type LeasedEvent, StartQueue } from "../../src/actors/ports/run/StartQueue.js"
import { ownerSql } from "../support/Database.js"
import { jain } from "../support/jain.js"
import { layer as withLayer } from "../support/layer.js"
import { countBy, empty, enqueue, layer, noneUnderWay, org, settle } from "../support/startQueue.js"

const shards = [1]
const parent = org(100)
const children = Array.from({ length: 99 }, (_, n) => org(101 + n))
const family = [parent, ...children]
const neighbours = [org(1), org(300)]

const makeFamily = (plan: string) =>
  Effect.gen(function* () {
    yield* empty
    const sql = yield* ownerSql
    yield* sql`DELETE FROM organisations WHERE parent_id IS NOT NULL`
    yield* sql`DELETE FROM organisations WHERE id = ${parent}`
    yield* sql`INSERT INTO organisations (id, name, slug, plan) VALUES (${parent}, 'Parent', 'parent', ${plan})`
    yield* sql`INSERT INTO organisations (id, name, slug, plan, parent_id)
      SELECT id, id, id, ${plan}, ${parent} FROM unnest(${children}::text[]) AS id`
  }).pipe(Effect.scoped)

const isOfFamily = ({ organisationId }: LeasedEvent) => family.includes(organisationId)

describe("organisations with a parent", () => {
  withLayer(layer, { excludeTestServices: true })((it) => {
    it.effect("have one share of the starts together, whatever their number, and equal ones among them", () =>
      Effect.gen(function* () {
        const queue = yield* StartQueue
        for (const slots of [6, 30]) {
          yield* makeFamily("unlimited")
          yield* enqueue(family.map((one) => ({ org: one, times: 20 })))
          yield* enqueue(neighbours.map((one) => ({ org: one, times: 400 })))
          const events: Array<LeasedEvent> = []
          for (let i = 0; i < 900 / slots; i++) {
            const taken = yield* queue.take(shards, slots, noneUnderWay, null)
            events.push(...taken.events)
            yield* settle(taken.events)
          }
          assert.lengthOf(events, 900)
          const ofFamily = events.filter(isOfFamily).length
          assert.isAtLeast(jain([ofFamily, (900 - ofFamily) / 2]), 0.99, `${ofFamily} of 900, ${slots} at once`)
          // Each event names the account whose limit counts its run.
          for (const event of events)
            assert.strictEqual(event.accountId, isOfFamily(event) ? parent : event.organisationId)
          const shares = countBy({ events }, ({ organisationId }) => organisationId)
          const some = family.filter((one) => (shares.get(one) ?? 0) > 0)
          // 300 starts over 100: by chance a few have none.
          assert.isAtLeast(some.length, 75)
        }
      })
    )

    it.effect("start no more at once than their parent's plan allows for all, and take no slot beyond it", () =>
      Effect.gen(function* () {
        yield* makeFamily("starter")
        yield* enqueue([...family.slice(0, 4), ...neighbours].map((one) => ({ org: one, times: 50 })))
        const queue = yield* StartQueue
        const taken = yield* queue.take(shards, 64, new Map([[parent, 4]]), null)
        assert.deepStrictEqual([taken.events.filter(isOfFamily).length, taken.events.length], [6, 64])
        yield* settle(taken.events)
        const rest = yield* queue.take(shards, 64, new Map([[parent, 9]]), null)
        assert.deepStrictEqual([rest.events.filter(isOfFamily).length, rest.events.length], [1, 43])
        assert.include(rest.passedOver, parent)
        yield* settle(rest.events)
        yield* enqueue(neighbours.map((one) => ({ org: one, times: 4 })))
        const full = yield* queue.take(shards, 8, new Map([[parent, 10]]), null)
        assert.deepStrictEqual([full.events.filter(isOfFamily).length, full.events.length], [0, 8])
      })
    )

    it.effect("follow the plan and the suspension of their parent, and keep their own", () =>
      Effect.gen(function* () {
        yield* makeFamily("unlimited")
        const sql = yield* ownerSql
        const [first, second] = children
        const states = sql<{ plan: string; status: string; n: number }>`
          SELECT plan, status, count(*)::int AS n FROM organisations WHERE parent_id = ${parent} GROUP BY 1, 2 ORDER BY 3`
        const change = (of: string | undefined, members: object) =>
          sql`UPDATE organisations SET ${sql.update({ ...members })} WHERE id = ${of ?? ""}`
        yield* change(first, { status: "suspended" })
        yield* change(parent, { status: "suspended" })
        yield* change(parent, { plan: "growth" })
        assert.deepStrictEqual(yield* states, [{ plan: "growth", status: "suspended", n: 99 }])
        yield* enqueue([{ org: second ?? parent, times: 3 }])
        const queue = yield* StartQueue
        assert.lengthOf((yield* queue.take(shards, 8, noneUnderWay, null)).events, 0)
        yield* change(parent, { status: "active" })
        assert.deepStrictEqual(yield* states, [
          { plan: "growth", status: "suspended", n: 1 },
          { plan: "growth", status: "active", n: 98 }
        ])
        assert.lengthOf((yield* queue.take(shards, 8, noneUnderWay, null)).events, 3)
      }).pipe(Effect.scoped)
    )
  })
})
