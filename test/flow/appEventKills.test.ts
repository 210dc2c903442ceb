/**
 * Polls and subscriptions over kills -9 between a provider's answer and the commit: nothing is lost, nothing runs twice.
 * `SVC_TEST_LONG=1` kills polls at more points.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { createHmac } from "node:crypto"
import { api, type Api } from "../support/api.js"
import { eventually } from "../support/eventually.js"
import { connectEmbedded } from "../support/embeddedPostgres.js"
import { promised } from "../support/promises.js"
import { proofs } from "../support/proofs.js"
import { startProvider, type Provider } from "../support/provider.js"
import { makeDataDirectory, prepareData, type Service, startService } from "../support/Service.js"
import { countRuns, drained, everyItem } from "../support/webhooks.js"
import { isLong } from "../support/longForm.js"

interface Hook {
  readonly url: string
  readonly secret: string
}

/** After the first page, an inner one and the last; at the first event, among them, and after the last one's commit. */
const pollPoints = isLong
  ? ["beforeCall:1", "called:1", "called:3", "parsed:1", "parsed:4", "committed:1", "committed:3", "committed:last"]
  : ["called:3", "committed:3", "committed:last"]

const place = makeDataDirectory()
let systems: Provider
let current: Service
let client: Api
let flow = ""
let items: ReadonlyArray<string> = []
/** The subscriptions that the provider has, by id. */
const hooks = new Map<string, Hook>()
let requested: ReadonlyArray<string> = []
let made = 0

const restart = async (kill?: string): Promise<void> => {
  await prepareData(place.dataDir)
  current = startService({
    dataDir: place.dataDir,
    env: { SVC_EGRESS_ALLOW: "127.0.0.1/32" },
    ...(kill === undefined ? {} : { kill })
  })
  await current.ready
  client = api(place.dataDir)
}

const sql = async <Row extends object>(text: string): Promise<ReadonlyArray<Row>> => {
  const database = await connectEmbedded(place.dataDir)
  try {
    return (await database.query<Row>(text)).rows
  } finally {
    await database.end()
  }
}

const created = async (target: string, body: object) => {
  const answer = await client.call("POST", target, body)
  assert.strictEqual(answer.status, 201, JSON.stringify(answer.body))
  return answer.body.data
}

/** The answers of the provider: a listing with two items on a page, and subscriptions. */
const answerTo = (method: string, target: string, body: string): { readonly status: number; readonly body: object } => {
  const url = new URL(target, "http://crm")
  requested = [...requested, `${method} ${url.pathname}`]
  if (url.pathname === "/list") {
    const at = Number(url.searchParams.get("after") ?? "0")
    const page = items.slice(at, at + 2).map((id) => ({ id }))
    return { status: 200, body: { results: page, next: at + 2 < items.length ? String(at + 2) : null } }
  }
  const [, , id = "", verb] = url.pathname.split("/")
  const expiresAt = new Date(Date.now() + 1_000_000_000).toISOString()
  if (verb === "renew")
    return hooks.has(id) ? { status: 200, body: { expiresAt } } : { status: 404, body: { error: "gone" } }
  if (id !== "") return { status: hooks.delete(id) ? 200 : 404, body: {} }
  const next = `h${(made += 1)}`
  hooks.set(next, JSON.parse(body))
  return { status: 200, body: { id: next, expiresAt } }
}

const action = (name: string, method: string, path: string, more: object = {}) => ({
  name,
  version: 1,
  request: { method, path, ...more }
})

