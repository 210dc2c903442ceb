/** A node looks for due connections of its own shards, whatever waits in those of a node that hangs. */
import { assert, describe } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { ConnectionSweeps } from "../../src/actors/ports/connection/ConnectionSweeps.js"
import { DueTasks } from "../../src/actors/PassTimes.js"
import { Ownership } from "../../src/actors/ports/Ownership.js"
import { makePlaces } from "../../src/actors/Places.js"
import { outwardPlaces } from "../../src/domain/Limits.js"
import { layer as singleNode } from "../../src/runtime/cluster/SingleNode.js"
import { layer as dueTasks } from "../../src/runtime/postgres/DueTasks.js"
import { layer as sweeps, work } from "../../src/runtime/postgres/connection/ConnectionSweeps.js"
import { layer as database, ownerSql } from "../support/Database.js"
import { layer } from "../support/layer.js"
import { scaled } from "../support/slowness.js"

/** Of a node that owns these shards. */
const node = { owned: [] as ReadonlyArray<number> }
const ownership = Layer.effect(
  Ownership,
  Effect.map(Ownership, (alone) => Ownership.of({ ...alone, ownedShards: () => node.owned }))
).pipe(Layer.provide(singleNode))

const idOf = (n: number) => `conn_${String(n).padStart(26, "0")}`

describe("due connections", () => {
  layer(
    Layer.merge(sweeps, dueTasks([{ name: "connections.renew", work }])).pipe(
      Layer.provideMerge(ownership),
      Layer.provideMerge(database)
    ),
    {
      excludeTestServices: true,
      timeout: scaled(120_000)
    }
  )((it) => {
    it.scoped("are found by the owner of their shard, beside more of others than one look reads", () =>
      Effect.gen(function* () {
        const sql = yield* ownerSql
        const { shardOf } = yield* Ownership
        const { findToAbandon, findToDisconnect, findToRenew } = yield* ConnectionSweeps
        const due = yield* DueTasks
        yield* sql`INSERT INTO organisations (id, name, slug, plan) VALUES ('org_a', 'A', 'a', 'unlimited')`
        yield* sql`INSERT INTO customers (id, org, name, slug) VALUES ('cus_a', 'org_a', 'A', 'a')`
        yield* sql`INSERT INTO connections (id, org, customer_id, connector, connector_version, label, auth_method, status,
            health, created_by, next_look_at)
          SELECT 'conn_' || lpad(n::text, 26, '0'), 'org_a', 'cus_a', 'crm', '1', 'A', 'none', 'active', '{}', 'test',
            now() - (n || ' seconds')::interval FROM generate_series(1, 2000) n`
        const rows = yield* sql<{ id: string; shard: number }>`SELECT id, shard FROM connections`
        for (const { id, shard } of rows) assert.strictEqual(shard, shardOf(id), id)
        // The one that is due last, beside all others of other shards, which are due longer.
        const mine = shardOf(idOf(1))
        yield* sql`UPDATE connections SET next_look_at = NULL WHERE shard = ${mine} AND id <> ${idOf(1)}`
        const room = (yield* makePlaces(outwardPlaces.refreshes)).room() ?? assert.fail("no place is free")
        const ids = (found: ReadonlyArray<{ readonly id: string }>) => found.map(({ id }) => id)

        node.owned = [mine]
        assert.deepStrictEqual(ids(yield* findToRenew(room)), [idOf(1)])
        assert.deepStrictEqual(yield* due.among(["connections.renew"]), ["connections.renew"])
        yield* sql`UPDATE connections SET next_look_at = NULL WHERE id = ${idOf(1)}`
        assert.deepStrictEqual(yield* findToRenew(room), [])
        assert.deepStrictEqual(yield* due.among(["connections.renew"]), [])

        yield* sql`UPDATE customers SET deleted_at = now()`
        yield* sql`UPDATE connections SET disconnected_at = now() WHERE shard = ${mine} AND id <> ${idOf(1)}`
        assert.deepStrictEqual(ids(yield* findToDisconnect(room)), [idOf(1)])
        assert.deepStrictEqual(yield* findToAbandon(room), [])
        node.owned = []
        assert.deepStrictEqual(yield* findToDisconnect(room), [])
      })
    )
  })
})
