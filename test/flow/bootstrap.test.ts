/** An operator's own Postgres: the commands of README.md lead from an empty server to a run. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { Effect, Exit, Redacted, Schema, Scope } from "effect"
import * as fs from "node:fs"
import { Client } from "pg"
import { startEmbedded } from "../../src/runtime/embedded/EmbeddedServer.js"
import { makeDataDirectory, startService } from "../support/Service.js"

const scope = Effect.runSync(Scope.make())
const server = makeDataDirectory()
const elsewhere = makeDataDirectory()
let administrator = ""

beforeAll(async () => {
  fs.chmodSync(server.directory, 0o755)
  const postgres = await Effect.runPromise(
    startEmbedded({ dataDir: server.dataDir, durable: false }).pipe(Scope.extend(scope))
  )
  const client = new Client({ connectionString: Redacted.value(postgres.admin) })
  await client.connect()
  await client.query("DROP DATABASE svc")
  await client.query("DROP ROLE svc_owner, svc_writer, svc_app, svc_audit_reader")
  await client.end()
  const url = new URL(Redacted.value(postgres.admin))
  url.pathname = "/postgres"
  administrator = url.href
})

afterAll(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  server.remove()
  elsewhere.remove()
})

const command = async (words: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}) => {
  const one = startService({ dataDir: elsewhere.dataDir, command: words, env })
  return { code: await one.ended, output: one.output() }
}

const Created = Schema.Struct({ data: Schema.Struct({ id: Schema.String }) })

const readVariables = (output: string): Readonly<Record<string, string>> =>
  Object.fromEntries([...output.matchAll(/^(SVC_[A-Z_]+)=(.*)$/gm)].map(([, name, value]) => [name, value]))

it("migrate, keys new, bootstrap and start lead to a run with the printed key", async () => {
  const migrated = await command(["migrate", "--admin-url", administrator])
  assert.strictEqual(migrated.code, 0, migrated.output)
  const keys = await command(["keys", "new"])
  const env = { ...readVariables(migrated.output), ...readVariables(keys.output), SVC_DEFAULT_PLAN: "growth" }

  const made = await command(["bootstrap", "--organisation", "Acme"], env)
  assert.strictEqual(made.code, 0, made.output)
  const key = /^svk_live_[\w-]{43}$/m.exec(made.output)?.[0]
  assert.isDefined(key, made.output)
  assert.match(made.output, /org_[0-9a-z]{26}/)

  const again = await command(["bootstrap", "--organisation", "Acme"], env)
  assert.strictEqual(again.code, 1)
  assert.include(again.output, "There is an organisation called Acme already")
  assert.notInclude(again.output, "svk_")

  const running = startService({ dataDir: elsewhere.dataDir, env })
  await running.ready
  const baseUrl = /"service\.ready".*"url":"(http:\/\/[\w.:]+)"/.exec(running.output())?.[1]
  assert.isDefined(baseUrl)
  const call = async (path: string, body: object) => {
    const response = await fetch(baseUrl + path, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(body)
    })
    return { status: response.status, body: await response.json(), limit: response.headers.get("x-ratelimit-limit") }
  }
  const workflow = await call("/api/v1/workflows", {
    name: "double",
    form: "code",
    tier: "instant",
    code: "export default async (ctx) => ({ n: ctx.input.n * 2 })"
  })
  assert.strictEqual(workflow.status, 201, JSON.stringify(workflow.body))
  const { id } = Schema.decodeUnknownSync(Created)(workflow.body).data
  assert.strictEqual((await call(`/api/v1/workflows/${id}/publish`, {})).status, 200)
  // The organisation has the plan that SVC_DEFAULT_PLAN names: 600 calls a minute.
  assert.deepStrictEqual(await call(`/api/v1/workflows/${id}/execute`, { input: { n: 21 } }), {
    status: 200,
    body: { n: 42 },
    limit: "600"
  })
  assert.notInclude(running.output(), key, "a key is in no log")

  running.kill("SIGTERM")
  assert.strictEqual(await running.ended, 0)
})
