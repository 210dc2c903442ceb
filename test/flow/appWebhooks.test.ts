/** The webhook of a provider's app: one address for all accounts, verified, each event to every connection of its account. */
import { createHmac } from "node:crypto"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { WriterSql } from "../support/Sql.js"
import { definition, scripts, startCalls, stopCalls, svc, systems } from "../support/calls.js"
import { eventually } from "../support/eventually.js"

const hook = {
  id: "app",
  type: "app",
  items: "$.events",
  eventKey: "$.type",
  account: { payload: "$.team", connection: "$.config.team" },
  verify: {
    scheme: "hmac",
    secretName: "CHAT_SECRET",
    header: "x-chat-signature",
    payload: "{timestamp}.{body}",
    timestampHeader: "x-chat-time"
  },
  challenge: { when: { path: "type", op: "eq", value: "ping" }, respond: "$.echo" }
}
const chat = (webhook: object = hook) =>
  definition("chat", "1.0.0", {
    connectionConfig: {
      type: "object",
      properties: { base: { type: "string" }, team: { type: ["string", "integer"] } },
      required: ["base"]
    },
    events: [
      { id: "message.created", delivery: "webhook", key: "message" },
      { id: "channel.created", delivery: "webhook", key: "channel" }
    ],
    webhooks: [webhook]
  })

interface Tenant {
  readonly key: string
  readonly secret: string
  /** The path of the app's webhook. */
  readonly path: string
}
let first: Tenant
let second: Tenant
/** The connection of the account T1 of the first organisation. */
let one: string

const ask = async ({ key }: Pick<Tenant, "key">, method: string, path: string, body?: unknown) => {
  const answer = await svc.ask(method, `/api/v1${path}`, { key, ...(body === undefined ? {} : { body }) })
  assert.isBelow(answer.status, 300, answer.text)
  return answer.body?.data
}
const tenant = async (key: string, secret: string): Promise<Tenant> => {
  await ask({ key }, "POST", "/connectors", chat())
  const { webhookUrls } = (await ask({ key }, "POST", "/connectors/chat/publish", {})) ?? {}
  const urls = webhookUrls ?? (await ask({ key }, "GET", "/connectors/chat")).webhookUrls
  await ask({ key }, "POST", "/secrets", { name: "CHAT_SECRET", value: secret })
  return { key, secret, path: new URL(urls.app).pathname }
}
const customer = async (of: Tenant, name: string): Promise<string> => (await ask(of, "POST", "/customers", { name })).id
const connection = async (of: Tenant, customerId: string, team: string | number): Promise<string> =>
  (
    await ask(of, "POST", "/connections", {
      connector: "chat",
      customerId,
      config: { base: systems.url, team },
      credential: { apiKey: `k${team}` }
    })
  ).id
const workflow = async (of: Tenant): Promise<string> => {
  const { id } = await ask(of, "POST", "/workflows", {
    name: `flow_${Math.random().toString(36).slice(2)}`,
    form: "code",
    tier: "instant",
    code: "export default async (ctx) => ctx.input"
  })
  await ask(of, "POST", `/workflows/${id}/publish`, {})
  return id
}
const trigger = async (of: Tenant, workflowId: string, more: object = {}): Promise<string> =>
  (
    await ask(of, "POST", "/triggers", {
      type: "app_event",
      name: "messages",
      routes: [{ workflowId }],
      appEvent: { connector: "chat", event: "message.created" },
      ...more
    })
  ).id
const deliver = (
  { path, secret }: Tenant,
  body: unknown,
  headers: { readonly [name: string]: string } = {},
  time = String(Math.floor(Date.now() / 1_000))
) => {
  const raw = JSON.stringify(body)
  const signature = createHmac("sha256", secret).update(`${time}.${raw}`).digest("hex")
  return svc.ask("POST", path, {
    raw,
    headers: {
      "content-type": "application/json",
      "x-chat-time": time,
      "x-chat-signature": signature,
      ...headers
    }
  })
}
const message = (team: unknown, text: string) => ({ type: "message", team, text })
const sql = <A extends object>(text: string) => svc.run(Effect.flatMap(WriterSql, (writer) => writer.unsafe<A>(text)))
/** The settled events with this text, as "connection status". */
const eventsWith = async (text: string) =>
  (
    await sql<{ connection: string; status: string }>(
      `SELECT connection_id AS connection, status FROM event_records WHERE payload->>'text' = '${text}' AND status <> 'duplicate'`
    )
  ).map(({ connection: id, status }) => `${id} ${status}`)
const reach = (text: string, expected: ReadonlyArray<string>) =>
  eventually(
    () => eventsWith(text),
    (all) => all.length === expected.length && [...expected].sort().join() === [...all].sort().join()
  )