const definition = {
  svcConnector: 1,
  slug: "crm",
  name: "CRM",
  kind: "crm",
  version: "1.0.0",
  baseUrl: "{{connection.config.base}}",
  connectionConfig: { type: "object", properties: { base: { type: "string" } }, required: ["base"] },
  auth: [
    {
      id: "key",
      type: "api_key",
      default: true,
      inject: [{ in: "header", name: "x-crm-key", value: "{{credential.apiKey}}" }]
    }
  ],
  retry: { maxAttempts: 1 },
  actions: [
    {
      ...action("list", "GET", "/list", { query: { after: "{{args.cursor}}" } }),
      pagination: { type: "cursor", next: "$.next", param: "cursor", items: "$.results" }
    },
    action("subscribe", "POST", "/hooks", { body: { url: "{{args.url}}", secret: "{{args.secret}}" } }),
    action("renew", "PUT", "/hooks/{{args.id}}/renew"),
    action("unsubscribe", "DELETE", "/hooks/{{args.id}}")
  ],
  events: [
    { id: "contact", delivery: "poll", poll: { action: "list", key: "$.id", intervalSeconds: 3_600 } },
    { id: "deal", delivery: "webhook" }
  ],
  webhooks: [
    {
      id: "deals",
      type: "per_event",
      subscribe: {
        action: "subscribe",
        args: { url: "{{webhook.url}}", secret: "{{webhook.secret}}" },
        idFrom: "$.id",
        expiresFrom: "$.expiresAt"
      },
      renew: { action: "renew", args: { id: "{{subscription.id}}" }, beforeSeconds: 500 },
      unsubscribe: { action: "unsubscribe", args: { id: "{{subscription.id}}" } },
      verify: { scheme: "hmac", subscriptionSecret: true, header: "x-crm-signature", idHeader: "x-crm-delivery" }
    }
  ]
}

beforeAll(async () => {
  systems = await startProvider((request, response) => {
    const { body, status } = answerTo(request.method, request.url, request.body)
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
  })
  await restart()
  await created("/api/v1/connectors", definition)
  assert.strictEqual((await client.call("POST", "/api/v1/connectors/crm/publish", {})).status, 200)
  await created("/api/v1/connections", {
    connector: "crm",
    customerId: client.dev.customerId,
    config: { base: systems.url },
    authMethod: "key",
    credential: { apiKey: "k" }
  })
  flow = await client.workflow("seen", "instant", "export default async (ctx) => ctx.input.id")
})
afterAll(async () => {
  await proofs(current)
  await systems.close()
  place.remove()
})

const trigger = async (event: string): Promise<string> => {
  const settings = { type: "app_event", name: event, routes: [{ workflowId: flow }] }
  return (await created("/api/v1/triggers", { ...settings, appEvent: { connector: "crm", event } })).id
}
/** Kills the service when it reaches the point, and starts another; `before` runs in the service that is killed. */
const killAt = async (kill: string, before: () => Promise<unknown>): Promise<void> => {
  current.kill("SIGKILL")
  await current.ended
  await restart(kill)
  await before()
  const isLate = setTimeout(() => current.kill("SIGTERM"), 20_000)
  assert.isNull(await current.ended, `${kill} was not reached: ${current.output()}`)
  clearTimeout(isLate)
}

describe("a poll", () => {
  const polled = async () => Number((await sql<{ seq: number }>("SELECT seq FROM polls"))[0]?.seq ?? 0)

  it("that dies between its answer and its commit loses no item and delivers none twice, over edits meanwhile", async () => {
    items = ["base1", "base2"]
    const id = await trigger("contact")
    await eventually(polled, (seq) => seq === 1)
    const baseline = items
    const edits = [
      () => client.call("PUT", `/api/v1/triggers/${id}`, { description: "edited" }),
      () => client.call("PUT", `/api/v1/workflows/${flow}`, { code: "export default async (ctx) => [ctx.input.id]" }),
      () => client.call("POST", `/api/v1/workflows/${flow}/publish`, {}),
      () =>
        client
          .call("POST", `/api/v1/triggers/${id}/disable`)
          .then(() => client.call("POST", `/api/v1/triggers/${id}/enable`))
    ]
    const edit = async () => {
      const answer = await edits.shift()?.()
      if (answer !== undefined) assert.strictEqual(answer.status, 200, JSON.stringify(answer.body))
    }
    for (const point of pollPoints) {
      items = [...items, ...[1, 2, 3].map((n) => `${point} ${n}`)]
      await killAt(point.replace("last", String(items.length - baseline.length)), async () => {
        await edit()
        await sql("UPDATE polls SET next_at = now()")
      })
      assert.strictEqual(await polled(), 1)
      // No poll before the edit of the next round.
      await sql("UPDATE polls SET next_at = now() + interval '1 hour'")
    }
    await restart()
    // What waits to be routed while no trigger is active would be ignored.
    await drained(client)
    await edit()
    await sql("UPDATE polls SET next_at = now()")
    await eventually(polled, (seq) => seq === 2)
    const { dead, held, ignored, unaccounted } = await drained(client)
    const all = await countRuns(client)
    const runs = await countRuns(client, "completed")
    const delivered = (await everyItem(client, "/api/v1/events")).filter(({ status }) => status === "delivered")
    const details = await Promise.all(delivered.map((one) => client.call("GET", `/api/v1/events/${one.id}`)))
    const found = details.map(({ body }) => body.data.payload.id).toSorted()
    promised("an item is lost or delivered twice", () =>
      assert.deepStrictEqual(found, items.filter((item) => !baseline.includes(item)).toSorted())
    )
    promised("an event has not one run", () =>
      assert.deepStrictEqual(
        [all.size, ...delivered.map((one) => all.get(one.id))],
        [delivered.length, ...delivered.map(() => 1)]
      )
    )
    assert.deepStrictEqual([dead, held, ignored, unaccounted], [0, 0, 0, []])
    assert.deepStrictEqual(
      delivered.map((one) => [one.action, runs.get(one.id)]),
      delivered.map(() => ["created", 1])
    )
    assert.strictEqual(runs.size, delivered.length)
    assert.strictEqual((await client.call("DELETE", `/api/v1/triggers/${id}`)).status, 204)
  })
})

