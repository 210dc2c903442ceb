import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Either, FastCheck as fc, Layer, Redacted } from "effect"
import { Vault, VaultRefused } from "../../src/actors/ports/Vault.js"
import { openWith, readSealed, sealWith } from "../../src/runtime/vault/Cipher.js"
import { type DataKey, DataKeys } from "../../src/runtime/vault/DataKeys.js"
import { type Keyring, parseKeyring } from "../../src/runtime/vault/Keyring.js"
import { createSecretFile, readSecretFile } from "../../src/runtime/vault/SecretFile.js"
import { layer, rewrapAll } from "../../src/runtime/vault/Vault.js"

const master = (id: string, fill: number) => `${id}:${Buffer.alloc(32, fill).toString("base64")}`
const keyring = (...entries: ReadonlyArray<string>): Keyring =>
  Either.getOrThrow(parseKeyring(Redacted.make(entries.join(","))))

/** The table in memory; a test can read and change `rows`. */
const memory = () => {
  const rows = new Map<string, DataKey>()
  const service = DataKeys.of({
    load: (org) => Effect.sync(() => [...rows.values()].filter((row) => row.org === org)),
    insertIfAbsent: (key) =>
      Effect.sync(() => {
        if (![...rows.values()].some((row) => row.org === key.org && row.active)) rows.set(key.id, key)
      }),
    rewrap: (all) =>
      Effect.sync(() => {
        const fitting = all.filter(({ from, key }) => rows.get(key.id)?.masterKeyId === from)
        for (const { key } of fitting) rows.set(key.id, key)
        return fitting.length
      }),
    wrappedByOthers: (masterKeyId, after, limit) =>
      Effect.sync(() =>
        [...rows.values()]
          .filter((row) => row.masterKeyId !== masterKeyId && row.id > after)
          .sort((a, b) => (a.id < b.id ? -1 : 1))
          .slice(0, limit)
      )
  })
  return { rows, layer: Layer.succeed(DataKeys, service) }
}
type Memory = ReturnType<typeof memory>

/** A new node over the same table, with an empty cache. */
const node = (table: Memory, ring: Keyring) =>
  Effect.provide(Effect.provide(Vault, layer({ keyring: ring })), table.layer)

const place = { organisation: "org_a", table: "secrets", column: "value", row: "sec_1" }
const secret = Redacted.make("s3cret ✓")
const one = keyring(master("m1", 1))

const refusal = <A>(effect: Effect.Effect<A, VaultRefused>) => Effect.map(Effect.flip(effect), (error) => error.reason)

describe("Vault", () => {
  it.effect("opens what it sealed, on every node that has the keyring", () =>
    Effect.gen(function* () {
      const table = memory()
      const sealed = yield* (yield* node(table, one)).seal(place, secret)
      assert.strictEqual(Redacted.value(yield* (yield* node(table, one)).open(place, sealed)), "s3cret ✓")
      assert.notInclude(Buffer.from(sealed).toString("latin1"), "s3cret")
    })
  )

  it.effect("opens a sealed value only in its place", () =>
    Effect.gen(function* () {
      const vault = yield* node(memory(), one)
      const sealed = yield* vault.seal(place, secret)
      for (const other of [{ table: "credentials" }, { column: "name" }, { row: "sec_2" }]) {
        assert.match(yield* refusal(vault.open({ ...place, ...other }, sealed)), /altered, or sealed for another place/)
      }
      yield* vault.seal({ ...place, organisation: "org_b" }, secret)
      assert.match(yield* refusal(vault.open({ ...place, organisation: "org_b" }, sealed)), /does not have/)
    })
  )

  it.effect("refuses every changed byte, every truncation and what was never sealed", () =>
    Effect.gen(function* () {
      const vault = yield* node(memory(), one)
      const sealed = yield* vault.seal(place, secret)
      for (let at = 0; at < sealed.length; at++) {
        const changed = Uint8Array.from(sealed)
        changed[at] = (changed[at] ?? 0) ^ 1
        assert.isString(yield* refusal(vault.open(place, changed)), `byte ${at}`)
        assert.isString(yield* refusal(vault.open(place, sealed.slice(0, at))), `cut at ${at}`)
      }
      assert.isString(yield* refusal(vault.open(place, new Uint8Array([2, 3, 4]))))
    })
  )

  it.effect("seals and opens without I/O while an organisation's key is in memory", () =>
    Effect.gen(function* () {
      const table = memory()
      const vault = yield* node(table, one)
      const organisation = yield* vault.of("org_a")
      table.rows.clear()
      const sealed = organisation.seal(place, new Uint8Array([0, 255, 1]))
      assert.deepStrictEqual(organisation.open(place, sealed), new Uint8Array([0, 255, 1]))
      assert.throws(() => organisation.open({ ...place, row: "sec_2" }, sealed), VaultRefused)
      assert.notDeepEqual(organisation.seal(place, "x"), organisation.seal(place, "x"))
    })
  )

  it.effect("gives two nodes that create an organisation's first key at once the same one", () =>
    Effect.gen(function* () {
      const table = memory()
      const [a, b] = [yield* node(table, one), yield* node(table, one)]
      const [x, y] = yield* Effect.all([a.seal(place, secret), b.seal(place, secret)], { concurrency: "unbounded" })
      assert.strictEqual(table.rows.size, 1)
      assert.strictEqual(Redacted.value(yield* a.open(place, y)), "s3cret ✓")
      assert.strictEqual(Redacted.value(yield* b.open(place, x)), "s3cret ✓")
    })
  )

  it.effect("says what to do when the master key is missing, wrong, or was swapped with another organisation's", () =>
    Effect.gen(function* () {
      const table = memory()
      const sealed = yield* (yield* node(table, one)).seal(place, secret)
      assert.match(
        yield* refusal((yield* node(table, keyring(master("m2", 2)))).open(place, sealed)),
        /"m1".*not in the keyring: add it to SVC_MASTER_KEYS/
      )
      assert.match(
        yield* refusal((yield* node(table, keyring(master("m1", 9)))).open(place, sealed)),
        /not the one that wrapped/
      )
      const [row] = table.rows.values()
      if (row !== undefined) table.rows.set(row.id, { ...row, org: "org_b" })
      assert.match(yield* refusal((yield* node(table, one)).of("org_b")), /not the one that wrapped/)
    })
  )

  it.effect("rotates the master key during operation: old values open, and the old key can be removed", () =>
    Effect.gen(function* () {
      const table = memory()
      const running = yield* node(table, one)
      const before = yield* Effect.forEach(
        Array.from({ length: 450 }, (_, at) => `org_${at}`),
        (organisation) =>
          Effect.map(running.seal({ ...place, organisation }, secret), (sealed) => [organisation, sealed] as const)
      )
      const both = keyring(master("m2", 2), master("m1", 1))
      assert.strictEqual(yield* rewrapAll(both).pipe(Effect.provide(table.layer)), 450)
      assert.strictEqual(yield* rewrapAll(both).pipe(Effect.provide(table.layer)), 0)
      const later = yield* node(table, keyring(master("m2", 2)))
      for (const [organisation, sealed] of before) {
        assert.strictEqual(Redacted.value(yield* later.open({ ...place, organisation }, sealed)), "s3cret ✓")
      }
      const during = yield* running.seal({ ...place, organisation: "org_0" }, secret)
      assert.strictEqual(Redacted.value(yield* later.open({ ...place, organisation: "org_0" }, during)), "s3cret ✓")
    })
  )

  it.effect("names the master key that a rotation lacks, and loses nothing", () =>
    Effect.gen(function* () {
      const table = memory()
      const sealed = yield* (yield* node(table, one)).seal(place, secret)
      assert.match(yield* refusal(rewrapAll(keyring(master("m2", 2))).pipe(Effect.provide(table.layer))), /"m1"/)
      assert.strictEqual(Redacted.value(yield* (yield* node(table, one)).open(place, sealed)), "s3cret ✓")
    })
  )
})

