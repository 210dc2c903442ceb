/** A grant of a provider's limit is committed before it is used, and only the current owner can write one. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { ProviderWindows } from "../../src/actors/ports/connection/ProviderWindows.js"
import { leaseCalls, unusedState } from "../../src/domain/connection/CallLeases.js"
import type { ConnectionId } from "../../src/domain/Ids.js"
import { WriterSql } from "../../src/runtime/postgres/database/Pools.js"
import { layer } from "../../src/runtime/postgres/connection/ProviderWindows.js"
import { layer as database } from "../support/Database.js"

const organisation = "org_00000000000000000000000077"
const customer = "cus_00000000000000000000000077"
const connection = "conn_00000000000000000000000077" as ConnectionId
const acme = { organisation, connector: "acme" }
const limits = { requests: 10, perMillis: 1_000, concurrency: null }

it.scoped("a grant is read as it was written, and that of a former owner is refused", () =>
  Effect.gen(function* () {
    const sql = yield* WriterSql
    yield* sql`INSERT INTO organisations (id, name, slug, plan) VALUES (${organisation}, 'Limits', 'limits-77', 'unlimited')`
    const windows = yield* ProviderWindows
    const first = yield* windows.load(acme)
    assert.deepStrictEqual(first, { state: unusedState, revision: 0 })
    const granted = leaseCalls(limits, first.state, { id: "a", wanted: 3, timeoutMillis: 1_000 }, 1_700_000_000_000)
    const { state } = granted
    assert.isTrue(yield* windows.save(acme, { state, revision: 0 }))
    assert.isFalse(yield* windows.save(acme, { state: unusedState, revision: 0 }))
    assert.deepStrictEqual(yield* windows.load(acme), { state, revision: 1 })

    const both = yield* Effect.all(
      Array.from({ length: 8 }, () => windows.save(acme, { state, revision: 1 })),
      { concurrency: "unbounded" }
    )
    assert.lengthOf(
      both.filter((stored) => stored),
      1
    )
    assert.strictEqual((yield* windows.load(acme)).revision, 2)
    assert.deepStrictEqual(yield* windows.load({ organisation, connector: "other" }), {
      state: unusedState,
      revision: 0
    })

    yield* sql`INSERT INTO customers (id, org, name, slug, status) VALUES (${customer}, ${organisation}, 'Ada', 'ada', 'active')`
    yield* sql`INSERT INTO connections (id, org, customer_id, connector, connector_version, label, auth_method, status, health, created_by)
      VALUES (${connection}, ${organisation}, ${customer}, 'acme', '1.0.0', 'Ada', 'key', 'active', '{}', 'test')`
    const own = { organisation, connection }
    assert.deepStrictEqual(yield* windows.load(own), { state: unusedState, revision: 0 })
    assert.isTrue(yield* windows.save(own, { state, revision: 0 }))
    assert.isTrue(yield* windows.save(own, { state, revision: 1 }))
    assert.isFalse(yield* windows.save(own, { state: unusedState, revision: 1 }))
    assert.deepStrictEqual(yield* windows.load(own), { state, revision: 2 })
    yield* sql`DELETE FROM connections WHERE id = ${connection}`
    assert.strictEqual((yield* windows.load(own)).revision, 0, "it is erased with its connection")
  }).pipe(Effect.provide(layer.pipe(Layer.provideMerge(database))))
)
