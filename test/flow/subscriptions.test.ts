/** App events by webhook: a trigger subscribes, renews and unsubscribes at the provider by itself, over crashes. */
import { createHmac } from "node:crypto"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { WriterSql } from "../support/Sql.js"
import {
  connect,
  publishConnector,
  requestsTo,
  scripts,
  startCalls,
  stopCalls,
  svc,
  systems,
  workflow
} from "../support/calls.js"
import { eventually } from "../support/eventually.js"

interface Hook {
  readonly id: string
  readonly url: string
  readonly secret: string
  readonly event: string
  readonly list: string
}
/** What the provider has. */
const hooks = new Map<string, Hook>()
/** The status with which the provider answers calls, if it is not to succeed. */
let refusal: number | undefined
let made = 0
/** Seconds until a new subscription expires. */
let lifetime = 1_000_000
let flow: string
let connection: string
let base: string

const expiry = () => new Date(Date.now() + lifetime * 1_000).toISOString()
const action = (name: string, method: string, path: string, body?: object) => ({
  name,
  version: 1,
  request: { method, path, ...(body === undefined ? {} : { body }) }
})

beforeAll(async () => {
  await startCalls()
  base = (await svc.listen()).baseUrl
  scripts.set("/hooks", ({ body }) => {
    if (refusal !== undefined) return { status: refusal, body: { error: "refused" } }
    const id = `h${(made += 1)}`
    hooks.set(id, { id, ...JSON.parse(String(body)) })
    return { body: { id, expiresAt: expiry() } }
  })
  for (let n = 1; n < 50; n++) {
    scripts.set(`/hooks/h${n}/renew`, () =>
      hooks.has(`h${n}`) ? { body: { expiresAt: expiry() } } : { status: 404, body: { error: "gone" } }
    )
    scripts.set(`/hooks/h${n}`, () => ({ status: hooks.delete(`h${n}`) ? 200 : 404, body: {} }))
  }
  const url = "{{args.url}}"
  await publishConnector("crm", "1.0.0", {
    retry: { maxAttempts: 1 },
    actions: [
      action("subscribe", "POST", "/hooks", {
        url,
        secret: "{{args.secret}}",
        event: "{{args.event}}",
        list: "{{args.list}}"
      }),
      action("renew", "POST", "/hooks/{{args.id}}/renew"),
      action("unsubscribe", "DELETE", "/hooks/{{args.id}}")
    ],
    events: [{ id: "deal.updated", delivery: "webhook", key: "deal.changed" }],
    webhooks: [
      {
        id: "deals",
        type: "per_event",
        items: "$.events",
        eventKey: "$.type",
        subscribe: {
          action: "subscribe",
          args: {
            url: "{{webhook.url}}",
            secret: "{{webhook.secret}}",
            event: "{{event.key}}",
            list: "{{args.list}}"
          },
          idFrom: "$.id",
          expiresFrom: "$.expiresAt"
        },
        renew: { action: "renew", args: { id: "{{subscription.id}}" }, beforeSeconds: 500 },
        unsubscribe: { action: "unsubscribe", args: { id: "{{subscription.id}}" } },
        verify: { scheme: "hmac", subscriptionSecret: true, header: "x-crm-signature", idHeader: "x-crm-delivery" },
        challenge: { when: { path: "type", op: "eq", value: "ping" }, respond: "$.echo" }
      }
    ]
  })
  connection = (await connect("crm", "k")).id
  flow = await workflow("return ctx.input")
  await svc.ask("POST", "/api/v1/webhook-endpoints", {
    key: svc.first.key,
    body: { url: `${systems.url}/told`, events: ["trigger.*"] }
  })
})
afterAll(() => stopCalls())

const sql = <A extends object>(text: string) => svc.run(Effect.flatMap(WriterSql, (writer) => writer.unsafe<A>(text)))
const ask = (method: string, path: string, body?: unknown) =>
  svc.ask(method, `/api/v1/triggers${path}`, { key: svc.first.key, ...(body === undefined ? {} : { body }) })
