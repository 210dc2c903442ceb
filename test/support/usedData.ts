/**
 * Puts every kind of record into use through the API, and later checks that all of it is still there and goes on: for an
 * upgrade, between the two.
 */
import { assert } from "@effect/vitest"
import type { Api } from "./api.js"
import { eventually } from "./eventually.js"
import type { Provider, Request } from "./provider.js"

export interface UsedData {
  readonly waiting: string
  readonly sleeping: string
  readonly failedRun: string
  readonly connection: string
  readonly secret: string
  readonly suspended: string
  readonly held: string
  readonly triggers: ReadonlyArray<string>
  readonly ticking: string
  readonly webhook: string
  readonly letters: number
  readonly readState: string
  readonly polled: string
}

const mails = ["ops@example.com", "Boss@example.com"]

/** What the systems outside answer; `open` lets runs end that wait, `items` are what is polled. */
export const makeOutside = () => {
  const outside = {
    isOpen: false,
    items: [{ id: "1" }],
    answer: (request: Request): readonly [status: number, body: unknown] => {
      if (request.url.startsWith("/gate")) return [200, { open: outside.isOpen }]
      if (request.url.startsWith("/crm/list")) return [200, { results: outside.items }]
      if (request.url.startsWith("/callback")) return outside.isOpen ? [200, {}] : [500, {}]
      return [200, { url: request.url }]
    }
  }
  return outside
}
export type Outside = ReturnType<typeof makeOutside>

const crm = (base: string) => ({
  svcConnector: 1,
  slug: "crm",
  name: "CRM",
  kind: "crm",
  version: "1.0.0",
  baseUrl: base,
  auth: [
    {
      id: "key",
      type: "api_key",
      default: true,
      fields: [{ name: "apiKey", secret: true }],
      inject: [{ in: "header", name: "x-crm-key", value: "{{credential.apiKey}}" }]
    }
  ],
  actions: [
    {
      name: "list",
      version: 1,
      request: { method: "GET", path: "/crm/list" },
      pagination: { type: "link", items: "$.results" }
    }
  ],
  events: [
    { id: "contact", delivery: "poll", poll: { action: "list", key: "$.id", intervalSeconds: 30 } },
    { id: "message.created", delivery: "webhook", key: "message" }
  ],
  webhooks: [
    {
      id: "app",
      type: "app",
      items: "$.events",
      eventKey: "$.type",
      account: { payload: "$.team", connection: "$.externalAccountId" },
      verify: { scheme: "hmac", secretName: "CHAT_SECRET", header: "x-chat-signature", payload: "{body}" }
    }
  ]
})

const ask = async ({ call }: Api, method: string, path: string, body?: unknown) => {
  const answer = await call(method, `/api/v1${path}`, body)
  assert.isBelow(answer.status, 300, `${method} ${path}: ${JSON.stringify(answer.body)}`)
  return answer.body?.data
}

const waitForGate = (url: string) => `async () => {
  let n = 0
  while (!(await (await fetch("${url}/gate?" + n++)).json()).open) await new Promise((done) => setTimeout(done, 500))
}`

