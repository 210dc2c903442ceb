/**
 * What an embed session reaches, of every endpoint: those whose rows say so, of these the records of its customer and its
 * person, and of these what a page may see.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { allPermissions } from "../../src/domain/access/Permission.js"
import type { Route } from "../../src/http/pipeline/Routes.js"
import { nameOf, prepareRequest, routes, sendRequest } from "../support/endpoints.js"
import type { TestKey } from "../support/keys.js"
import { type Side, startWorld, type World } from "../support/endpointWorld.js"
import { asWith, keyOfCustomers, openPanel, type OpenedPanel } from "../support/embed.js"
import { type Answer, type Running, start } from "../support/InProcess.js"

let world: World
let svc: Running
let inside: Side
let outside: Side
/** Of the first side's customer: of Ada, of Grace, and of nobody in particular. */
let ada: OpenedPanel
let grace: OpenedPanel
let whole: OpenedPanel
let unused: OpenedPanel
let made: TestKey
/** Connections of the first side: of Ada, and of Grace. */
let own: string
let others: string

/** What no answer to a session may have. */
const canaries = ["canary_key", "canary_tag", "canary_note", '"client"', "clientSecret", "tokenUrl"]

beforeAll(async () => {
  world = await startWorld()
  svc = world.svc
  inside = world.sides.inside
  outside = world.sides.outside
  made = await keyOfCustomers(svc, [inside.customer])
  const panel = (body: object) => openPanel(svc, inside.customer, body, made)
  ada = await panel({ userId: "ada" })
  grace = await panel({ userId: "grace" })
  whole = await panel({})
  unused = await panel({})
  const connect = async (userId: string) => {
    const made = await svc.ask("POST", "/api/v1/connections", {
      key: svc.first.key,
      body: {
        connector: inside.connector,
        customerId: inside.customer,
        userId,
        label: `of ${userId}`,
        authMethod: "key",
        config: { base: world.provider.url },
        credential: { apiKey: "canary_key_1" },
        tags: { note: "canary_tag" },
        metadata: { note: "canary_note" }
      }
    })
    assert.strictEqual(made.status, 201, made.text)
    return String(made.body.data.id)
  }
  own = await connect("ada")
  others = await connect("grace")
})
afterAll(() => world.stop())

const closed = "embed sessions may not call this: send an API key from your backend"

const isOpen = ({ sessions }: Route): boolean => sessions !== undefined
/** Pages do not call surface B: its credentials are keys alone. */
const ofPages = routes.filter(({ path }) => !path.startsWith("/api/v1/tenants/"))

const asked = (route: Route, side: Side) => prepareRequest(route, { world, side, scope: [] })

describe("an embed session", () => {
  it("may call these, and nothing else", () => {
    assert.deepStrictEqual(ofPages.filter(isOpen).map(nameOf), [
      "POST /api/v1/workflows/:workflowId/run",
      "GET /api/v1/workflows",
      "GET /api/v1/workflows/:wid",
      "GET /api/v1/executions",
      "GET /api/v1/executions/:eid",
      "GET /api/v1/connectors",
      "GET /api/v1/connectors/:ctr",
      "GET /api/v1/connections",
      "POST /api/v1/connections",
      "GET /api/v1/connections/:conn",
      "PUT /api/v1/connections/:conn",
      "DELETE /api/v1/connections/:conn",
      "POST /api/v1/connections/:conn/reconnect",
      "GET /api/v1/installations",
      "POST /api/v1/installations",
      "GET /api/v1/installations/:inst",
      "PUT /api/v1/installations/:inst",
      "DELETE /api/v1/installations/:inst",
      "POST /api/v1/embed/token/refresh",
      "GET /api/v1/embed/sessions/:ems",
      "GET /api/v1/embed/connect-sessions/:cs"
    ])
  })

  it.each(ofPages.filter((route) => !isOpen(route)).map((route) => [nameOf(route), route] as const))(
    "is refused %s, whatever it may do",
    async (_, route) => {
      // Of its own, since one has so many calls a minute.
      const { token } = await openPanel(svc, inside.customer, { userId: "ada" }, made)
      const answer = await sendRequest(world, route, asked(route, inside), token)
      assert.deepStrictEqual([answer.status, answer.body.message], [403, closed], answer.text)
    }
  )

  it.each(routes.filter((route) => !ofPages.includes(route)).map((route) => [nameOf(route), route] as const))(
    "is nobody on surface B: %s",
    async (_, route) => {
      const answer = await sendRequest(world, route, asked(route, inside), unused.token)
      assert.strictEqual(answer.status, 401, answer.text)
    }
  )
})

