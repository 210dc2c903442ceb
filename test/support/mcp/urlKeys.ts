/** Asks the tool gateways with keys in URLs, in every way in which a request is served or refused. */
import { assert } from "@effect/vitest"
import type { Api } from "../api.js"
import { adminGateway, message, toolCall } from "./Gateway.js"

const newKey = async (client: Api, body: object): Promise<{ readonly id: string; readonly key: string }> => {
  const made = await client.call("POST", "/api/v1/api-keys", { name: "in a URL", mode: "live", ...body })
  assert.strictEqual(made.status, 201, JSON.stringify(made.body))
  return made.body.data
}

/** The keys that the URLs had, by name. */
export const askWithUrlKeys = async (client: Api): Promise<ReadonlyMap<string, string>> => {
  const { key: urlKey } = await newKey(client, { preset: "full_access" })
  const { key: weakKey } = await newKey(client, { preset: "viewer" })
  const revoked = await newKey(client, { preset: "full_access" })
  await client.call("DELETE", `/api/v1/api-keys/${revoked.id}`)
  const unknownKey = `svk_live_${revoked.key.slice(9).split("").toReversed().join("")}`
  const notKey = `no-key-${revoked.key.slice(9)}`
  const ask = async (key: string, body: unknown, more: RequestInit = {}) => {
    const url = `${client.dev.baseUrl}${adminGateway}?customer_id=a&api_key=${encodeURIComponent(key)}`
    const answer = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: typeof body === "string" ? body : JSON.stringify(body),
      ...more
    })
    const text = await answer.text()
    assert.notInclude(text, key)
    assert.notInclude(JSON.stringify([...answer.headers]), key)
    return answer
  }
  const create = toolCall(1, "svc_connector_create", { definition: { svcConnector: 1, name: "not whole" } })
  const expected: ReadonlyArray<readonly [status: number, answer: Promise<Response>]> = [
    [200, ask(urlKey, message(1, "tools/list"))],
    [200, ask(urlKey, create)],
    [200, ask(weakKey, create)],
    [200, ask(urlKey, [message(2, "ping"), create])],
    [400, ask(urlKey, "{nope")],
    [413, ask(urlKey, JSON.stringify("a".repeat(2 * 1024 * 1024)))],
    [401, ask(revoked.key, create)],
    [401, ask(unknownKey, create)],
    [401, ask(notKey, create)],
    [401, ask(urlKey, create, { headers: { "content-type": "application/json", "x-svc-api-key": weakKey } })],
    [403, ask(urlKey, create, { headers: { "content-type": "application/json", origin: "https://evil.example" } })],
    [405, ask(urlKey, create, { method: "PUT" })]
  ]
  for (const [status, answer] of expected) {
    const found = await answer
    assert.strictEqual(found.status, status)
    assert.strictEqual(found.headers.get("x-svc-notice"), "key-in-url")
  }
  return new Map(Object.entries({ urlKey, weakKey, revokedKey: revoked.key, unknownKey, notKey }))
}
