import { assert, describe, it } from "@effect/vitest"
import { Effect, Either, Layer, Redacted, TestClock } from "effect"
import { Vault } from "../../src/actors/ports/Vault.js"
import { WriterSql } from "../support/Sql.js"
import { DataKeys, layerPostgres } from "../../src/runtime/vault/DataKeys.js"
import { parseKeyring } from "../../src/runtime/vault/Keyring.js"
import { layer, rewrapAll } from "../../src/runtime/vault/Vault.js"
import { layer as database } from "../support/Database.js"

const master = (id: string, fill: number) => `${id}:${Buffer.alloc(32, fill).toString("base64")}`
const keyring = (...entries: ReadonlyArray<string>) => Either.getOrThrow(parseKeyring(Redacted.make(entries.join(","))))
const place = { organisation: "org_a", table: "secrets", column: "value", row: "sec_1" }
const node = (...entries: ReadonlyArray<string>) => Effect.provide(Vault, layer({ keyring: keyring(...entries) }))

describe("data keys in Postgres", () => {
  it.scoped("nodes that create the first key at once share one, and a rotation leaves every value readable", () =>
    Effect.gen(function* () {
      const sql = yield* WriterSql
      const dataKeys = yield* DataKeys
      const nodes = yield* Effect.all(Array.from({ length: 8 }, () => node(master("m1", 1))))
      const sealed = yield* Effect.all(
        nodes.map((vault) => vault.seal(place, Redacted.make("hush"))),
        { concurrency: "unbounded" }
      )
      const rows = yield* sql<{
        readonly active: boolean
        readonly master_key_id: string
      }>`SELECT active, master_key_id FROM data_keys`
      assert.deepStrictEqual(rows, [{ active: true, master_key_id: "m1" }])

      const both = keyring(master("m2", 2), master("m1", 1))
      assert.deepStrictEqual(
        yield* Effect.all([rewrapAll(both), rewrapAll(both)], { concurrency: 2 }).pipe(Effect.map(([a, b]) => a + b)),
        1
      )
      assert.deepStrictEqual(
        (yield* dataKeys.load("org_a")).map((key) => key.masterKeyId),
        ["m2"]
      )
      const later = yield* node(master("m2", 2))
      for (const value of sealed) assert.strictEqual(Redacted.value(yield* later.open(place, value)), "hush")
    }).pipe(Effect.provide(layerPostgres.pipe(Layer.provideMerge(database))))
  )

  it.scoped("a batch of a rotation skips keys that another one has wrapped since, and wraps the rest", () =>
    Effect.gen(function* () {
      const dataKeys = yield* DataKeys
      const organisations = ["org_c", "org_d", "org_e"]
      const vault = yield* node(master("m1", 1))
      for (const organisation of organisations) yield* vault.seal({ ...place, organisation }, Redacted.make("hush"))
      const read = yield* Effect.forEach(organisations, (organisation) => dataKeys.load(organisation))
      const anew = read.flat().map((key) => ({ key: { ...key, masterKeyId: "m3" }, from: key.masterKeyId }))
      assert.lengthOf(anew, 3)
      assert.strictEqual(yield* dataKeys.rewrap(anew.slice(1, 2)), 1)
      assert.strictEqual(yield* dataKeys.rewrap(anew), 2)
      assert.strictEqual(yield* dataKeys.rewrap(anew), 0)
      const masters = yield* Effect.forEach(organisations, (organisation) => dataKeys.load(organisation))
      assert.deepStrictEqual(
        masters.flat().map(({ masterKeyId }) => masterKeyId),
        ["m3", "m3", "m3"]
      )
    }).pipe(Effect.provide(layerPostgres.pipe(Layer.provideMerge(database))))
  )

  it.scoped("a node that runs during a rotation opens what it sealed before, and wraps with the new key", () =>
    Effect.gen(function* () {
      const dataKeys = yield* DataKeys
      let file = keyring(master("m1", 1))
      const vault = yield* Effect.provide(Vault, layer({ keyring: file, reread: Effect.sync(() => file) }))
      const stuck = yield* Effect.provide(Vault, layer({ keyring: file }))
      const before = yield* vault.seal(place, Redacted.make("before"))
      yield* stuck.open(place, before)
      file = keyring(master("m2", 2), master("m1", 1))
      assert.strictEqual(yield* rewrapAll(file), 1)
      const during = yield* vault.seal(place, Redacted.make("during"))
      // A node caches unwrapped keys for minutes only.
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(Redacted.value(yield* vault.open(place, before)), "before")
      assert.strictEqual(Redacted.value(yield* vault.open(place, during)), "during")
      assert.include((yield* Effect.flip(stuck.open(place, before))).reason, '"m2"')
      yield* vault.seal({ ...place, organisation: "org_b" }, Redacted.make("new"))
      assert.deepStrictEqual(
        (yield* dataKeys.load("org_b")).map((key) => key.masterKeyId),
        ["m2"]
      )
    }).pipe(Effect.provide(layerPostgres.pipe(Layer.provideMerge(database))))
  )
})