/** Runs in every state, with what they wrote: ended, failed, waiting, and with a callback that is refused. */
const furnishRuns = async (client: Api, url: string) => {
  const echo = await client.workflow("echo", "instant", "export default async (ctx) => ctx.input")
  await client.run(echo, { n: 1 })
  const state = await client.workflow(
    "state",
    "instant",
    `export default async () => {
      await svc.state.set("text", "kept in the state"); await svc.state.set("object", { a: [1] })
      for (let n = 0; n < 7; n++) await svc.state.increment("count", 1)
      await svc.state.set("short", 1, { ttlSeconds: 86400 })
    }`
  )
  await client.run(state)
  const readState = await client.workflow(
    "read_state",
    "instant",
    `export default async () => [await svc.state.get("text"), await svc.state.get("object"),
      await svc.state.increment("count", 1), await svc.state.get("short")]`
  )
  const waits = await client.workflow(
    "waits",
    "standard",
    `const gate = ${waitForGate(url)}
    export default async (ctx) => {
      const first = await (await fetch("${url}/first")).json()
      await svc.state.increment("waited", 1)
      await gate()
      return { first: first.url, waited: await svc.state.get("waited"), input: ctx.input }
    }`,
    { callbackUrl: `${url}/callback/waits` }
  )
  const waiting: string = (await client.run(waits, { n: 2 })).body.executionId
  const sleeps = await client.workflow(
    "sleeps",
    "long",
    `export default async () => {
      const first = (await (await fetch("${url}/slept")).json()).url
      await new Promise((done) => setTimeout(done, 20_000))
      return first
    }`
  )
  const sleeping: string = (await client.run(sleeps)).body.executionId
  await eventually(
    () => client.execution(sleeping),
    (run) => run.waiting !== null
  )
  const fails = await client.workflow(
    "fails",
    "standard",
    "export default async () => { throw new Error('no stock') }",
    { callbackUrl: `${url}/callback/fails` }
  )
  const failedRun: string = (await client.run(fails)).body.executionId
  await client.ended(failedRun)
  return { echo, failedRun, fails, readState, sleeping, waiting }
}

const furnishTriggers = async (client: Api, runs: { readonly echo: string; readonly fails: string }, url: string) => {
  const trigger = async (name: string, body: object, workflowId = runs.echo) =>
    await ask(client, "POST", "/triggers", { name, routes: [{ workflowId }], ...body })
  const slow = await client.workflow("slow", "standard", `export default ${waitForGate(url)}`)
  const made = [
    await trigger("hook", { type: "webhook", webhook: { auth: "public" } }),
    await trigger("in turn", { type: "webhook", webhook: { auth: "public", executionMode: "sequential" } }, slow),
    await trigger("tick", { type: "schedule", schedule: { mode: "interval", every: { n: 1 } } }),
    await trigger("daily", { type: "schedule", schedule: { mode: "daily" } }),
    await trigger("event", { type: "event", event: { type: "used.event" } }),
    await trigger("dead", { type: "event", event: { type: "used.dead" } }, runs.fails),
    await trigger("held", { type: "event", event: { type: "used.held" } }),
    await trigger("poll", { type: "app_event", appEvent: { connector: "crm", event: "contact" } }),
    await trigger("app", { type: "app_event", appEvent: { connector: "crm", event: "message.created" } }),
    await trigger("filtered", {
      type: "event",
      event: { type: "used.filtered" },
      routes: [{ workflowId: runs.echo, filter: { path: "name", op: "matches", value: "^a+$" } }]
    })
  ]
  return made
}

