/** The bodies of webhooks: content types and encodings as senders really use them, and secrets that are no keys. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { deflateRawSync, deflateSync, gzipSync } from "node:zlib"
import { webhookSends } from "../support/webhookSends.js"
import { worldOf } from "../support/World.js"

const world = worldOf({ allow: true })
const call = (method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>) =>
  world.api().call(method, `/api/v1${path}`, body, headers)

let workflowId = ""

beforeAll(async () => {
  await world.start()
  workflowId = await world.api().workflow("bodies", "instant", "export default async (ctx) => ctx.input")
})
afterAll(() => world.stop())

let named = 0
const trigger = async (webhook: object = {}) => {
  const made = await call("POST", "/triggers", {
    type: "webhook",
    name: `trigger ${(named += 1)}`,
    webhook: { auth: "public", ...webhook },
    routes: [{ workflowId }]
  })
  assert.strictEqual(made.status, 201, JSON.stringify(made.body))
  return { id: made.body.data.id, path: new URL(made.body.data.webhook.url).pathname }
}
const { event, send, settled } = webhookSends(world)

describe("the body of a webhook", () => {
  it("is inflated from each encoding, within the same limit", async () => {
    const { path } = await trigger()
    const packed = gzipSync(JSON.stringify({ packed: true }))
    const encodings = [
      ["x-gzip", packed],
      ["GZIP", packed],
      ["deflate", deflateSync(JSON.stringify({ packed: true }))],
      ["deflate", deflateRawSync(JSON.stringify({ packed: true }))]
    ] as const
    for (const [encoding, body] of encodings) {
      const sent = await send(path, body, { "content-encoding": encoding })
      assert.deepStrictEqual((await settled(sent.body.eventId)).payload, { packed: true }, encoding)
    }
    const rawBomb = deflateRawSync(Buffer.alloc(20_000_000, "1"))
    assert.strictEqual((await send(path, rawBomb, { "content-encoding": "deflate" })).status, 413)
  })

  it("takes JSON under each of its types, and JSON objects and lists that are called text or nothing", async () => {
    const { path } = await trigger()
    // Without a type of its own: the client names text/plain for a text, and none for bytes.
    const json = ["text/json", "application/vnd.acme+v2+json", "text/plain; charset=UTF-8", "text/plain", ""]
    for (const type of json) {
      const sent = await send(path, new TextEncoder().encode('\n{"Type":"Notification","id":1}'), {
        "content-type": type
      })
      assert.strictEqual(sent.status, 202, type)
      assert.deepStrictEqual((await settled(sent.body.eventId)).payload, { Type: "Notification", id: 1 }, type)
    }
    const large = await send(path, '[{"id":9007199254740993}]', { "content-type": "text/plain" })
    assert.strictEqual((await settled(large.body.eventId)).warnings.length, 1)
    for (const text of ["hello", "{", "5", '"text"', "[1] [2]"]) {
      const refused = await send(path, text, { "content-type": "text/plain" })
      assert.deepStrictEqual([refused.status, refused.body.code], [415, "UNSUPPORTED_MEDIA_TYPE"], text)
    }
    const unstorable = await send(path, '{"a":"\\u0000"}', { "content-type": "text/plain" })
    assert.deepStrictEqual([unstorable.status, unstorable.body.details?.at(-1)?.code], [400, "NOT_STORABLE"])
  })
})

describe("the signature of a webhook", () => {
  it("says that a secret of Standard Webhooks is too short", async () => {
    const name = "SHORT_SECRET"
    const value = `whsec_${Buffer.alloc(16, 1).toString("base64")}`
    assert.strictEqual((await call("POST", "/secrets", { name, value })).status, 201)
    const { id, path } = await trigger({
      verify: { preset: "standard-webhooks", secretName: name }
    })
    const sent = await send(
      path,
      {},
      {
        "webhook-id": "m1",
        "webhook-timestamp": String(Math.floor(Date.now() / 1_000)),
        "webhook-signature": "v1,AAAA"
      }
    )
    assert.deepStrictEqual([sent.status, sent.body.details[0].code], [401, "INVALID_SIGNATURE"])
    assert.match(sent.body.message, /secretName.*too short.*24 to 64 bytes/)
    const { data } = (await call("GET", `/events?trigger_id=${id}&status=rejected`)).body
    assert.strictEqual((await event(data[0].id)).reason, "secret_form")
  })
})