describe.each([
  "x-svc-env",
  "x-user-id",
  "x-installation-id",
  "x-svc-connections",
  "x-svc-installation-config",
  "x-svc-callback-url"
])("a session that sends %s", (header) => {
  it("is told to leave it out", async () => {
    for (const [method, target] of [
      ["GET", "/connections"],
      ["POST", "/connections"],
      ["POST", "/embed/token/refresh"]
    ] as const) {
      const answer = await ada.ask(method, target, { headers: { [header]: "grace" } })
      assert.deepStrictEqual([answer.status, answer.body.code], [400, "INVALID_HEADER"], answer.text)
      assert.include(answer.body.message, header)
    }
  })
})

describe("the records of others", () => {
  /** Requests of a session about a side, of the rows that it may call and that name a record of a customer. */
  const ofRecords = ofPages.filter((route) => isOpen(route) && /:(?:conn|ems|cs)\b/.test(route.path))

  /** Bodies that a session may send. */
  const bodyFor = ({ method }: Route) =>
    method === "PUT" ? { label: world.unique() } : method === "POST" ? {} : undefined

  const ask = (route: Route, side: Side, panel: OpenedPanel) => {
    const { target } = asked(route, side)
    const body = bodyFor(route)
    return svc.ask(route.method, target, { key: panel.token, ...(body === undefined ? {} : { body }) })
  }

  it.each(ofRecords.map((route) => [nameOf(route), route] as const))("are not found: %s", async (_, route) => {
    const stranger = await openPanel(svc, outside.customer, { userId: "ada" })
    for (const [side, panel] of [
      // Another customer, also with a person of the same name; another person.
      [outside, ada],
      [inside, stranger],
      [{ ...inside, connection: others }, ada],
      [{ ...inside, connection: own }, grace],
      [{ ...inside, connection: own }, whole]
    ] as const) {
      if (side.connection !== inside.connection && side !== outside && !route.path.includes(":conn")) continue
      const answer = await ask(route, side, panel)
      assert.deepStrictEqual([answer.status, answer.body.code], [404, "NOT_FOUND"], `${answer.text}`)
    }
  })

  it("of another organisation are not found either", async () => {
    const other = await start()
    try {
      const panel = await openPanel(other, other.first.customerId)
      const answer = await svc.ask("GET", "/api/v1/connections", { key: panel.token })
      assert.strictEqual(answer.status, 401)
    } finally {
      await other.stop()
    }
    const second = await svc.organisation("Second")
    const made = await svc.ask("POST", "/api/v1/api-keys", {
      key: second.key,
      body: {
        name: "panel",
        mode: "live",
        preset: "end_user",
        customers: { mode: "subset", ids: [second.customerId] }
      }
    })
    const minted = await asWith(svc, made.body.data.key)("POST", "/embed/token", {
      body: { endOrgId: second.customerId }
    })
    const page = asWith(svc, minted.body.token)
    assert.strictEqual((await page("GET", `/connections/${own}`)).status, 404)
    assert.deepStrictEqual((await page("GET", "/connections")).body.data, [])
    for (const list of ["/installations", "/workflows"]) assert.deepStrictEqual((await page("GET", list)).body.data, [])
    for (const record of [`/installations/${inside.installation}`, `/workflows/${inside.workflow}`])
      assert.strictEqual((await page("GET", record)).status, 404)
    assert.strictEqual((await page("POST", `/workflows/${inside.workflow}/run`, { body: {} })).status, 404)
    assert.strictEqual((await page("GET", `/executions/${inside.execution}`)).status, 403)
    assert.strictEqual((await page("GET", `/embed/connect-sessions/${inside.connectSession}`)).status, 404)
    assert.strictEqual((await page("GET", `/connectors/${inside.connector}`)).status, 404)
  })

  it("are in no list: a session has those of its person and of nobody in particular", async () => {
    const listed = async ({ ask: page }: OpenedPanel) =>
      (await page("GET", "/connections?page_size=200")).body.data.map(({ id }: { readonly id: string }) => id)
    const [ofAda, ofGrace, ofWhole] = [await listed(ada), await listed(grace), await listed(whole)]
    for (const ids of [ofAda, ofGrace, ofWhole]) {
      assert.include(ids, inside.connection)
      assert.notInclude(ids, outside.connection)
    }
    assert.deepStrictEqual(
      [own, others].map((id) => [ofAda.includes(id), ofGrace.includes(id), ofWhole.includes(id)]),
      [
        [true, false, false],
        [false, true, false]
      ]
    )
  })
})

