/** Nodes that claim deliveries together stay within the places of an endpoint and of an organisation. */
import { assert, describe } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import { Deliveries } from "../../src/actors/ports/delivery/Deliveries.js"
import { outwardPlaces } from "../../src/domain/Limits.js"
import { layer as deliveriesLayer } from "../../src/runtime/postgres/delivery/Deliveries.js"
import { layer as database } from "../support/Database.js"
import { claimDue, openRoom } from "../support/deliveries.js"
import { layer } from "../support/layer.js"
import { oneOfTwoNodes } from "../support/ownership.js"
import { WriterSql } from "../support/Sql.js"
import { scaled } from "../support/slowness.js"
import { insertFamily } from "../support/family.js"

const { perAccount, perPartner } = outwardPlaces.deliveries
const insert = (prefix: string, org: string, count: number, urlOf: string) =>
  Effect.flatMap(
    WriterSql,
    (sql) => sql`INSERT INTO deliveries (id, org, space, kind, url, execution_id, payload, next_at)
      SELECT ${prefix} || n, ${org}, 'spc_a', 'callback', replace(${urlOf}, 'N', n::text), 'exec_a', '{}',
        now() - n * interval '1 second' FROM generate_series(1, ${count}::int) n`
  )
const clear = Effect.flatMap(WriterSql, (sql) => sql`DELETE FROM deliveries`)
const delivered = { _tag: "Delivered", status: 200 } as const

describe("deliveries of several nodes", () => {
  layer(deliveriesLayer.pipe(Layer.provideMerge(Layer.merge(database, oneOfTwoNodes))), {
    excludeTestServices: true,
    timeout: scaled(120_000)
  })((it) => {
    it.effect("are never more at once than an endpoint takes, whoever claims them", () =>
      Effect.gen(function* () {
        const deliveries = yield* Deliveries
        yield* clear
        yield* insert("one", "org_a", 20, "https://one.example/x?n=N")
        const all = Array.from({ length: 20 }, (_, n) => `one${n + 1}`)
        const claims = yield* Effect.all(
          Array.from({ length: 8 }, () => deliveries.claim(all)),
          { concurrency: "unbounded" }
        )
        const [first, ...others] = claims.flat()
        assert.isDefined(first)
        assert.lengthOf(others, perPartner - 1)
        assert.include(["one20", "one19"], first.id, "the longest due first")
        assert.deepStrictEqual(yield* deliveries.find("deliveries", openRoom), [], "nor are they found")
        yield* deliveries.settle(first, delivered, Duration.millis(1))
        assert.lengthOf(yield* claimDue(deliveries), 1)
      })
    )

    it.effect("are never more at once than the organisations of an account have places together", () =>
      Effect.gen(function* () {
        const deliveries = yield* Deliveries
        yield* clear
        yield* insertFamily("org_p", ["org_x", "org_y"])
        for (const child of ["x", "y"]) yield* insert(child, `org_${child}`, 20, `https://${child}N.example/`)
        const claims = yield* Effect.all(
          ["x", "y"].map((child) => deliveries.claim(Array.from({ length: 20 }, (_, n) => `${child}${n + 1}`))),
          { concurrency: "unbounded" }
        )
        assert.lengthOf(claims.flat(), perAccount)
        yield* insert("b", "org_b", 3, "https://bN.example/")
        const found = yield* deliveries.find("deliveries", openRoom)
        assert.sameMembers(
          found.map(({ id }) => id),
          ["b1", "b2", "b3"],
          "a full account hides none of its neighbour's"
        )
      })
    )

    it.effect("are never more at once than an organisation has places, and leave other organisations theirs", () =>
      Effect.gen(function* () {
        const deliveries = yield* Deliveries
        yield* clear
        yield* insert("a", "org_a", 40, "https://aN.example/")
        const all = Array.from({ length: 40 }, (_, n) => `a${n + 1}`)
        const claims = yield* Effect.all(
          Array.from({ length: 4 }, (_, n) => deliveries.claim(all.slice(n * 10, n * 10 + 10))),
          { concurrency: "unbounded" }
        )
        const held = claims.flat()
        assert.lengthOf(held, perAccount)
        yield* insert("b", "org_b", 3, "https://bN.example/")
        assert.sameMembers(
          (yield* claimDue(deliveries)).map(({ id }) => id),
          ["b1", "b2", "b3"]
        )
        // What a node that died had claimed counts as long as its answer may come.
        const sql = yield* WriterSql
        yield* sql`UPDATE deliveries SET claimed_until = now() - interval '1 second' WHERE id = ${held[0]?.id ?? ""}`
        assert.lengthOf(yield* claimDue(deliveries), 1)
      })
    )
  })
})