/** Creates all of it. */
export const furnish = async (client: Api, systems: Provider): Promise<UsedData> => {
  const { url } = systems
  const secret = (await ask(client, "POST", "/secrets", { name: "KEPT", value: "kept secret" })).id
  await ask(client, "POST", "/secrets", { name: "CHAT_SECRET", value: "chat secret" })
  const customerId = (await ask(client, "POST", "/customers", { name: "Used", externalRef: "used-1" })).id
  const suspended = (await ask(client, "POST", "/customers", { name: "Suspended" })).id
  await ask(client, "PUT", `/customers/${customerId}`, { metadata: { region: "north" } })
  await ask(client, "PUT", "/config", {
    level: "saas",
    scopeId: null,
    key: "notifications",
    value: { email: mails, webhook: [`${url.replace("http:", "https:")}/notified`] }
  })
  await ask(client, "POST", "/webhook-endpoints", { url: `${url.replace("http:", "https:")}/events`, events: ["*"] })
  await ask(client, "POST", "/connectors", crm(url))
  await ask(client, "POST", "/connectors/crm/publish", {})
  const connection = (
    await ask(client, "POST", "/connections", {
      connector: "crm",
      customerId,
      credential: { apiKey: "kept credential" }
    })
  ).id
  const runs = await furnishRuns(client, url)
  const triggers = await furnishTriggers(client, runs, url)
  const [hook, inTurn, ticking] = triggers
  const send = async (trigger: { webhook: { url: string } }, n: number) =>
    assert.isBelow((await client.call("POST", new URL(trigger.webhook.url).pathname, { n })).status, 300)
  await send(hook, 1)
  for (const n of [1, 2, 3]) await send(inTurn, n)
  const emit = (type: string, n: number, customer = customerId) =>
    ask(client, "POST", "/events", { type, customerId: customer, payload: { n, name: "aaa" } })
  for (const type of ["used.event", "used.filtered"]) await emit(type, 1)
  for (let n = 0; n < 5; n++) await emit("used.dead", n)
  await ask(client, "PUT", `/customers/${suspended}`, { status: "suspended" })
  const held = (await emit("used.held", 1, suspended)).eventId
  const letters = await eventually(
    () => ask(client, "GET", "/dlq?page_size=100"),
    (found) => found.length >= 5
  )
  await ask(client, "POST", "/dlq/replay", { filter: { type: "used.dead" }, limit: 2, ratePerSecond: 1 })
  return {
    waiting: runs.waiting,
    sleeping: runs.sleeping,
    failedRun: runs.failedRun,
    connection,
    secret,
    suspended,
    held,
    triggers: triggers.map(({ id }) => id),
    ticking: ticking.id,
    webhook: new URL(hook.webhook.url).pathname,
    letters: letters.length,
    readState: runs.readState,
    polled: triggers[7].id
  }
}

const eventsOf = (client: Api, trigger: string) => ask(client, "GET", `/events?trigger_id=${trigger}&page_size=100`)

/** Checks that all of it is there, and goes on. */
export const checkUsed = async (client: Api, outside: Outside, used: UsedData) => {
  assert.strictEqual((await ask(client, "GET", `/secrets/${used.secret}/value`)).value, "kept secret")
  const revealed = await ask(client, "POST", `/connections/${used.connection}/reveal`, {})
  assert.include(JSON.stringify(revealed), "kept credential")
  assert.strictEqual((await ask(client, "GET", "/customers/ref:used-1")).metadata.region, "north")
  assert.deepStrictEqual((await client.run(used.readState)).body, ["kept in the state", { a: [1] }, 8, 1])
  for (const id of used.triggers) assert.strictEqual((await ask(client, "GET", `/triggers/${id}`)).status, "active")
  assert.isAtLeast((await ask(client, "GET", "/dlq?page_size=100")).length, used.letters - 2)
  assert.strictEqual((await client.execution(used.failedRun)).status, "failed")

  outside.isOpen = true
  const ended = await client.ended(used.waiting, 60_000)
  assert.deepStrictEqual(ended.output, { first: "/first", waited: 1, input: { n: 2 } })
  assert.strictEqual((await client.ended(used.sleeping, 60_000)).output, "/slept")
  assert.isBelow((await client.call("POST", used.webhook, { n: 2 })).status, 300)
  const inTurn = used.triggers[1] ?? ""
  for (const trigger of [inTurn, used.triggers[0] ?? ""])
    await eventually(
      () => eventsOf(client, trigger),
      (events: ReadonlyArray<{ status: string }>) =>
        events.length >= 2 && events.every(({ status }) => status === "delivered")
    )
  await ask(client, "PUT", `/customers/${used.suspended}`, { status: "active" })
  await eventually(
    () => ask(client, "GET", `/events/${used.held}`),
    ({ status }) => status === "delivered"
  )
  outside.items = [{ id: "1" }, { id: "2" }]
  await eventually(
    () => eventsOf(client, used.polled),
    (events) => events.length === 1
  )
  const ticksBefore = (await eventsOf(client, used.ticking)).length
  await eventually(
    () => eventsOf(client, used.ticking),
    (events) => events.length > ticksBefore,
    90_000
  )
}

export const notifiedAddresses = mails.map((mail) => mail.toLowerCase())