beforeAll(async () => {
  await startCalls()
  scripts.set("/chat/get", () => ({ body: {} }))
  first = await tenant(svc.first.key, "secret of the first")
  second = await tenant((await svc.organisation("Other")).key, "secret of the second")
  one = await connection(first, await customer(first, "One"), "T1")
  await trigger(first, await workflow(first))
})
afterAll(() => stopCalls())

describe("the webhook of a provider's app", () => {
  it("starts runs for the connection of the account that the delivery names, and for no other", async () => {
    await connection(first, await customer(first, "Two"), "T2")
    const answer = await deliver(first, { events: [message("T1", "for one")] })
    assert.deepStrictEqual([answer.status, answer.body.status], [202, "accepted"])
    await reach("for one", [`${one} delivered`])
    const event = (await svc.ask("GET", `/api/v1/events/${answer.body.eventId}`, { key: first.key })).body.data
    assert.deepInclude(event, { source: "app_event", type: "chat.message.created", connectionId: one })
    assert.lengthOf(event.deliveries, 1)
    await eventually(
      () => ask(first, "GET", "/triggers"),
      ([messages]) => messages.stats.lastFiredAt !== null
    )
  })

  it("gives each connection of the account its own event, also numbers that are configured as text, and each once", async () => {
    const shared = await customer(first, "Shared")
    const expected = [
      await connection(first, shared, "77"),
      await connection(first, shared, 77),
      await connection(first, await customer(first, "Shared too"), 77)
    ].map((id) => `${id} delivered`)
    const time = String(Math.floor(Date.now() / 1_000))
    const body = { events: [message(77, "for three"), message("T2", "another"), message(77, "for three")] }
    assert.strictEqual((await deliver(first, body, {}, time)).body.status, "accepted")
    await reach("for three", [...expected, ...expected])
    // The provider repeats a delivery whose answer it did not get.
    assert.deepStrictEqual((await deliver(first, body, {}, time)).body.status, "duplicate")
    await reach("for three", [...expected, ...expected])
  })

  it("of another organisation with the same account is another: neither gets the other's deliveries", async () => {
    const mine = await connection(first, await customer(first, "Mine"), "T9")
    const theirs = await connection(second, await customer(second, "Theirs"), "T9")
    await trigger(second, await workflow(second))
    assert.notStrictEqual(first.path, second.path)
    assert.strictEqual((await deliver(first, { events: [message("T9", "for mine")] })).status, 202)
    assert.strictEqual((await deliver(second, { events: [message("T9", "for theirs")] })).status, 202)
    await reach("for mine", [`${mine} delivered`])
    await reach("for theirs", [`${theirs} delivered`])
    const crossed = await deliver({ ...first, secret: second.secret }, { events: [message("T9", "crossed")] })
    assert.strictEqual(crossed.status, 401)
    assert.deepStrictEqual(await eventsWith("crossed"), [])
  })

  it("answers 202 ignored, counts and stores nothing for an account without a connection or an event without a trigger", async () => {
    const counted = async () =>
      Number(/svc_app_webhook_ignored_events_total (\d+)/.exec((await svc.ask("GET", "/metrics")).text)?.[1] ?? 0)
    const before = await counted()
    const [{ n } = { n: -1 }] = await sql<{ n: number }>("SELECT count(*)::int AS n FROM event_records")
    const unknown = await deliver(first, { events: [message("T-unknown", "x"), { type: "channel", team: "T1" }] })
    assert.deepStrictEqual([unknown.status, unknown.body], [202, { eventId: null, status: "ignored" }])
    assert.strictEqual(await counted(), before + 2)
    assert.deepStrictEqual(await sql("SELECT count(*)::int AS n FROM event_records"), [{ n }])
  })

  it("refuses what is not signed with the secret now, and everything while there is no secret", async () => {
    const forged = await deliver(first, { events: [message("T1", "forged")] }, { "x-chat-signature": "00" })
    assert.deepStrictEqual([forged.status, forged.body.details[0].code], [401, "INVALID_SIGNATURE"])
    const old = String(Math.floor(Date.now() / 1_000) - 600)
    const stale = await deliver(first, { events: [message("T1", "forged")] }, {}, old)
    assert.deepStrictEqual([stale.status, stale.body.details[0].code], [400, "STALE_TIMESTAMP"])
    const challenged = await deliver(first, { type: "ping", echo: "e1" }, { "x-chat-signature": "" })
    assert.deepStrictEqual([challenged.status, challenged.body], [200, { challenge: "e1" }])
    const secrets = await svc.ask("GET", "/api/v1/secrets", { key: second.key })
    const [secret] = secrets.body.data
    await ask(second, "DELETE", `/secrets/${secret.id}`)
    const unverifiable = await eventually(
      () => deliver(second, { events: [message("T9", "forged")] }),
      ({ status }) => status === 401
    )
    assert.strictEqual(unverifiable.body.details[0].code, "INVALID_SIGNATURE")
    assert.deepStrictEqual(await eventsWith("forged"), [])
    for (const path of [
      `${first.path}x`,
      first.path.replace("whc_chat", "whc_slack2"),
      first.path.replace("org_", "org_x")
    ])
      assert.strictEqual((await svc.ask("POST", path, { raw: "{}" })).status, 404, path)
  })

  it("holds the events of a connection that is not active until it is", async () => {
    const id = await connection(first, await customer(first, "Paused"), "T5")
    await ask(first, "POST", `/connections/${id}/disable`)
    const answer = await eventually(
      () => deliver(first, { events: [message("T5", `held ${Math.random()}`)] }),
      ({ body }) => body.status === "held"
    )
    const { payload } = (await svc.ask("GET", `/api/v1/events/${answer.body.eventId}`, { key: first.key })).body.data
    await ask(first, "POST", `/connections/${id}/enable`)
    await reach(payload.text, [`${id} delivered`])
  })

  it("never trusts the account of a connection whose credential the provider has not accepted", async () => {
    const customerId = await customer(first, "Pretender")
    const pending = await svc.ask("POST", "/api/v1/connections", {
      key: first.key,
      body: { connector: "chat", customerId, config: { base: systems.url, team: "T66" } }
    })
    assert.strictEqual(pending.body.data.status, "pending", pending.text)
    const answer = await deliver(first, { events: [message("T66", "secret")] })
    assert.deepStrictEqual(answer.body, { eventId: null, status: "ignored" })
  })

  it("refuses a delivery of more events than it reads, instead of losing the rest", async () => {
    const events = Array.from({ length: 1_001 }, () => message("T1", "many"))
    const answer = await deliver(first, { events })
    assert.deepStrictEqual([answer.status, answer.body.details[0].code], [400, "VALIDATION_FAILED"])
    assert.deepStrictEqual(await eventsWith("many"), [])
  })

  it("is refused on save without an account, a secret or a signature", async () => {
    const save = (more: object) =>
      svc.ask("POST", "/api/v1/connectors", { key: first.key, body: { ...chat({ ...hook, ...more }), slug: "chat-2" } })
    const { account: _account, ...without } = hook
    const missing = await svc.ask("POST", "/api/v1/connectors", {
      key: first.key,
      body: { ...chat(without), slug: "chat-2" }
    })
    const paths = ({ body }: typeof missing) => body.details.map(({ path }: { path: string }) => path)
    assert.deepStrictEqual(paths(missing), ["webhooks[0].account"])
    assert.deepStrictEqual(paths(await save({ verify: { scheme: "none" } })), ["webhooks[0].verify.scheme"])
    assert.deepStrictEqual(paths(await save({ verify: { subscriptionSecret: true } })), [
      "webhooks[0].verify.subscriptionSecret"
    ])
  })

  it("finds an account by an index, whatever the number of connections", async () => {
    // With their subscriptions: to make those, the service reads all connections.
    await sql(`WITH one AS (SELECT c.*, s.trigger_id FROM connections c JOIN subscriptions s ON s.connection_id = c.id
        WHERE c.config->>'team' = 'T1'),
      many AS (INSERT INTO connections (id, org, customer_id, connector, connector_version, label, auth_method, status, health,
          config, created_by, credential_fingerprint)
        SELECT 'conn_' || lpad(n::text, 26, '0'), org, customer_id, connector, connector_version, label, auth_method, 'active', health,
          jsonb_build_object('base', 'b', 'team', 'many' || n), created_by, 'f'
        FROM generate_series(1, 20000) n, one RETURNING id, org)
      INSERT INTO subscriptions (trigger_id, connection_id, org, state, next_at)
        SELECT one.trigger_id, many.id, many.org, 'subscribed', NULL FROM many, one`)
    await sql("ANALYZE connections")
    const look = async () =>
      (
        await sql<{ keys: number; rows: number }>(
          `SELECT i.idx_scan::int AS keys, t.seq_tup_read::int AS rows FROM pg_stat_user_indexes i
           JOIN pg_stat_user_tables t USING (relid) WHERE i.indexrelname = 'connections_account'`
        )
      )[0]
    const before = (await look()) ?? assert.fail("no index")
    assert.strictEqual((await deliver(first, { events: [message("many7", "of many")] })).status, 202)
    await reach("of many", [`conn_${"7".padStart(26, "0")} delivered`])
    const after = await eventually(look, (now) => (now?.keys ?? 0) > before.keys)
    assert.isBelow((after?.rows ?? 0) - before.rows, 10_000)
  })
})
