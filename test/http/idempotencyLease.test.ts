/** A request with an Idempotency-Key that waits for an external system blocks no other, and happens once. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { eventually } from "../support/eventually.js"
import { type Running, start } from "../support/InProcess.js"

const document = JSON.stringify({
  openapi: "3.0.0",
  info: { title: "Slow", version: "1" },
  servers: [{ url: "https://api.example.com" }],
  paths: { "/things": { get: { operationId: "listThings", responses: { 200: { description: "things" } } } } }
})

describe("a request with an Idempotency-Key that waits for a provider", () => {
  let svc: Running
  const held: Array<ServerResponse> = []
  const provider = createServer((_, response) => void held.push(response))
  let url = ""

  beforeAll(async () => {
    await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve))
    url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/openapi.json`
    svc = await start({ SVC_EGRESS_ALLOW: "127.0.0.1/32" })
  })
  afterAll(async () => {
    await svc.stop()
    provider.closeAllConnections()
    provider.close()
  })

  const discover = (key: string, idempotencyKey: string) =>
    svc.ask("POST", "/api/v1/connectors/discover", {
      key,
      headers: { "idempotency-key": idempotencyKey },
      body: { openapi: url }
    })
  const answerAll = (status: number) => {
    for (const response of held.splice(0)) response.writeHead(status).end(document)
  }
  const asked = (count: number) =>
    eventually(
      async () => held.length,
      (calls) => calls === count
    )

  it("holds no permit of the others: their changes continue", async () => {
    const slow = [await svc.organisation("Slow"), await svc.organisation("Slower"), await svc.organisation("Slowest")]
    const neighbour = await svc.organisation("Neighbour")
    const waiting = slow.flatMap(({ key }) => [1, 2, 3].map((n) => discover(key, `wait-${n}`)))
    await asked(waiting.length)
    const made = await svc.ask("POST", "/api/v1/customers", {
      key: neighbour.key,
      headers: { "idempotency-key": "prompt" },
      body: { name: "Prompt" }
    })
    assert.strictEqual(made.status, 201, made.text)
    // Those before wait still: their provider has not answered.
    assert.lengthOf(held, waiting.length)
    answerAll(200)
    for (const answer of await Promise.all(waiting)) assert.strictEqual(answer.status, 200, answer.text)
  })

  it("is handled once: a repetition meanwhile is refused, and one afterwards gets the first reply", async () => {
    const { key } = svc.first
    const first = discover(key, "once")
    await asked(1)
    const meanwhile = await discover(key, "once")
    assert.deepStrictEqual([meanwhile.status, meanwhile.body.code], [409, "IDEMPOTENCY_IN_PROGRESS"], meanwhile.text)
    answerAll(200)
    const { body, status } = await first
    const again = await discover(key, "once")
    assert.deepStrictEqual([again.status, again.headers["idempotent-replayed"]], [status, "true"])
    assert.deepStrictEqual(again.body, body)
    assert.lengthOf(held, 0)
  })

  it("releases its key when it fails", async () => {
    const { key } = svc.first
    const failed = discover(key, "freed")
    await asked(1)
    answerAll(500)
    assert.strictEqual((await failed).status, 422)
    const again = discover(key, "freed")
    await asked(1)
    answerAll(200)
    assert.deepStrictEqual([(await again).status, (await again).headers["idempotent-replayed"]], [200, undefined])
  })
})
