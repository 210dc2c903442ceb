import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { Effect, Exit, Redacted, Scope } from "effect"
import * as fs from "node:fs"
import { Client } from "pg"
import { startEmbedded } from "../../src/runtime/embedded/EmbeddedServer.js"
import { announce } from "../support/LogExpectations.js"
import { makeDataDirectory, startService } from "../support/Service.js"

/** An operator's Postgres whose administrator is not a superuser, as at most hosting providers. */
const scope = Effect.runSync(Scope.make())
const { directory, dataDir, remove } = makeDataDirectory()
const elsewhere = makeDataDirectory()
let administrator = ""

beforeAll(async () => {
  fs.chmodSync(directory, 0o755)
  const server = await Effect.runPromise(startEmbedded({ dataDir, durable: false }).pipe(Scope.extend(scope)))
  const client = new Client({ connectionString: Redacted.value(server.admin) })
  await client.connect()
  await client.query("DROP DATABASE svc")
  await client.query("DROP ROLE svc_owner, svc_writer, svc_app, svc_audit_reader")
  await client.query("CREATE ROLE dba LOGIN CREATEROLE CREATEDB PASSWORD 'dba'")
  await client.query("CREATE DATABASE existing OWNER dba")
  await client.end()
  const url = new URL(Redacted.value(server.admin))
  url.username = url.password = "dba"
  url.pathname = "/existing"
  administrator = url.href
})

afterAll(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  remove()
  elsewhere.remove()
})

const run = async (command: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}) => {
  const one = startService({ dataDir: elsewhere.dataDir, command, env })
  return { code: await one.ended, output: one.output() }
}

const readVariables = (output: string) =>
  Object.fromEntries(
    output.split("\n").flatMap((line) => {
      const [, name, value] = /^(SVC_[A-Z_]+)=(.*)$/.exec(line) ?? []
      return name === undefined || value === undefined ? [] : [[name, value]]
    })
  )

it("migrate with an administrator's URL creates roles, database and tables, prints the logins once, and svc starts with them", async () => {
  const made = await run(["migrate", "--admin-url", administrator])
  assert.strictEqual(made.code, 0, made.output)
  const logins = readVariables(made.output)
  assert.sameMembers(Object.keys(logins), [
    "SVC_DATABASE_URL_OWNER",
    "SVC_DATABASE_URL_WRITER",
    "SVC_DATABASE_URL_APP",
    "SVC_DATABASE_URL_AUDIT"
  ])
  assert.match(made.output, /# Migrated: tenancy/)
  const again = await run(["migrate", "--admin-url", administrator])
  assert.strictEqual(again.output, "# The database is up to date.\n")

  const keys = readVariables((await run(["keys", "new"])).output)
  const first = startService({ dataDir: elsewhere.dataDir, env: { ...logins, ...keys } })
  await first.ready
  assert.isFalse(fs.existsSync(elsewhere.dataDir), "nothing is kept in files")

  const oneLogin = new URL(administrator)
  oneLogin.pathname = "/svc"
  const second = startService({ dataDir: elsewhere.dataDir, env: { SVC_DATABASE_URL: oneLogin.href, ...keys } })
  announce(/^Another svc already runs on this database/, { required: true })
  assert.strictEqual(await second.ended, 1)
  assert.match(second.output(), new RegExp(`Another svc already runs on this database \\(svc, pid ${first.pid} from`))
  first.kill("SIGTERM")
  assert.strictEqual(await first.ended, 0)

  const third = startService({ dataDir: elsewhere.dataDir, env: { SVC_DATABASE_URL: oneLogin.href, ...keys } })
  await third.ready
  third.kill("SIGTERM")
  assert.strictEqual(await third.ended, 0)
})

it("a missing database is one line that says how to create it", async () => {
  const keys = readVariables((await run(["keys", "new"])).output)
  const strange = new URL(administrator)
  strange.pathname = "/not_there"
  const refused = await run(["start"], { SVC_DATABASE_URL: strange.href, ...keys })
  assert.strictEqual(refused.code, 1)
  assert.match(refused.output, /^The database could not be migrated: .*svc -- migrate --admin-url.*\n$/)
})

it("the SQL for the roles can be printed for an administrator", async () => {
  const printed = await run(["migrate", "--print"])
  for (const role of ["svc_owner", "svc_writer", "svc_app", "svc_audit_reader"]) {
    const password = new RegExp(`${role}:([\\w-]{43})@HOST:5432/svc`).exec(printed.output)?.[1]
    assert.match(printed.output, new RegExp(`CREATE ROLE ${role} LOGIN NOSUPERUSER .* PASSWORD '${password}'; END IF`))
  }
  assert.include(printed.output, "CREATE DATABASE svc OWNER svc_owner TEMPLATE template0 ENCODING ''UTF8'''\n")
})