describe("its own records", () => {
  const canRead = (answer: Answer) => {
    assert.isBelow(answer.status, 300, answer.text)
    for (const canary of canaries) assert.notInclude(answer.text, canary)
    return answer.body.data
  }

  it("are shown without what only the company notes with them", async () => {
    for (const target of [
      "/connectors?page_size=200",
      `/connectors/${inside.connector}`,
      "/connections",
      `/connections/${own}`,
      `/embed/sessions/${ada.sessionId}`
    ])
      canRead(await ada.ask("GET", target))
    const connector = canRead(await ada.ask("GET", `/connectors/${inside.connector}`))
    const [oauth, key] = connector.authMethods
    assert.deepInclude(oauth, { id: "oauth", signsIn: true })
    assert.deepInclude(key, { id: "key", signsIn: false })
    assert.include(
      key.fields.map(({ name }: { readonly name: string }) => name),
      "credential.apiKey"
    )
    const session = canRead(await ada.ask("GET", `/embed/sessions/${ada.sessionId}`))
    assert.deepInclude(session, {
      id: ada.sessionId,
      customerId: inside.customer,
      userId: "ada",
      locale: "en",
      theme: {}
    })
    assert.notProperty(session, "keyId")
  })

  it("of drafts are none: it sees published connectors only", async () => {
    const draft = await world.make.connector()
    const record = await svc.ask("GET", `/api/v1/connectors/${draft}`, { key: svc.first.key })
    const { slug } = record.body.data
    assert.strictEqual((await ada.ask("GET", `/connectors/${slug}`)).status, 404)
    const listed = canRead(await ada.ask("GET", "/connectors?page_size=200"))
    const slugs = listed.map((one: { readonly slug: string }) => one.slug)
    assert.notInclude(slugs, slug)
    assert.include(slugs, inside.connector)
    assert.include(slugs, "hubspot")
  })

  it("are connected, followed, renamed, reconnected and disconnected", async () => {
    const body = {
      connector: inside.connector,
      authMethod: "key",
      config: { base: world.provider.url },
      label: "Shop"
    }
    const pending = canRead(await ada.ask("POST", "/connections", { body }))
    assert.deepInclude(pending, { status: "pending", scope: "user", label: "Shop" })
    const followed = async ({ ask: page }: OpenedPanel, id: string) =>
      (await page("GET", `/embed/connect-sessions/${id}`)).body.data
    assert.deepStrictEqual(await followed(ada, pending.connectSessionId), {
      status: "open",
      connectionId: null,
      error: null
    })
    assert.isUndefined(await followed(grace, pending.connectSessionId))
    // A page that got a token of another session for the same person goes on.
    const again = await openPanel(svc, inside.customer, { userId: "ada" })
    assert.strictEqual((await followed(again, pending.connectSessionId)).status, "open")
    const form = await svc.ask("POST", new URL(pending.connectUrl).pathname, {
      raw: "credential.apiKey=canary_key_1",
      headers: { "content-type": "application/x-www-form-urlencoded", origin: "http://svc.test" }
    })
    assert.isBelow(form.status, 400, form.text)
    assert.deepStrictEqual(await followed(ada, pending.connectSessionId), {
      status: "completed",
      connectionId: pending.id,
      error: null
    })
    const active = canRead(await ada.ask("GET", `/connections/${pending.id}`))
    assert.deepInclude(active, { status: "active", accountLabel: "ada@example.com" })
    const renamed = canRead(await ada.ask("PUT", `/connections/${pending.id}`, { body: { label: "Other shop" } }))
    assert.strictEqual(renamed.label, "Other shop")
    const reconnects = canRead(await ada.ask("POST", `/connections/${pending.id}/reconnect`, { body: {} }))
    assert.match(reconnects.connectUrl, /^http:\/\/svc\.test\/connect\//)
    const gone = canRead(await ada.ask("DELETE", `/connections/${pending.id}`))
    assert.strictEqual(gone.status, "disconnected")
    assert.strictEqual((await ada.ask("GET", `/connections/${pending.id}`)).status, 404)
  })

  it("are those of its person, whatever the body names", async () => {
    for (const more of [
      { userId: "grace" },
      { customerId: outside.customer },
      { tags: { a: "b" } },
      { metadata: {} }
    ]) {
      const body = { connector: inside.connector, authMethod: "key", ...more }
      const answer = await ada.ask("POST", "/connections", { body })
      assert.strictEqual(answer.status, 422, answer.text)
    }
    const renamed = await ada.ask("PUT", `/connections/${own}`, { body: { label: "x", tags: { a: "b" } } })
    assert.strictEqual(renamed.status, 422)
  })

  it("are not disconnected where its widget does not offer that", async () => {
    const by = { key: svc.first.key }
    const body = { name: world.unique(), connectors: [inside.connector], features: { disconnect: false } }
    const widget = await svc.ask("POST", "/api/v1/widgets", { ...by, body })
    const widgetId = widget.body.data.id
    await svc.ask("POST", `/api/v1/widgets/${widgetId}/publish`, { ...by, body: {} })
    const panel = await openPanel(svc, inside.customer, { userId: "ada", widgetId })
    assert.strictEqual((await panel.ask("DELETE", `/connections/${own}`)).status, 403)
    // Publishing again does not change a session that has begun.
    await svc.ask("PUT", `/api/v1/widgets/${widgetId}`, { ...by, body: { features: { disconnect: true } } })
    await svc.ask("POST", `/api/v1/widgets/${widgetId}/publish`, { ...by, body: {} })
    assert.strictEqual((await panel.ask("DELETE", `/connections/${own}`)).status, 403)
    const { features } = (await panel.ask("GET", `/embed/sessions/${panel.sessionId}`)).body.data
    assert.deepStrictEqual(features, { integrations: [], actions: [], runs: false, disconnect: false })
    const newer = await openPanel(svc, inside.customer, { userId: "ada", widgetId })
    const shown = (await newer.ask("GET", `/embed/sessions/${newer.sessionId}`)).body.data
    assert.isTrue(shown.features.disconnect)
  })
})

describe("the rights of a session", () => {
  it("are an end user's at most, of what was asked for, of what its key may", async () => {
    const all: { [group: string]: Array<string> } = {}
    for (const [group = "", name = ""] of allPermissions.map((one) => one.split(":"))) (all[group] ??= []).push(name)
    const rightsOf = async (permissions: object, ofKey: object) => {
      const made = await keyOfCustomers(svc, [inside.customer], { preset: "custom", permissions: ofKey })
      const panel = await openPanel(svc, inside.customer, { permissions }, made)
      const read = (await panel.ask("GET", "/connections")).status
      const connect = (await panel.ask("POST", "/connections", { body: { connector: inside.connector } })).status
      return [read, connect === 403 ? 403 : 201]
    }
    const minting = { widgets: ["read"], connections: ["create"] }
    assert.deepStrictEqual(await rightsOf({ connections: ["read", "create"] }, all), [200, 201])
    assert.deepStrictEqual(await rightsOf({ connections: ["read"] }, all), [200, 403])
    assert.deepStrictEqual(await rightsOf({ connections: ["read", "create"] }, minting), [403, 201])
    assert.deepStrictEqual(await rightsOf({}, all), [403, 403])
  })

  it("are within its connectors and its key's scope", async () => {
    const panel = await openPanel(svc, inside.customer, { connectors: ["hubspot"] })
    const slugs = (await panel.ask("GET", "/connectors")).body.data.map(({ slug }: { readonly slug: string }) => slug)
    assert.deepStrictEqual(slugs, ["hubspot"])
    assert.deepStrictEqual((await panel.ask("GET", "/connections")).body.data, [])
    for (const [method, target, body] of [
      ["GET", `/connectors/${inside.connector}`, undefined],
      ["GET", `/connections/${inside.connection}`, undefined],
      ["POST", "/connections", { connector: inside.connector }]
    ] as const) {
      const answer = await panel.ask(method, target, body === undefined ? {} : { body })
      assert.deepStrictEqual([answer.status, answer.body.code], [403, "RESOURCE_OUT_OF_SCOPE"], answer.text)
    }
    const scope = { resourceScope: [{ type: "connector", ids: ["hubspot"] }] }
    const narrow = await keyOfCustomers(svc, [inside.customer], scope)
    const scoped = await openPanel(svc, inside.customer, {}, narrow)
    assert.deepStrictEqual((await scoped.ask("GET", "/connections")).body.data, [])
    const beyond = await asWith(svc, narrow.key)("POST", "/embed/token", {
      body: { endOrgId: inside.customer, connectors: [inside.connector] }
    })
    assert.deepStrictEqual([beyond.status, beyond.body.code], [403, "RESOURCE_OUT_OF_SCOPE"])
  })
})
