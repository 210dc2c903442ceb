/** A re-run calls through the connections that the request of the run chose, also when the run has no journal. */
import { afterAll, assert, beforeAll, expect, it } from "@effect/vitest"
import { eventually } from "../support/eventually.js"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"
import { acme, type OAuthProvider, startOAuthProvider } from "../support/oauthProvider.js"

let svc: Running
let provider: OAuthProvider

const ask = (method: string, target: string, body?: unknown, headers: { readonly [name: string]: string } = {}) =>
  svc.ask(method, `/api/v1${target}`, { key: svc.first.key, headers, ...(body === undefined ? {} : { body }) })

beforeAll(async () => {
  provider = await startOAuthProvider()
  svc = await startShared()
  assert.strictEqual((await ask("POST", "/connectors", acme())).status, 201)
  assert.strictEqual((await ask("POST", "/connectors/acme/publish", {})).status, 200)
})
afterAll(async () => {
  await svc.stop()
  await provider.close()
})

const connect = async (label: string): Promise<string> => {
  const made = await ask("POST", "/connections", {
    connector: "acme",
    customerId: svc.first.customerId,
    label,
    config: { base: provider.url },
    authMethod: "key",
    credential: { apiKey: `canary_key_${label}` }
  })
  assert.strictEqual(made.status, 201, made.text)
  return made.body.data.id
}

const save = async (method: string, target: string, code: string): Promise<string> => {
  const made = await ask(method, target, { name: "whoami", form: "code", tier: "instant", code })
  expect(made.status, made.text).toBeLessThan(300)
  assert.strictEqual((await ask("POST", `/workflows/${made.body.data.id}/publish`, {})).status, 200)
  return made.body.data.id
}

it("with the version latest, of a run that called nothing", async () => {
  await connect("first")
  const chosen = await connect("second")
  await connect("third")
  const workflow = await save("POST", "/workflows", "export default async () => 1")
  const ran = await ask(
    "POST",
    `/workflows/${workflow}/execute`,
    { input: {} },
    {
      "x-svc-connections": chosen,
      "x-end-org-id": svc.first.customerId
    }
  )
  assert.strictEqual(ran.status, 200, ran.text)
  await save(
    "PUT",
    `/workflows/${workflow}`,
    "export default async () => { await svc.connector.acme.me({}); return 2 }"
  )
  const before = provider.calls.length
  const again = await ask("POST", `/executions/${ran.headers["x-svc-execution-id"]}/rerun`, { version: "latest" })
  assert.strictEqual(again.status, 202, again.text)
  const ended = await eventually(
    () => ask("GET", `/executions/${again.body.data.id}`),
    ({ body }) => body.data.status !== "pending" && body.data.status !== "running"
  )
  assert.strictEqual(ended.body.data.status, "completed", ended.text)
  const keys = provider.calls.slice(before).map(({ key }) => key)
  assert.deepStrictEqual(keys, ["canary_key_second"])
})
