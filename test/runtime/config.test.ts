import { assert, it } from "@effect/vitest"
import { Effect, Logger, Option, Redacted } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { announce } from "../support/LogExpectations.js"
import { readConfig, readLogFormat } from "../../src/runtime/configuration/Config.js"
import { settingTable } from "../../src/runtime/configuration/SettingTable.js"
import { environmentExample, environmentTable } from "../../src/runtime/configuration/EnvironmentPages.js"
import { resolveSecrets } from "../../src/runtime/vault/InstallationSecrets.js"

const key = `k1:${Buffer.alloc(32, 7).toString("base64")}`
const external = {
  SVC_DATABASE_URL: "postgres://svc:pw@db.internal:5432/svc",
  SVC_MASTER_KEYS: key,
  SVC_KEY_PEPPER: "p".repeat(32)
}

const withWarnings = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const warnings: Array<string> = []
    const logger = Logger.make(
      ({ annotations, message }) =>
        void warnings.push(
          [String(message), ...[...annotations].map(([name, value]) => `${name}=${value}`).sort()].join(" ")
        )
    )
    yield* Effect.ignore(effect).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
    return warnings
  })

it.effect("without variables svc is embedded, local and unlimited", () =>
  Effect.gen(function* () {
    const config = yield* readConfig({})
    assert.deepStrictEqual(config.database, { _tag: "Embedded" })
    assert.deepStrictEqual(
      [config.host, config.port, config.publicUrl, config.dataDir, config.defaultPlan],
      ["127.0.0.1", 8080, "http://127.0.0.1:8080", ".svc", "unlimited"]
    )
  })
)

it.effect("all mistakes are reported at once, each in a sentence, and no secret is repeated", () =>
  Effect.gen(function* () {
    const refusal = yield* Effect.flip(
      readConfig({
        SVC_PORT: "eighty",
        SVC_RUNNERS: "0",
        SVC_LOG_LEVEL: "loud",
        SVC_DB_CONNECT_TIMEOUT: "0s",
        SVC_SHUTDOWN_GRACE: "soon",
        SVC_MASTER_KEYS: "k1:hunter2",
        SVC_DATABASE_URL: "mysql://hunter2@db",
        SVC_TRUSTED_PROXIES: "localhost"
      })
    )
    assert.strictEqual(
      refusal.message,
      [
        "svc cannot start with this configuration:",
        "  SVC_PORT must be a whole number from 0 to 65535.",
        "  SVC_DATABASE_URL must be an address that begins with postgres:// or postgresql://.",
        "  SVC_DB_CONNECT_TIMEOUT must be a duration from 1s to 2m.",
        "  SVC_MASTER_KEYS must be keys id:base64 of 32 bytes each, with different ids, separated by commas; " +
          "`npm run svc -- keys new` makes one.",
        "  SVC_TRUSTED_PROXIES must be IP addresses or networks such as 10.0.0.0/8, separated by commas.",
        "  SVC_RUNNERS must be a whole number from 1 to 256.",
        "  SVC_LOG_LEVEL must be one of trace, debug, info, warning, error, none.",
        '  SVC_SHUTDOWN_GRACE must be a duration such as "500ms", "30s" or "2m".',
        "  SVC_KEY_PEPPER is missing: with a Postgres of yours svc keeps no keys itself. `npm run svc -- keys new` makes one."
      ].join("\n")
    )
  })
)

it.effect("with an operator's Postgres, svc refuses to start without keys and says how to create them", () =>
  Effect.gen(function* () {
    const refusal = yield* Effect.flip(readConfig({ SVC_DATABASE_URL: external.SVC_DATABASE_URL }))
    assert.match(refusal.message, /SVC_MASTER_KEYS is missing.*npm run svc -- keys new/)
    assert.match(refusal.message, /SVC_KEY_PEPPER is missing/)
  })
)

it.effect("one login serves all roles; a role's own login takes precedence; three of four logins are not enough", () =>
  Effect.gen(function* () {
    const config = yield* readConfig({ ...external, SVC_DATABASE_URL_OWNER: "postgres://owner@db/svc" })
    if (config.database._tag !== "External") return assert.fail("the Postgres given was not used")
    assert.strictEqual(Redacted.value(config.database.urls.owner), "postgres://owner@db/svc")
    assert.strictEqual(new URL(Redacted.value(config.database.urls.app)).searchParams.get("options"), "-c role=svc_app")
    assert.strictEqual(config.defaultPlan, "starter")
    const { SVC_DATABASE_URL: login, ...keys } = external
    const refusal = yield* Effect.flip(
      readConfig({
        ...keys,
        SVC_DATABASE_URL_OWNER: login,
        SVC_DATABASE_URL_WRITER: login,
        SVC_DATABASE_URL_APP: login
      })
    )
    assert.match(refusal.message, /SVC_DATABASE_URL_AUDIT is missing/)
  })
)