const trigger = async (): Promise<string> => {
  const answer = await ask("POST", "", {
    type: "app_event",
    name: "deals",
    routes: [{ workflowId: flow, filter: { path: "amount", op: "gt", value: 10 } }],
    appEvent: { connector: "crm", event: "deal.updated", args: { list: "L1" } }
  })
  assert.strictEqual(answer.status, 201, answer.text)
  return answer.body.data.id
}
const stateOf = async (id: string) => (await ask("GET", `/${id}`)).body.data.appEvent.subscription
const reach = (id: string, state: string) =>
  eventually(
    () => stateOf(id),
    (found) => found === state
  )
const rowOf = async (id: string) => {
  const [row] = await sql<{ number: string | null; external: string | null; attempts: number; wait: number | null }>(
    `SELECT number, external_id AS external, attempts, extract(epoch FROM next_at - now())::float8 AS wait
     FROM subscriptions WHERE trigger_id = '${id}'`
  )
  return row ?? assert.fail("no subscription")
}
const hookOf = async (id: string): Promise<Hook> =>
  hooks.get((await rowOf(id)).external ?? "") ?? assert.fail("the provider has no such hook")
/** The events that an endpoint gets of the trigger, in their order. */
const toldOf = async (id: string) => {
  const rows = await sql<{ payload: string }>(
    `SELECT payload FROM deliveries WHERE kind = 'outbound' AND payload LIKE '%${id}%' ORDER BY id`
  )
  return rows.map(({ payload }) => {
    const { data, type } = JSON.parse(payload)
    return { type: String(type), payload: data }
  })
}
let deliveries = 0
const deliver = async (hook: Hook, body: unknown, headers: { readonly [name: string]: string } = {}) => {
  const text = JSON.stringify(body)
  const answer = await fetch(`${base}${new URL(hook.url).pathname}`, {
    method: "POST",
    body: text,
    headers: {
      "content-type": "application/json",
      "x-crm-delivery": `d${(deliveries += 1)}`,
      "x-crm-signature": createHmac("sha256", hook.secret).update(text).digest("hex"),
      ...headers
    }
  })
  return { status: answer.status, body: JSON.parse(await answer.text()) }
}
const deal = (amount: number, type = "deal.changed") => ({ type, amount })

