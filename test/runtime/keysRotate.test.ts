import { afterAll, assert, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as path from "node:path"
import { makeDataDirectory, prepareData, startService } from "../support/Service.js"

const { dataDir, directory, remove } = makeDataDirectory()
fs.chmodSync(directory, 0o755)
afterAll(remove)

const rotate = async (env: Readonly<Record<string, string>> = {}) => {
  const one = startService({ dataDir, command: ["keys", "rotate"], env })
  assert.strictEqual(await one.ended, 0, one.output())
  return one.output()
}

/** The contents of `dev.json`. */
const dev = (): { readonly apiKey: string; readonly baseUrl: string; readonly customerId: string } =>
  JSON.parse(fs.readFileSync(path.join(dataDir, "dev.json"), "utf8"))

const call = async (method: string, target: string, body?: object) => {
  const { apiKey, baseUrl } = dev()
  const answer = await fetch(`${baseUrl}${target}`, {
    method,
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  const { data } = JSON.parse(await answer.text())
  assert.isBelow(answer.status, 300, `${method} ${target}: ${answer.status}`)
  return data
}

const keyring = () => fs.readFileSync(path.join(dataDir, "master.keys"), "utf8").trim().split(",")

it("secrets and credentials stay readable before, during and after a rotation of the master key", async () => {
  await prepareData(dataDir)
  const first = startService({ dataDir })
  await first.ready
  const secret = await call("POST", "/api/v1/secrets", { name: "CANARY", value: "sealed before" })
  await call("POST", "/api/v1/connectors", {
    svcConnector: 1,
    slug: "acme",
    name: "Acme",
    kind: "crm",
    version: "1.0.0",
    baseUrl: "https://acme.example",
    auth: [{ id: "key", type: "api_key", default: true, fields: [{ name: "apiKey", secret: true }] }],
    actions: [{ name: "get", request: { method: "GET", path: "/" } }]
  })
  await call("POST", "/api/v1/connectors/acme/publish", {})
  const connection = await call("POST", "/api/v1/connections", {
    connector: "acme",
    customerId: dev().customerId,
    credential: { apiKey: "credential before" }
  })
  const readable = async () => {
    assert.strictEqual((await call("GET", `/api/v1/secrets/${secret.id}/value`)).value, "sealed before")
    const revealed = await call("POST", `/api/v1/connections/${connection.id}/reveal`, {})
    assert.include(JSON.stringify(revealed), "credential before")
  }
  await readable()

  const [old] = keyring()
  const done = new AbortController()
  let reads = 0
  const rotation = rotate().finally(() => done.abort())
  while (!done.signal.aborted) {
    await readable()
    reads += 1
  }
  const output = await rotation
  assert.isAbove(reads, 0)
  assert.match(output, /\b[1-9]\d* data keys are wrapped by it/)
  const [active, kept, ...others] = keyring()
  assert.notStrictEqual(active, old)
  assert.deepStrictEqual([kept, others], [old, []])
  assert.strictEqual(fs.statSync(path.join(dataDir, "master.keys")).mode & 0o777, 0o600)
  await readable()

  first.kill("SIGTERM")
  await first.ended
  // Without the old key only data keys open that the new key wraps.
  fs.writeFileSync(path.join(dataDir, "master.keys"), `${active}\n`)
  const second = startService({ dataDir })
  await second.ready
  await readable()
  await rotate()
  assert.deepStrictEqual([keyring().length, keyring()[1]], [2, active])
  await readable()
  second.kill("SIGTERM")
  await second.ended
})

it("with keys in the environment, a rotation says what to set, and uses it after that", async () => {
  const before = keyring().join(",")
  const made = await rotate({ SVC_MASTER_KEYS: keyring()[0] ?? "" })
  const [entry] = /^[\w.-]{1,32}:[A-Za-z0-9+/]{43}=$/m.exec(made) ?? assert.fail(made)
  assert.match(await rotate({ SVC_MASTER_KEYS: `${entry},${before}` }), /^[1-9]\d* data keys were wrapped/m)
  assert.match(await rotate({ SVC_MASTER_KEYS: entry }), /Put this new key/)
  assert.strictEqual(keyring().join(","), before)
})

it("the help describes it", async () => {
  const help = startService({ dataDir, command: ["keys", "--help"] })
  assert.strictEqual(await help.ended, 0)
  assert.match(help.output(), /rotate/)
})