it.effect("an unknown SVC_ variable causes a warning with the closest known name", () =>
  Effect.gen(function* () {
    announce(/config\.unknown_variable/, { required: true })
    const warnings = yield* withWarnings(
      readConfig({ SVC_PROT: "80", SVC_COFFEE: "1", SVC_TEST_KILL: "parsed:1", PATH: "/bin" })
    )
    assert.deepStrictEqual(warnings, [
      "config.unknown_variable didYouMean=SVC_PORT variable=SVC_PROT",
      "config.unknown_variable variable=SVC_COFFEE"
    ])
  })
)

it.effect("a keyring is read in order, the active key first", () =>
  Effect.gen(function* () {
    const { masterKeys } = yield* readConfig({
      ...external,
      SVC_MASTER_KEYS: `${key},old:${Buffer.alloc(32, 1).toString("base64")}`
    })
    const { active, keys } = Redacted.value(Option.getOrThrow(masterKeys))
    assert.strictEqual(active, "k1")
    assert.deepStrictEqual(
      [...keys].map(([id, key]) => [id, Redacted.value(key).length, Redacted.value(key)[0]]),
      [
        ["k1", 32, 7],
        ["old", 32, 1]
      ]
    )
  })
)

it.effect(
  "keys are created once, readable by their owner only, and never again beside data that needs the old ones",
  () =>
    Effect.gen(function* () {
      const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), "svc-keys-"))
      const config = yield* readConfig({ SVC_DATA_DIR: dataDir })
      const none = yield* Effect.flip(resolveSecrets(config, { create: false }))
      assert.match(none.message, /There is no installation of svc in .*svc-keys-.*SVC_DATA_DIR/)
      assert.deepStrictEqual(fs.readdirSync(dataDir), [], "only a start makes keys")
      const made = yield* resolveSecrets(config, { create: true })
      assert.deepStrictEqual(yield* resolveSecrets(config, { create: false }), made)
      assert.strictEqual(fs.statSync(path.join(dataDir, "master.keys")).mode & 0o777, 0o600)
      fs.mkdirSync(path.join(dataDir, "postgres", "cluster"), { recursive: true })
      fs.rmSync(path.join(dataDir, "master.keys"))
      assert.match(
        (yield* Effect.flip(resolveSecrets(config, { create: true }))).message,
        /master\.keys is missing, and the data/
      )
      fs.rmSync(dataDir, { recursive: true })
    })
)

it("the documents of the environment are current and name every variable", () => {
  assert.strictEqual(fs.readFileSync("docs/env.md", "utf8"), environmentTable())
  assert.strictEqual(fs.readFileSync(".env.example", "utf8"), environmentExample())
  for (const { name } of Object.values(settingTable)) assert.include(environmentTable(), `\`${name}\``)
})

it("no other file of src reads the environment", () => {
  const readers = fs
    .readdirSync("src", { recursive: true, encoding: "utf8" })
    .filter(
      (file) => file.endsWith(".ts") && /process\.env|process\[/.test(fs.readFileSync(path.join("src", file), "utf8"))
    )
  assert.deepStrictEqual(readers, ["runtime/configuration/Config.ts"])
})

it.effect("the form of the log is read before the rest, also under its former name", () =>
  Effect.gen(function* () {
    assert.strictEqual(yield* readLogFormat({ SVC_LOG: "pretty", SVC_PORT: "eighty" }), "pretty")
    assert.strictEqual(yield* readLogFormat({ SVC_LOG_FORMAT: "pretty" }), "pretty")
    assert.strictEqual(yield* readLogFormat({ SVC_LOG_FORMAT: "pretty", SVC_LOG: "json" }), "json")
    assert.strictEqual((yield* readConfig({ SVC_LOG_FORMAT: "pretty" })).logFormat, "pretty")
    assert.deepStrictEqual(yield* withWarnings(readConfig({ SVC_LOG_FORMAT: "pretty" })), [])
  })
)
