/** A key is refused, and its connection of the typed RPC closed, within a second of its revocation. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { eventually } from "../../support/eventually.js"
import { type Running, start } from "../../support/InProcess.js"
import { makeKey } from "../../support/keys.js"
import { assertWithin } from "../../support/pace.js"
import { connectRpc } from "../../support/rpc.js"

let svc: Running
beforeAll(async () => {
  svc = await start()
})
afterAll(() => svc.stop())

const revoke = async (id: string) => {
  await svc.ask("DELETE", `/api/v1/api-keys/${id}`, { key: svc.first.key })
  return performance.now()
}

it("a revoked key is refused, by the typed API and by the hot route", async () => {
  const { id, key } = await makeKey(svc, {})
  const ask = async () => [
    (await svc.ask("GET", "/api/v1/customers", { key })).status,
    (await svc.ask("POST", `/api/v1/workflows/${svc.first.workflowId}/execute`, { key, body: { input: {} } })).status
  ]
  assert.deepStrictEqual(await ask(), [200, 200])
  const revoked = await revoke(id)
  await eventually(ask, (statuses) => statuses.every((status) => status === 401))
  assertWithin(performance.now() - revoked, 1_000)
})

it("a connection whose key is revoked is closed", async () => {
  const { id, key } = await makeKey(svc, {})
  const connection = await connectRpc((await svc.listen()).baseUrl, key)
  const revoked = await revoke(id)
  assert.strictEqual(await connection.closed, 4401)
  assertWithin(performance.now() - revoked, 1_500)
})
