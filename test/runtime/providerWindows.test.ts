/** A grant of a provider's limit is committed before it is used, and only the current owner can write one. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { ProviderWindows } from "../../src/actors/ports/connection/ProviderWindows.js"
import { leaseCalls, unusedState } from "../../src/domain/connection/SharedLimiter.js"
import { WriterSql } from "../../src/runtime/postgres/database/Pools.js"
import { layer } from "../../src/runtime/postgres/connection/ProviderWindows.js"
import { layer as database } from "../support/Database.js"

const organisation = "org_00000000000000000000000077"
const limits = { requests: 10, perMillis: 1_000, concurrency: null }

it.scoped("a grant is read as it was written, and that of a former owner is refused", () =>
  Effect.gen(function* () {
    const sql = yield* WriterSql
    yield* sql`INSERT INTO organisations (id, name, slug, plan) VALUES (${organisation}, 'Limits', 'limits-77', 'unlimited')`
    const windows = yield* ProviderWindows
    const first = yield* windows.load(organisation, "acme")
    assert.deepStrictEqual(first, { state: unusedState, revision: 0 })
    const granted = leaseCalls(limits, first.state, { id: "a", wanted: 3, timeoutMillis: 1_000 }, 1_700_000_000_000)
    const { state } = granted
    assert.isTrue(yield* windows.save(organisation, "acme", { state, revision: 0 }))
    assert.isFalse(yield* windows.save(organisation, "acme", { state: unusedState, revision: 0 }))
    assert.deepStrictEqual(yield* windows.load(organisation, "acme"), { state, revision: 1 })

    const both = yield* Effect.all(
      Array.from({ length: 8 }, () => windows.save(organisation, "acme", { state, revision: 1 })),
      { concurrency: "unbounded" }
    )
    assert.lengthOf(
      both.filter((stored) => stored),
      1
    )
    assert.strictEqual((yield* windows.load(organisation, "acme")).revision, 2)
    assert.deepStrictEqual(yield* windows.load(organisation, "other"), { state: unusedState, revision: 0 })
  }).pipe(Effect.provide(layer.pipe(Layer.provideMerge(database))))
)