describe("the cipher", () => {
  const key = new Uint8Array(32).fill(7)

  it.prop("round trip", [fc.uint8Array(), fc.array(fc.fullUnicodeString(), { maxLength: 4 })], ([plain, bound]) => {
    const parts = readSealed(sealWith(key, "dk_1", bound, plain))
    if (parts === undefined) throw new Error("what was sealed is not read")
    assert.deepStrictEqual(openWith(key, bound, parts), plain)
  })

  it("binds parts unambiguously", () => {
    const sealed = readSealed(sealWith(key, "dk_1", ["ab", "c"], "x"))
    if (sealed === undefined) throw new Error("what was sealed is not read")
    for (const other of [["a", "bc"], ["abc"], ["ab", "c", ""], ["c", "ab"]])
      assert.isUndefined(openWith(key, other, sealed))
    assert.strictEqual(sealed.tag.length, 16)
  })
})

describe("the keyring", () => {
  it("is refused if it is malformed, without a key in the message", () => {
    const good = Buffer.alloc(32, 3).toString("base64")
    for (const bad of [
      "",
      "m1",
      `m1:${good.slice(4)}`,
      `m1:${good},m1:${good}`,
      `m 1:${good}`,
      `:${good}`,
      "m1:!!!!"
    ]) {
      const parsed = parseKeyring(Redacted.make(bad))
      assert.isTrue(Either.isLeft(parsed), bad)
      if (Either.isLeft(parsed)) assert.notInclude(parsed.left, good.slice(4, 20))
    }
    assert.deepStrictEqual([...keyring(master("a", 1), master("b", 2)).keys.keys()], ["a", "b"])
    assert.strictEqual(keyring(master("a", 1), master("b", 2)).active, "a")
  })
})

describe("a secret's file", () => {
  const inDirectory = (use: (file: string) => void) => {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), "svc-keyring-"))
    try {
      use(path.join(directory, "master.keys"))
    } finally {
      fs.rmSync(directory, { recursive: true })
    }
  }

  it("is created once, readable by its owner only, and read again", () =>
    inDirectory((file) => {
      assert.isUndefined(readSecretFile(file))
      createSecretFile(file, "first")
      createSecretFile(file, "second")
      assert.strictEqual(readSecretFile(file), "first")
      assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600)
      assert.deepStrictEqual(fs.readdirSync(path.dirname(file)), ["master.keys"])
    }))

  it("that others can read, or that is a link, is refused", () =>
    inDirectory((file) => {
      createSecretFile(file, "first")
      fs.chmodSync(file, 0o640)
      assert.throws(() => readSecretFile(file), /chmod 600/)
      fs.chmodSync(file, 0o600)
      fs.symlinkSync(file, `${file}.link`)
      assert.throws(() => readSecretFile(`${file}.link`), /symbolic link/)
    }))
})