describe("a subscription", () => {
  const stateOf = async (id: string) =>
    (await client.call("GET", `/api/v1/triggers/${id}`)).body?.data?.appEvent.subscription
  const reach = (id: string, state: string) =>
    eventually(
      () => stateOf(id),
      (found) => found === state
    )
  const externalOf = async () =>
    (await sql<{ external: string | null }>("SELECT external_id AS external FROM subscriptions"))[0]?.external ?? ""
  const makeDue = () => sql("UPDATE subscriptions SET next_at = now()")
  let deliveries = 0
  const deliver = async (hook: Hook | undefined, id: string) => {
    const text = JSON.stringify({ id })
    const answer = await fetch(`${client.dev.baseUrl}${new URL(hook?.url ?? "").pathname}`, {
      method: "POST",
      body: text,
      headers: {
        "content-type": "application/json",
        "x-crm-delivery": `d${(deliveries += 1)}`,
        "x-crm-signature": createHmac("sha256", hook?.secret ?? "")
          .update(text)
          .digest("hex")
      }
    })
    return { status: answer.status, body: JSON.parse(await answer.text()) }
  }

  it("that dies between the provider's answer and its commit leaves an orphan that starts nothing; the new one works", async () => {
    let id = ""
    await killAt("called:1", async () => {
      id = await trigger("deal")
    })
    assert.deepStrictEqual([...hooks.keys()], ["h1"])
    await restart()
    await reach(id, "subscribed")
    assert.deepStrictEqual([[...hooks.keys()], await externalOf()], [["h1", "h2"], "h2"])
    assert.strictEqual((await deliver(hooks.get("h1"), "orphan")).status, 404)
    const sent = await deliver(hooks.get("h2"), "new")
    assert.deepStrictEqual([sent.status, sent.body.status], [202, "accepted"])
    await drained(client)
    const all = await countRuns(client)
    promised("an event has not one run", () => assert.strictEqual(all.get(sent.body.eventId), 1))
    const runs = await countRuns(client, "completed")
    assert.strictEqual(runs.get(sent.body.eventId), 1)
    const others = (await everyItem(client, `/api/v1/events?trigger_id=${id}`)).filter(
      (one) => one.id !== sent.body.eventId
    )
    promised("an orphan starts something", () => assert.isEmpty(others))

    // Its renewal is repeated.
    await killAt("called:1", makeDue)
    await restart()
    await reach(id, "subscribed")
    assert.deepStrictEqual(
      [await externalOf(), requested.filter((one) => one === "PUT /hooks/h2/renew").length],
      ["h2", 2]
    )
    assert.strictEqual((await deliver(hooks.get("h2"), "renewed")).status, 202)

    // Its end is repeated; the provider does not have it any more.
    const last = hooks.get("h2")
    await killAt("called:1", () => client.call("POST", `/api/v1/triggers/${id}/disable`))
    await restart()
    await reach(id, "unsubscribed")
    assert.deepStrictEqual([hooks.has("h2"), requested.filter((one) => one === "DELETE /hooks/h2").length], [false, 2])
    assert.strictEqual((await deliver(last, "ended")).status, 404)
  })
})
