/** A delivery that is sent again starts nothing: under another id that is not signed, and with a time that has passed. */
import { createHmac } from "node:crypto"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { WriterSql } from "../support/Sql.js"
import { startSharedCalls, stopCalls, svc, workflow } from "../support/calls.js"

const secret = "It's a Secret to Everybody"
let flow: string

const ask = async (method: string, path: string, body?: unknown) =>
  svc.ask(method, `/api/v1${path}`, { key: svc.first.key, ...(body === undefined ? {} : { body }) })
const save = (webhook: object) =>
  ask("POST", "/triggers", { type: "webhook", name: "hooks", routes: [{ workflowId: flow }], webhook })
const trigger = async (webhook: object): Promise<{ readonly id: string; readonly path: string }> => {
  const made = await save({ auth: "public", ...webhook })
  assert.strictEqual(made.status, 201, made.text)
  return { id: made.body.data.id, path: new URL(made.body.data.webhook.url).pathname }
}
const send = (path: string, raw: string, headers: { readonly [name: string]: string }) =>
  svc.ask("POST", path, { raw, headers: { "content-type": "application/json", ...headers } })
const signed = (raw: string, encoding: "hex" | "base64" = "hex") =>
  createHmac("sha256", secret).update(raw).digest(encoding)
const github = (raw: string, id: string) => ({
  "x-hub-signature-256": `sha256=${signed(raw)}`,
  "x-github-event": "push",
  ...(id === "" ? {} : { "x-github-delivery": id })
})

beforeAll(async () => {
  await startSharedCalls()
  flow = await workflow("return ctx.input")
  assert.strictEqual((await ask("POST", "/secrets", { name: "SIGNING", value: secret })).status, 201)
})
afterAll(() => stopCalls())

describe("a delivery of a provider that signs neither its id nor a time", () => {
  it("is a duplicate for seven days under another id, under none, and with its signature written otherwise", async () => {
    const { path } = await trigger({ verify: { preset: "github", secretName: "SIGNING" } })
    const raw = JSON.stringify({ n: 1 })
    const first = await send(path, raw, github(raw, "d-1"))
    assert.strictEqual(first.status, 202, first.text)
    const upper = `sha256=${signed(raw).toUpperCase()}`
    const replays = [
      github(raw, "d-2"),
      github(raw, ""),
      { ...github(raw, ""), "webhook-id": "another" },
      { ...github(raw, "d-3"), "x-hub-signature-256": upper }
    ]
    for (const headers of replays) {
      const again = await send(path, raw, headers)
      assert.deepStrictEqual(
        [again.status, again.body],
        [200, { eventId: first.body.eventId, status: "duplicate" }],
        JSON.stringify(headers)
      )
    }
    const other = JSON.stringify({ n: 2 })
    assert.strictEqual((await send(path, other, github(other, "d-2"))).status, 202)
    const claims = await svc.run(
      Effect.flatMap(WriterSql, (sql) =>
        sql.unsafe<{ days: number }>(
          `SELECT round(extract(epoch FROM expires_at - now()) / 86400)::int AS days FROM claims
           WHERE scope = 'event' AND target_id = '${first.body.eventId}'`
        )
      )
    )
    assert.deepStrictEqual(
      claims.map(({ days }) => days),
      [7, 7]
    )
  })

  it("is recognised by its id too, also signed anew, and once among any number at a time", async () => {
    const { path } = await trigger({ verify: { preset: "shopify", secretName: "SIGNING" } })
    const shopify = (raw: string, id: string) => ({
      "x-shopify-hmac-sha256": signed(raw, "base64"),
      "x-shopify-webhook-id": id
    })
    const raw = JSON.stringify({ order: 1 })
    const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => send(path, raw, shopify(raw, `w-${n}`))))
    assert.deepStrictEqual(answers.map(({ status }) => status).sort(), [...Array.from({ length: 11 }, () => 200), 202])
    const accepted = answers.findIndex(({ status }) => status === 202)
    const changed = JSON.stringify({ order: 1, again: true })
    const sameId = await send(path, changed, shopify(changed, `w-${accepted}`))
    assert.deepStrictEqual([sameId.status, sameId.body.eventId], [200, answers[accepted]?.body.eventId])
    const replays = answers.map((_, n) => `w-${n}`).filter((_, n) => n !== accepted)
    const fresh = JSON.stringify({ order: 2 })
    assert.strictEqual(
      (await send(path, fresh, shopify(fresh, replays[0] ?? ""))).status,
      202,
      "the id of a replay, which anyone may choose, is free"
    )
    const underNewId = await send(path, changed, shopify(changed, "w-new"))
    assert.strictEqual(underNewId.status, 202, "what came under a used id first took no signature")
  })

  it("without a header that names an id is a new event, also with an equal body", async () => {
    const { path } = await trigger({ verify: { scheme: "hmac", header: "x-signature", secretName: "SIGNING" } })
    const raw = JSON.stringify({ n: 3 })
    const headers = { "x-signature": signed(raw) }
    const [one, two] = [await send(path, raw, headers), await send(path, raw, headers)]
    assert.deepStrictEqual([one.status, two.status], [202, 202])
    assert.notStrictEqual(one.body.eventId, two.body.eventId)
  })
})

