/** An organisation's endpoints: created, changed, tested, and sent what they missed. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { createHmac } from "node:crypto"
import { Effect } from "effect"
import { ownerSql } from "../support/Database.js"
import { eventually } from "../support/eventually.js"
import { type Answer, type Running, start } from "../support/InProcess.js"
import { type Received, type Receiver, startReceiver } from "../support/receiver.js"

let svc: Running
let receiver: Receiver
beforeAll(async () => {
  receiver = await startReceiver()
  svc = await start({ SVC_EGRESS_ALLOW: "127.0.0.1/32" })
})
afterAll(async () => {
  await svc.stop()
  await receiver.close()
})

const root = "/api/v1/webhook-endpoints"
const ask = (method: string, target: string, body?: object, key = svc.first.key) =>
  svc.ask(method, `${root}${target}`, { key, ...(body === undefined ? {} : { body }) })

const create = async (path: string, events: ReadonlyArray<string> = ["key.expiring"]) => {
  const made = await ask("POST", "", { url: `${receiver.url}${path}`, events })
  assert.strictEqual(made.status, 201, made.text)
  return made.body.data as { readonly id: string; readonly secret: string; readonly url: string }
}

const attemptsOf = async (id: string, count: number) =>
  (
    await eventually(
      () => ask("GET", `/${id}/attempts`),
      ({ body }) => body.data.length >= count
    )
  ).body.data

/** The algorithm of the Standard Webhooks specification, written without the service's code. */
const signatureOf = (secret: string, { body, headers }: Received) =>
  createHmac("sha256", Buffer.from(secret.slice("whsec_".length), "base64"))
    .update(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`)
    .digest("base64")
const signaturesOf = ({ headers }: Received) =>
  (headers["webhook-signature"] ?? "").split(" ").map((one) => one.slice("v1,".length))

const detailOf = ({ body }: Answer) => [body.details[0].path, body.details[0].code]

describe("A webhook endpoint", () => {
  it("shows its secret once", async () => {
    const made = await ask("POST", "", { url: `${receiver.url}/once`, events: ["connection.*"], description: "x" })
    const { secret, ...view } = made.body.data
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    assert.strictEqual(made.headers["cache-control"], "no-store")
    assert.strictEqual(made.headers["location"], `${root}/${view.id}`)
    const read = await ask("GET", `/${view.id}`)
    assert.deepStrictEqual(read.body.data, view)
    const list = await ask("GET", "")
    assert.deepStrictEqual(list.body.data[0], view)
    const [row] = await svc.run(
      Effect.scoped(
        Effect.flatMap(
          ownerSql,
          (sql) =>
            sql<{ text: string }>`SELECT encode(secret, 'escape') AS text FROM webhook_endpoints WHERE id = ${view.id}`
        )
      )
    )
    assert.notInclude(row?.text ?? secret, secret.slice(6, 20))
  })

  it("is refused with the place of what cannot be delivered", async () => {
    const url = `${receiver.url}/x`
    const refused = async (body: object) => {
      const answer = await ask("POST", "", body)
      assert.strictEqual(answer.status, 422, answer.text)
      return detailOf(answer)
    }
    assert.deepStrictEqual(await refused({ url: "https://10.0.0.1/x", events: ["*"] }), ["url", "URL_NOT_ALLOWED"])
    assert.deepStrictEqual(await refused({ url: "ftp://example.com/", events: ["*"] }), ["url", "URL_NOT_ALLOWED"])
    assert.deepStrictEqual((await refused({ url, events: ["connection.*", "connection.moved"] }))[0], "events[1]")
    assert.deepStrictEqual((await refused({ url, events: [] }))[0], "events")
  })

  it("is tested with a signed event, whose attempt is listed", async () => {
    const { id, secret } = await create("/tested")
    const answer = await ask("POST", `/${id}/test`)
    assert.strictEqual(answer.status, 202, answer.text)
    const [attempt] = await attemptsOf(id, 1)
    const { createdAt: _at, durationMs, id: _id, ...rest } = attempt
    assert.isAtLeast(durationMs, 0)
    assert.deepStrictEqual(rest, {
      deliveryId: answer.body.data.deliveryId,
      eventType: "webhook_endpoint.test",
      number: 1,
      outcome: "delivered",
      status: 200,
      error: null
    })
    const [received] = receiver.at("/tested")
    assert.isDefined(received)
    assert.strictEqual(received.headers["webhook-id"], answer.body.data.deliveryId)
    assert.deepStrictEqual(signaturesOf(received), [signatureOf(secret, received)])
    const { data, timestamp, type } = JSON.parse(received.body)
    assert.deepStrictEqual([type, data], ["webhook_endpoint.test", { webhookEndpointId: id }])
    assert.match(timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  })

  it("gets a new secret, and deliveries with both signatures meanwhile", async () => {
    const { id, secret } = await create("/rotated")
    const rotated = await ask("POST", `/${id}/rotate-secret`)
    assert.strictEqual(rotated.headers["cache-control"], "no-store")
    const next = rotated.body.data.secret
    assert.notStrictEqual(next, secret)
    await ask("POST", `/${id}/test`)
    await attemptsOf(id, 1)
    const [received] = receiver.at("/rotated")
    assert.isDefined(received)
    assert.deepStrictEqual(signaturesOf(received), [signatureOf(next, received), signatureOf(secret, received)])
  })

  it("that is gone is disabled, and is sent what it missed once it is enabled", async () => {
    const { id, url } = await create("/gone")
    receiver.answer("/gone", [410])
    await ask("POST", `/${id}/test`)
    const [failed] = await attemptsOf(id, 1)
    assert.deepInclude(failed, { outcome: "failed", status: 410 })
    const { body } = await ask("GET", `/${id}`)
    assert.deepInclude(body.data, { status: "disabled", disabledReason: "gone", version: 2 })
    const early = await ask("POST", `/${id}/attempts/${failed.id}/resend`)
    assert.deepStrictEqual([early.status, early.body.code, early.body.state], [409, "INVALID_STATE", "disabled"])
    const enabled = await ask("PUT", `/${id}`, { ...body.data, status: "active" })
    assert.deepInclude(enabled.body.data, { status: "active", disabledReason: null, failingSince: null, url })
    const again = await ask("POST", `/${id}/attempts/${failed.id}/resend`)
    assert.deepStrictEqual([again.status, again.body.data.deliveryId], [202, failed.deliveryId])
    const [second] = await attemptsOf(id, 2)
    assert.deepInclude(second, { outcome: "delivered", number: 2, deliveryId: failed.deliveryId })
    const sent = receiver.at("/gone")
    assert.deepStrictEqual([sent[0]?.body, sent.length], [sent[1]?.body, 2])
  })

  it("is one of at most fifty", async () => {
    const other = await svc.organisation("Crowded")
    const make = () => ask("POST", "", { url: `${receiver.url}/many`, events: ["*"] }, other.key)
    const statuses: Array<number> = []
    for (let i = 0; i < 50; i++) statuses.push((await make()).status)
    assert.deepStrictEqual(new Set(statuses), new Set([201]))
    const refused = await make()
    assert.deepStrictEqual([refused.status, refused.body.code], [403, "PLAN_LIMIT_REACHED"])
  })

  it("of another organisation is answered like an unknown one", async () => {
    const { id } = await create("/mine")
    await ask("POST", `/${id}/test`)
    const [attempt] = await attemptsOf(id, 1)
    const other = await svc.organisation("Elsewhere")
    for (const [method, target, body] of [
      ["GET", `/${id}`],
      ["PUT", `/${id}`, { description: "x" }],
      ["DELETE", `/${id}`],
      ["POST", `/${id}/rotate-secret`],
      ["POST", `/${id}/test`],
      ["GET", `/${id}/attempts`],
      ["POST", `/${id}/attempts/${attempt.id}/resend`]
    ] as const)
      assert.deepStrictEqual((await ask(method, target, body, other.key)).status, 404, `${method} ${target}`)
    const own = await ask("POST", "", { url: `${receiver.url}/theirs`, events: ["*"] }, other.key)
    const crossed = await ask("POST", `/${own.body.data.id}/attempts/${attempt.id}/resend`, undefined, other.key)
    assert.strictEqual(crossed.status, 404)
  })

  it("is deleted", async () => {
    const { id } = await create("/deleted")
    assert.strictEqual((await ask("DELETE", `/${id}`)).status, 204)
    assert.strictEqual((await ask("DELETE", `/${id}`)).status, 404)
  })
})
