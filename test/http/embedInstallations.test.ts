/**
 * An embed session installs, changes and removes the integrations of its widget for its customer: with the widget's workflows
 * and form, with accounts that are its person's or nobody's in particular, and without seeing or changing what else the
 * organisation has set.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { CustomerId } from "../../src/domain/Ids.js"
import { configurationValues } from "../../src/domain/Limits.js"
import { startCalls, stopCalls, connect, publishConnector, svc, workflow } from "../support/calls.js"
import type { Answer } from "../support/InProcess.js"
import { madeByOwner, newCustomer, publishedWidget, republish, sessionOf } from "../support/embedWidgets.js"
import { keyOfCustomers } from "../support/embed.js"
import { eventually } from "../support/eventually.js"

let sync: string
let hidden: string
let widget: string

const settings = {
  type: "object",
  properties: {
    days: { type: "integer", minimum: 1, maximum: 30 },
    range: { type: "object", properties: { from: { type: "string" } } }
  },
  required: ["days"]
}
const features = () => ({
  integrations: [
    {
      slug: "contact-sync",
      title: "Contacts",
      connectors: ["panel-crm"],
      workflowIds: [sync],
      configSchema: settings
    },
    { slug: "plain", title: "Plain" }
  ]
})

beforeAll(async () => {
  await startCalls()
  await publishConnector("panel-crm")
  await publishConnector("panel-other")
  sync = await workflow(`return await svc.connector["panel-crm"].get({ id: "1" })`)
  hidden = await workflow("return 'canary_code'")
  widget = await publishedWidget(features())
})
afterAll(() => stopCalls())

const account = async (customer: string, connector = "panel-crm", userId: string | null = null): Promise<string> => {
  const { id } = await connect(connector, "k-1", customer as CustomerId)
  if (userId !== null) await svc.sql(`UPDATE connections SET user_id = '${userId}' WHERE id = '${id}'`)
  return id
}

const placesOf = ({ body, status, text }: Answer): ReadonlyArray<string> => {
  assert.strictEqual(status, 422, text)
  return body.details.map(({ path }: { readonly path: string }) => path)
}

const shownMembers = ["config", "connections", "createdAt", "id", "integration", "status", "updatedAt", "version"]

describe("a session", () => {
  it("installs an integration with the widget's workflows and form, and an account of its customer", async () => {
    const customer = await newCustomer()
    const panel = await sessionOf(widget, customer, { userId: "ada", userName: "Ada" })
    const connection = await account(customer)
    const body = { integration: "contact-sync", connections: { "panel-crm": connection }, config: { days: 7 } }
    const made = await panel.ask("POST", "/installations", { body })
    assert.strictEqual(made.status, 201, made.text)
    const { data } = made.body
    assert.deepStrictEqual(Object.keys(data).toSorted(), shownMembers)
    assert.deepInclude(data, { integration: "contact-sync", status: "active", config: { days: 7 }, version: 1 })
    assert.deepStrictEqual(data.connections, { "panel-crm": connection })
    assert.strictEqual(made.headers["location"], `/api/v1/installations/${data.id}`)

    const stored = await madeByOwner("GET", `/installations/${data.id}`)
    assert.deepInclude(stored, { customerId: customer, workflowIds: [sync], configSchema: settings })
    const entries = await eventually(
      () => madeByOwner("GET", "/audit?actor_id=ada&action=installation.create"),
      (found) => found.length > 0
    )
    assert.deepInclude(entries[0].actor, { type: "user", name: "Ada", onBehalfOf: panel.keyId })
    assert.deepInclude(entries[0], { customerId: customer })
  })

  it("reads, changes, pauses, switches on and removes it, at its version", async () => {
    const customer = await newCustomer()
    const { ask } = await sessionOf(widget, customer)
    const body = { integration: "contact-sync", config: { days: 7, range: { from: "a" } } }
    const { id } = (await ask("POST", "/installations", { body })).body.data
    const read = async () => (await ask("GET", `/installations/${id}`)).body.data
    assert.deepInclude(await read(), { status: "needs_connection", connections: {} })
    const connection = await account(customer)
    const connected = await ask("PUT", `/installations/${id}`, {
      body: { connections: { "panel-crm": connection }, version: 1 }
    })
    assert.deepInclude(connected.body.data, { status: "active", version: 2, config: { days: 7, range: { from: "a" } } })
    const stale = await ask("PUT", `/installations/${id}`, { body: { config: { days: 8 }, version: 1 } })
    assert.deepStrictEqual([stale.status, stale.body.code], [409, "VERSION_MISMATCH"], stale.text)
    const byHeader = await ask("PUT", `/installations/${id}`, {
      body: { config: { days: 8 } },
      headers: { "if-match": '"1"' }
    })
    assert.strictEqual(byHeader.status, 409, byHeader.text)
    for (const status of ["paused", "active"])
      assert.strictEqual((await ask("PUT", `/installations/${id}`, { body: { status } })).body.data.status, status)
    assert.deepStrictEqual((await ask("GET", "/installations")).body.data, [await read()])
    const removed = await ask("DELETE", `/installations/${id}`)
    assert.strictEqual(removed.status, 204, removed.text)
    assert.strictEqual((await ask("GET", `/installations/${id}`)).status, 404)
    assert.deepStrictEqual((await ask("GET", "/installations")).body.data, [])
    assert.strictEqual((await ask("PUT", `/installations/${id}`, { body: { status: "active" } })).status, 404)
    const again = await ask("POST", "/installations", { body })
    assert.strictEqual(again.status, 201, again.text)
  })

  it("installs an integration once, also if it asks twice at once, and gets the same answer to the same key", async () => {
    const { ask } = await sessionOf(widget, await newCustomer())
    const body = { integration: "plain" }
    const both = await Promise.all([ask("POST", "/installations", { body }), ask("POST", "/installations", { body })])
    assert.deepStrictEqual(both.map(({ status }) => status).toSorted(), [201, 409])
    const other = await sessionOf(widget, await newCustomer())
    const headers = { "idempotency-key": "once" }
    const first = await other.ask("POST", "/installations", { body, headers })
    const second = await other.ask("POST", "/installations", { body, headers })
    assert.deepStrictEqual([first.status, second.status, second.body], [201, 201, first.body])
  })

  it("says nothing but integration, accounts, settings and status", async () => {
    const customer = await newCustomer()
    const { ask } = await sessionOf(widget, customer)
    const other = await newCustomer()
    for (const more of [
      { customerId: other },
      { customerId: customer },
      { workflowIds: [hidden] },
      { configSchema: null },
      { createdBy: "me" }
    ]) {
      const created = await ask("POST", "/installations", {
        body: { integration: "contact-sync", config: { days: 1 }, ...more }
      })
      assert.deepStrictEqual(placesOf(created), Object.keys(more), created.text)
    }
    const { id } = (await ask("POST", "/installations", { body: { integration: "plain" } })).body.data
    for (const more of [{ workflowIds: [hidden] }, { configSchema: {} }, { integration: "contact-sync" }])
      assert.deepStrictEqual(placesOf(await ask("PUT", `/installations/${id}`, { body: more })), Object.keys(more))
    assert.deepStrictEqual((await madeByOwner("GET", `/installations?customer_id=${other}`)).length, 0)
  })

  it.each([
    [{}, ["config"]],
    [{ days: 0 }, ["config.days"]],
    [{ days: "7" }, ["config.days"]],
    [{ days: 7, more: true }, ["config"]],
    [{ days: 7, range: { to: "b" } }, ["config.range"]]
  ])("is refused settings that its form does not have: %j", async (config, places) => {
    const { ask } = await sessionOf(widget, await newCustomer())
    const body = { integration: "contact-sync", config }
    const refused = await ask("POST", "/installations", { body })
    for (const place of placesOf(refused))
      assert.isTrue(
        places.some((one) => place.startsWith(one)),
        refused.text
      )
    const plain = await ask("POST", "/installations", { body: { integration: "plain", config: { days: 7 } } })
    assert.strictEqual(plain.status, 422, plain.text)
  })

  it("is refused accounts of others, and of connectors that the integration does not name", async () => {
    const customer = await newCustomer()
    const ada = await sessionOf(widget, customer, { userId: "ada" })
    const whole = await sessionOf(widget, customer)
    const ofAda = await account(customer, "panel-crm", "ada")
    const ofGrace = await account(customer, "panel-crm", "grace")
    const foreign = await account(await newCustomer())
    const otherSystem = await account(customer, "panel-other")
    const install = ({ ask }: Pick<typeof ada, "ask">, connections: object) =>
      ask("POST", "/installations", { body: { integration: "contact-sync", config: { days: 1 }, connections } })
    for (const [panel, connections, place] of [
      [ada, { "panel-crm": ofGrace }, "connections.panel-crm"],
      [whole, { "panel-crm": ofAda }, "connections.panel-crm"],
      [ada, { "panel-crm": foreign }, "connections.panel-crm"],
      [ada, { "panel-crm": otherSystem }, "connections.panel-crm"],
      [ada, { "panel-other": otherSystem }, "connections.panel-other"],
      [ada, { "panel-crm": "con_unknown" }, "connections.panel-crm"]
    ] as const)
      assert.deepStrictEqual(placesOf(await install(panel, connections)), [place], JSON.stringify(connections))
    const made = await install(ada, { "panel-crm": ofAda })
    assert.strictEqual(made.status, 201, made.text)
    // Another person keeps the account that is there, and cannot take it up anew.
    const grace = await sessionOf(widget, customer, { userId: "grace" })
    const change = (connections: object) =>
      grace.ask("PUT", `/installations/${made.body.data.id}`, { body: { connections } })
    assert.strictEqual((await change({ "panel-crm": ofAda })).status, 200)
    assert.strictEqual((await change({ "panel-crm": ofGrace })).status, 200)
    assert.deepStrictEqual(placesOf(await change({ "panel-crm": ofAda })), ["connections.panel-crm"])
  })

  it("neither sees nor changes what the organisation has set beside the form", async () => {
    const customer = await newCustomer()
    const { ask } = await sessionOf(widget, customer)
    const [crm, other] = [await account(customer), await account(customer, "panel-other")]
    const { id } = await madeByOwner("POST", "/installations", {
      customerId: customer,
      integration: "contact-sync",
      workflowIds: [sync, hidden],
      connections: { "panel-crm": crm, "panel-other": other },
      config: { days: 3, inner: "canary_config" }
    })
    const read = await ask("GET", `/installations/${id}`)
    assert.deepInclude(read.body.data, { config: { days: 3 }, connections: { "panel-crm": crm } })
    for (const canary of ["canary_config", hidden, other]) assert.notInclude(read.text, canary)
    const next = await account(customer)
    const changed = await ask("PUT", `/installations/${id}`, {
      body: { config: { days: 4 }, connections: { "panel-crm": next } }
    })
    assert.strictEqual(changed.status, 200, changed.text)
    const stored = await madeByOwner("GET", `/installations/${id}`)
    assert.deepInclude(stored, {
      config: { days: 4, inner: "canary_config" },
      connections: { "panel-crm": next, "panel-other": other },
      workflowIds: [sync, hidden],
      configSchema: settings
    })
  })

  it("has no installation of another customer, and none that its widget does not offer", async () => {
    const [customer, other] = [await newCustomer(), await newCustomer()]
    const { ask } = await sessionOf(widget, customer)
    const unoffered = await madeByOwner("POST", "/installations", { customerId: customer, integration: "inner" })
    const ofOther = await madeByOwner("POST", "/installations", { customerId: other, integration: "plain" })
    for (const { id } of [unoffered, ofOther]) {
      assert.strictEqual((await ask("GET", `/installations/${id}`)).status, 404)
      assert.strictEqual((await ask("PUT", `/installations/${id}`, { body: { status: "paused" } })).status, 404)
      assert.strictEqual((await ask("DELETE", `/installations/${id}`)).status, 404)
    }
    assert.deepStrictEqual((await ask("GET", "/installations")).body.data, [])
    assert.deepStrictEqual(placesOf(await ask("POST", "/installations", { body: { integration: "inner" } })), [
      "integration"
    ])
    const without = await sessionOf(await publishedWidget({}), customer)
    assert.deepStrictEqual((await without.ask("GET", "/installations")).body.data, [])
    assert.deepStrictEqual(placesOf(await without.ask("POST", "/installations", { body: { integration: "plain" } })), [
      "integration"
    ])
  })

  it("needs widgets:read, and reaches the workflows of its key only", async () => {
    const customer = await newCustomer()
    const lacking = await sessionOf(widget, customer, { permissions: { connections: ["read"] } })
    for (const [method, target, body] of [
      ["GET", "/installations"],
      ["POST", "/installations", { integration: "plain" }]
    ] as const) {
      const refused = await lacking.ask(method, target, body === undefined ? {} : { body })
      assert.deepStrictEqual([refused.status, refused.body.details?.[0]?.code], [403, "widgets:read"], refused.text)
    }
    const narrowed = await keyOfCustomers(svc, [customer], { resourceScope: [{ type: "workflow", ids: [hidden] }] })
    const { ask } = await sessionOf(widget, customer, {}, narrowed)
    const refused = await ask("POST", "/installations", { body: { integration: "contact-sync", config: { days: 1 } } })
    assert.deepStrictEqual([refused.status, refused.body.code], [403, "RESOURCE_OUT_OF_SCOPE"], refused.text)
  })

  it("has the fields of a form in their order", async () => {
    const properties = Object.fromEntries(["zone", "a", "middle", "of"].map((name) => [name, { type: "string" }]))
    const configSchema = { type: "object", properties }
    const ordered = await publishedWidget({ integrations: [{ slug: "plain", title: "Plain", configSchema }] })
    const { ask, sessionId } = await sessionOf(ordered, await newCustomer())
    const { features } = (await ask("GET", `/embed/sessions/${sessionId}`)).body.data
    assert.deepStrictEqual(Object.keys(features.integrations[0].configSchema.properties), Object.keys(properties))
  })

  it("cannot store more by many requests than by one, where its form allows members that it does not name", async () => {
    const configSchema = { type: "object", properties: {}, additionalProperties: true }
    const open = await publishedWidget({ integrations: [{ slug: "plain", title: "Plain", configSchema }] })
    const { ask } = await sessionOf(open, await newCustomer())
    const { id } = (await ask("POST", "/installations", { body: { integration: "plain" } })).body.data
    const add = (name: string) =>
      ask("PUT", `/installations/${id}`, {
        body: { config: { [name]: "x".repeat(configurationValues.valueBytes / 2) } }
      })
    assert.strictEqual((await add("one")).status, 200)
    assert.deepStrictEqual(placesOf(await add("two")), ["config"])
    const stored = await madeByOwner("GET", `/installations/${id}`)
    assert.deepStrictEqual(Object.keys(stored.config), ["one"])
  })

  it("keeps the version of its widget, and is refused what its plan does not allow", async () => {
    const customer = await newCustomer()
    const mine = await publishedWidget(features())
    const { ask } = await sessionOf(mine, customer)
    await republish(mine, { integrations: [{ slug: "plain", title: "Plain" }] })
    const body = { integration: "contact-sync", config: { days: 1 } }
    assert.strictEqual((await ask("POST", "/installations", { body })).status, 201)
    const newer = await sessionOf(mine, customer)
    assert.deepStrictEqual((await newer.ask("GET", "/installations")).body.data, [])
    await madeByOwner("PUT", `/customers/${customer}`, { limits: { active_integrations: 1 } })
    const more = await newer.ask("POST", "/installations", { body: { integration: "plain" } })
    assert.deepStrictEqual([more.status, more.body.code], [403, "PLAN_LIMIT_REACHED"], more.text)
  })
})