describe("a preset", () => {
  it("is refused beside a scheme, and comes back without one", async () => {
    for (const scheme of ["standard", "hmac", "token", "none"]) {
      const { body, status } = await save({ verify: { preset: "github", scheme, secretName: "SIGNING" } })
      assert.deepStrictEqual(
        [status, body.details[0].path, body.details[0].code],
        [422, "webhook.verify.scheme", "NOT_ALLOWED"]
      )
    }
    const { id } = await trigger({ verify: { preset: "github", secretName: "SIGNING" } })
    await svc.run(
      Effect.flatMap(WriterSql, (sql) =>
        sql.unsafe(
          `UPDATE triggers SET webhook = jsonb_set(webhook, '{verify,scheme}', '"standard"') WHERE id = '${id}'`
        )
      )
    )
    const { webhook } = (await ask("GET", `/triggers/${id}`)).body.data
    assert.deepStrictEqual(webhook.verify, { preset: "github", secretName: "SIGNING", maxAgeSeconds: 300 })
    assert.strictEqual((await ask("PUT", `/triggers/${id}`, { webhook })).status, 200)
  })

  it("whose signature covers a time is refused with a text that does not", async () => {
    const { body, status } = await save({ verify: { preset: "stripe", payload: "{body}", secretName: "SIGNING" } })
    assert.deepStrictEqual([status, body.details[0].path], [422, "webhook.verify.payload"])
  })
})

describe("a webhook-timestamp", () => {
  it("outside five minutes is refused on every trigger, also a public one, and recorded", async () => {
    const now = Math.floor(Date.now() / 1_000)
    for (const webhook of [{}, { verify: { preset: "github", secretName: "SIGNING" } }]) {
      const { id, path } = await trigger(webhook)
      for (const [n, at] of [String(now - 302), String(now + 302), "1", "soon"].entries()) {
        const raw = JSON.stringify({ n })
        if (at === "soon" && "verify" in webhook) continue
        const { body, status } = await send(path, raw, { ...github(raw, `t-${n}`), "webhook-timestamp": at })
        assert.deepStrictEqual([status, body.details?.[0]?.code], [400, "STALE_TIMESTAMP"], at)
      }
      const raw = JSON.stringify({ fresh: true })
      const fresh = await send(path, raw, { ...github(raw, "t-9"), "webhook-timestamp": String(now - 280) })
      assert.strictEqual(fresh.status, 202, fresh.text)
      const { body } = await ask("GET", `/events?trigger_id=${id}&status=rejected`)
      assert.lengthOf(body.data, "verify" in webhook ? 3 : 4)
    }
  })
})