describe("a trigger on an app event", () => {
  it("subscribes with an address and a secret of its own, and starts runs for verified deliveries", async () => {
    const id = await trigger()
    await reach(id, "subscribed")
    const hook = await hookOf(id)
    assert.deepInclude(hook, { event: "deal.changed", list: "L1" })
    assert.match(hook.url, /\/api\/v1\/clients\/spc_[0-9a-z]+\/webhooks\/whs_/)
    assert.match(hook.secret, /^whsec_/)

    const taken = await deliver(hook, { events: [deal(5), deal(20), deal(30, "deal.opened")] })
    assert.deepStrictEqual([taken.status, taken.body.status], [202, "accepted"])
    const events = await eventually(
      () =>
        sql<{ type: string; status: string; customer: string; connection: string; payload: object }>(
          `SELECT type, status, customer_id AS customer, connection_id AS connection, payload FROM event_records
           WHERE trigger_id = '${id}' ORDER BY id`
        ),
      (all) => all.length === 2 && all.some(({ status }) => status === "delivered")
    )
    const facts = { type: "crm.deal.updated", customer: svc.first.customerId, connection }
    assert.deepStrictEqual(
      [...events].sort((a, b) => a.status.localeCompare(b.status)),
      [
        { ...facts, status: "delivered", payload: deal(20) },
        { ...facts, status: "ignored", payload: deal(5) }
      ]
    )

    const headers = { "x-crm-delivery": "d1" }
    assert.strictEqual(
      (await deliver(hook, { events: [deal(5), deal(20), deal(30, "deal.opened")] }, headers)).body.status,
      "duplicate"
    )
    const forged = await deliver(hook, { events: [deal(99)] }, { "x-crm-signature": "00" })
    assert.deepStrictEqual([forged.status, forged.body.details?.[0]?.code], [401, "INVALID_SIGNATURE"])
    const other = await deliver(
      { ...hook, url: hook.url.replace(/.$/, (last) => (last === "_" ? "-" : "_")) },
      { events: [deal(99)] }
    )
    assert.strictEqual(other.status, 404)
    const challenged = await deliver(hook, { type: "ping", echo: "e1" }, { "x-crm-signature": "" })
    assert.deepStrictEqual([challenged.status, challenged.body.challenge], [200, "e1"])
    assert.deepStrictEqual((await deliver(hook, { events: [deal(99, "deal.lost")] })).body, {
      eventId: null,
      status: "ignored"
    })
  })

  it("unsubscribes when it is disabled or deleted, and subscribes again when it is enabled", async () => {
    const id = await trigger()
    await reach(id, "subscribed")
    const hook = await hookOf(id)
    await ask("POST", `/${id}/disable`)
    await reach(id, "unsubscribed")
    assert.isFalse(hooks.has(hook.id))
    assert.strictEqual((await deliver(hook, { events: [deal(20)] })).status, 404)
    await ask("POST", `/${id}/enable`)
    await reach(id, "subscribed")
    const second = await hookOf(id)
    assert.notStrictEqual(second.url, hook.url)
    await ask("DELETE", `/${id}`)
    await eventually(
      () => Promise.resolve(hooks.has(second.id)),
      (has) => !has
    )
  })

  it("renews before the expiry, and subscribes anew if the provider does not have it any more", async () => {
    lifetime = 600
    const id = await trigger()
    await reach(id, "subscribed")
    assert.approximately((await rowOf(id)).wait ?? 0, 100, 20)
    const { external, number } = await rowOf(id)
    lifetime = 1_000_000
    const due = () => sql(`UPDATE subscriptions SET next_at = now() WHERE trigger_id = '${id}'`)
    await due()
    await eventually(
      () => rowOf(id),
      ({ wait }) => (wait ?? 0) > 10_000
    )
    assert.lengthOf(requestsTo(`/hooks/${external}/renew`), 1)
    assert.deepInclude(await rowOf(id), { external, number })

    hooks.delete(external ?? "")
    await due()
    const renewed = await eventually(
      () => rowOf(id),
      (row) => row.external !== null && row.external !== external
    )
    assert.notStrictEqual(renewed.number, number)
    assert.isTrue(hooks.has(renewed.external ?? ""))
  })

  it("that dies between the provider's answer and its commit leaves an orphan, which starts nothing", async () => {
    const id = await trigger()
    await reach(id, "subscribed")
    const orphan = await hookOf(id)
    await sql(
      `UPDATE subscriptions SET state = 'pending', external_id = NULL, next_at = now(), leased_until = NULL WHERE trigger_id = '${id}'`
    )
    await eventually(
      () => rowOf(id),
      ({ external }) => external !== null
    )
    const current = await hookOf(id)
    assert.isTrue(hooks.has(orphan.id))
    await eventually(
      () => deliver(orphan, { events: [deal(20)] }),
      ({ status }) => status === 404
    )
    assert.strictEqual((await deliver(current, { events: [deal(20)] })).status, 202)
  })

  it("tries a failed subscription again after a minute, then longer, and at once when it is told to; both ends of it are told", async () => {
    refusal = 503
    const id = await trigger()
    await reach(id, "failed")
    assert.approximately((await rowOf(id)).wait ?? 0, 60, 15)
    const listed = async () => (await ask("GET", `/${id}/subscriptions`)).body.data
    const [first] = await listed()
    assert.deepInclude(first, {
      connectionId: connection,
      customerId: svc.first.customerId,
      state: "failed",
      attempts: 1,
      expiresAt: null
    })
    assert.match(first.error, /503|refused/)
    assert.approximately(Date.parse(first.nextAt) - Date.now(), 60_000, 15_000)
    await sql(`UPDATE subscriptions SET next_at = now(), attempts = 3 WHERE trigger_id = '${id}'`)
    const last = await eventually(
      () => rowOf(id),
      ({ attempts }) => attempts === 4
    )
    assert.approximately(last.wait ?? 0, 7_200, 60)
    assert.strictEqual((await ask("GET", `/${id}`)).body.data.status, "active")
    const told = await eventually(
      () => toldOf(id),
      (all) => all.length > 0
    )
    assert.deepStrictEqual(
      told.map(({ payload, type }) => [type, payload.isRetried, payload.connectionId]),
      [["trigger.subscription_failed", true, connection]]
    )
    await sql(`UPDATE subscriptions SET next_at = now() WHERE trigger_id = '${id}'`)
    await eventually(
      () => rowOf(id),
      ({ attempts, wait }) => attempts === 5 && wait === null
    )
    assert.deepInclude((await listed())[0], { state: "failed", attempts: 5, nextAt: null })
    await eventually(
      () => toldOf(id),
      (all) => all.length === 2 && all[1]?.payload.isRetried === false
    )
    refusal = undefined
    const retried = await ask("POST", `/${id}/retry-subscription`)
    assert.deepStrictEqual([retried.status, retried.body.data.appEvent.subscription], [200, "pending"])
    await reach(id, "subscribed")
    assert.deepInclude((await listed())[0], { state: "subscribed", attempts: 0, error: null })
    const again = await ask("POST", `/${id}/retry-subscription`)
    assert.deepStrictEqual([again.status, again.body.code, again.body.state], [409, "INVALID_STATE", "subscribed"])
  })

  it("gives a subscription up that the provider refuses for good, and with the last one the trigger, for ten minutes", async () => {
    refusal = 422
    const id = await trigger()
    const disabled = await eventually(
      async () => (await ask("GET", `/${id}`)).body.data,
      ({ status }) => status === "auto_disabled"
    )
    assert.oneOf(disabled.appEvent.subscription, ["failed", "unsubscribed"])
    refusal = undefined
    const told = await eventually(
      () => toldOf(id),
      (all) => all.length > 1
    )
    assert.deepStrictEqual(
      told.map(({ payload, type }) => [type, payload.isRetried ?? payload.reason]),
      [
        ["trigger.subscription_failed", false],
        ["trigger.disabled", "subscription_refused"]
      ]
    )
    const early = await ask("POST", `/${id}/enable`)
    assert.deepStrictEqual([early.status, early.body.state], [409, "auto_disabled"])
    await sql(`UPDATE triggers SET auto_disabled_at = now() - interval '11 minutes' WHERE id = '${id}'`)
    await eventually(
      () => ask("POST", `/${id}/enable`),
      ({ status }) => status === 200
    )
    await reach(id, "subscribed")
  })

  it("keeps a trigger whose other connections are subscribed, whoever of its customers is refused", async () => {
    const id = await trigger()
    await reach(id, "subscribed")
    refusal = 403
    const customer = await svc.ask("POST", "/api/v1/customers", { key: svc.first.key, body: { name: "Refused" } })
    const other = await connect("crm", "k2", customer.body.data.id)
    await eventually(
      () => toldOf(id),
      (told) => told.some(({ payload }) => payload.connectionId === other.id)
    )
    refusal = undefined
    const view = (await ask("GET", `/${id}`)).body.data
    assert.deepStrictEqual([view.status, view.appEvent.subscription], ["active", "failed"])
    await svc.ask("DELETE", `/api/v1/connections/${other.id}`, { key: svc.first.key })
  })

  it("is suspended while its connection is not active, and goes on with its subscription afterwards", async () => {
    const id = await trigger()
    await reach(id, "subscribed")
    const hook = await hookOf(id)
    const change = (name: string) =>
      svc.ask("POST", `/api/v1/connections/${connection}/${name}`, { key: svc.first.key })
    await change("disable")
    await reach(id, "suspended")
    assert.strictEqual((await change("enable")).status, 200)
    await reach(id, "subscribed")
    assert.deepStrictEqual(await hookOf(id), hook)
  })
})
