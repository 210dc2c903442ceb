/** Installations: valid values, the status derived from their connections, and visibility. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Connections } from "../../src/actors/ports/connection/Connections.js"
import type { ConnectionId, OrganisationId } from "../../src/domain/Ids.js"
import { keepDomainEvents } from "../support/keptEvents.js"
import { WriterSql } from "../support/Sql.js"
import { connect, publishConnector, startCalls, stopCalls, svc, workflow } from "../support/calls.js"

beforeAll(async () => {
  await startCalls()
  await publishConnector("acme")
  await publishConnector("beta-crm")
  await svc.run(keepDomainEvents)
})
afterAll(() => stopCalls())

const at = "/api/v1/installations"
let names = 0
const slug = () => `integration-${(names += 1)}`

const ask = (method: string, path: string, body?: unknown, headers: { readonly [name: string]: string } = {}) =>
  svc.ask(method, `${at}${path}`, { key: svc.first.key, headers, ...(body === undefined ? {} : { body }) })

const create = (body: object = {}) =>
  ask("POST", "", { customerId: svc.first.customerId, integration: slug(), ...body })

const customer = async (name: string) => {
  const made = await svc.ask("POST", "/api/v1/customers", { key: svc.first.key, body: { name } })
  assert.strictEqual(made.status, 201, made.text)
  return made.body.data
}

describe("an installation", () => {
  it("is created, read, changed at its version, and listed", async () => {
    const { body, headers, status } = await create({ config: { greeting: "hello" } })
    assert.strictEqual(status, 201, JSON.stringify(body))
    assert.match(body.data.id, /^inst_/)
    assert.deepInclude(body.data, { status: "active", config: { greeting: "hello" }, configSchema: null, version: 1 })
    assert.deepStrictEqual([headers["etag"], headers["location"]], ['"1"', `${at}/${body.data.id}`])

    const changed = await ask("PUT", `/${body.data.id}`, { status: "paused" }, { "if-match": '"1"' })
    assert.deepStrictEqual([changed.body.data.status, changed.headers["etag"]], ["paused", '"2"'])
    const stale = await ask("PUT", `/${body.data.id}`, { status: "active" }, { "if-match": '"1"' })
    assert.deepStrictEqual([stale.status, stale.body.code], [409, "VERSION_MISMATCH"])
    assert.deepStrictEqual((await ask("GET", `/${body.data.id}`)).body.data, changed.body.data)

    const ids = async (query: string) => (await ask("GET", query)).body.data.map((one: { id: string }) => one.id)
    assert.include(await ids("?status=paused"), body.data.id)
    assert.notInclude(await ids("?status=active"), body.data.id)
    assert.deepStrictEqual(await ids(`?integration=${body.data.integration}`), [body.data.id])
    assert.deepStrictEqual(await ids("?customer_id=cus_00000000000000000000000000"), [])
  })

  it("is one for a customer and an integration, until it is uninstalled; its record stays", async () => {
    const integration = slug()
    const first = (await create({ integration })).body.data
    const second = await create({ integration })
    assert.deepStrictEqual([second.status, second.body.code], [409, "CONFLICT"])
    const removed = await ask("DELETE", `/${first.id}`)
    assert.strictEqual(removed.status, 204)
    assert.strictEqual((await ask("DELETE", `/${first.id}`)).status, 404)
    assert.strictEqual((await ask("GET", `/${first.id}`)).body.data.status, "uninstalled")
    assert.strictEqual((await ask("PUT", `/${first.id}`, { config: {} })).body.code, "INVALID_STATE")
    assert.strictEqual((await create({ integration })).status, 201)
    assert.lengthOf((await ask("GET", `?integration=${integration}`)).body.data, 1)
    assert.lengthOf((await ask("GET", `?integration=${integration}&status=uninstalled`)).body.data, 1)
  })

  it("is for a customer named by id or by external reference", async () => {
    const body = { name: "Known elsewhere", externalRef: "elsewhere-1" }
    const { id } = (await svc.ask("POST", "/api/v1/customers", { key: svc.first.key, body })).body.data
    const made = await create({ customerId: "ref:elsewhere-1" })
    assert.deepStrictEqual([made.status, made.body.data?.customerId], [201, id], made.text)
    for (const named of ["ref:elsewhere-1", id])
      assert.lengthOf((await ask("GET", `?customer_id=${named}`)).body.data, 1)
    const unknown = await create({ customerId: "ref:nobody" })
    assert.deepStrictEqual([unknown.status, unknown.body.details[0].path], [422, "customerId"])
  })

  it("accepts only connections of its customer to the named connector", async () => {
    const other = await customer("Somebody else")
    const [own, theirs] = [await connect("acme", "own"), await connect("acme", "theirs", other.id)]
    const refused = async (connections: object) => {
      const { body, status } = await create({ connections })
      return [status, body.details?.[0]?.path, body.details?.[0]?.code]
    }
    assert.deepStrictEqual(await refused({ acme: theirs.id }), [422, "connections.acme", "NOT_FOUND"])
    assert.deepStrictEqual(await refused({ acme: "conn_00000000000000000000000000" }), [
      422,
      "connections.acme",
      "NOT_FOUND"
    ])
    assert.deepStrictEqual(await refused({ "beta-crm": own.id }), [422, "connections.beta-crm", "INVALID"])
    assert.strictEqual((await create({ connections: { acme: own.id } })).status, 201)
  })

  it("accepts only existing customers and workflows", async () => {
    const foreign = await svc.organisation("Foreign")
    const nobody = await create({ customerId: foreign.customerId })
    assert.deepStrictEqual([nobody.status, nobody.body.details[0].path], [422, "customerId"])
    const nothing = await create({ workflowIds: [svc.first.workflowId, foreign.workflowId] })
    assert.deepStrictEqual([nothing.status, nothing.body.details[0].path], [422, "workflowIds[1]"])
  })

  it("keeps its values valid by its schema when either changes", async () => {
    const configSchema = { type: "object", properties: { days: { type: "integer" } }, required: ["days"] }
    const broken = await create({ configSchema, config: { days: "three" } })
    assert.deepStrictEqual([broken.status, broken.body.details[0].path], [422, "config.days"])
    const senseless = await create({ configSchema: { type: "no such type" } })
    assert.deepStrictEqual([senseless.status, senseless.body.details[0].path.split(".")[0]], [422, "configSchema"])
    const { id } = (await create({ configSchema, config: { days: 3 } })).body.data
    assert.strictEqual((await ask("PUT", `/${id}`, { config: {} })).status, 422)
    assert.strictEqual(
      (await ask("PUT", `/${id}`, { configSchema: { ...configSchema, required: ["weeks"] } })).status,
      422
    )
    assert.strictEqual((await ask("PUT", `/${id}`, { config: { days: 4 } })).body.data.config.days, 4)
  })

  it("needs a connection while one that its workflows call is missing or not active", async () => {
    const calls = await workflow("await svc.connector.acme.get({ id: 1 }); await svc.connector.betaCrm.get({ id: 1 })")
    const acme = await connect("acme", "one")
    const beta = await connect("beta-crm", "two")
    const made = await create({ workflowIds: [calls], connections: { acme: acme.id } })
    assert.strictEqual(made.body.data.status, "needs_connection", made.text)
    const { id, integration } = made.body.data
    const status = async () => (await ask("GET", `/${id}`)).body.data.status
    const both = { acme: acme.id, "beta-crm": beta.id }
    assert.strictEqual((await ask("PUT", `/${id}`, { connections: both })).body.data.status, "active")

    const order = (change: "disable" | "enable") =>
      svc.run(
        Effect.flatMap(Connections, (connections) =>
          connections[change]({
            organisationId: svc.first.organisationId as OrganisationId,
            connectionId: beta.id as ConnectionId,
            by: {
              actor: { type: "system", id: "test", name: "test", ip: null, userAgent: null, onBehalfOf: null },
              requestId: null
            }
          })
        )
      )
    await order("disable")
    assert.strictEqual(await status(), "needs_connection")
    const needing = await ask("GET", `?status=needs_connection&integration=${integration}`)
    assert.deepStrictEqual(
      needing.body.data.map((one: { id: string }) => one.id),
      [id]
    )
    assert.deepStrictEqual((await ask("GET", `?status=active&integration=${integration}`)).body.data, [])
    // A status that is not stored is filtered before pages are made.
    for (const name of ["Second", "Third"]) {
      const customer = await svc.ask("POST", "/api/v1/customers", { key: svc.first.key, body: { name } })
      assert.strictEqual((await create({ integration, customerId: customer.body.data.id })).status, 201)
    }
    const firstPage = await ask("GET", `?status=needs_connection&page_size=1&integration=${integration}`)
    assert.deepStrictEqual(
      firstPage.body.data.map((one: { id: string }) => one.id),
      [id]
    )
    await order("enable")
    assert.strictEqual(await status(), "active")
  })

  it("of a customer that the key does not reach is unknown", async () => {
    const other = await customer("Out of reach")
    const { id } = (await create({ customerId: other.id })).body.data
    const narrow = await svc.ask("POST", "/api/v1/api-keys", {
      key: svc.first.key,
      body: {
        name: "narrow",
        mode: "live",
        preset: "full_access",
        customers: { mode: "subset", ids: [svc.first.customerId] }
      }
    })
    const key = narrow.body.data.key
    assert.strictEqual((await svc.ask("GET", `${at}/${id}`, { key })).status, 404)
    const listed = await svc.ask("GET", `${at}?customer_id=${other.id}`, { key })
    assert.deepStrictEqual(listed.body.data, [])
    const body = { customerId: other.id, integration: slug() }
    assert.strictEqual((await svc.ask("POST", at, { key, body })).status, 422)
  })

  it("is in the audit trail with what changed", async () => {
    const { id } = (await create({ config: { a: 1 } })).body.data
    await ask("PUT", `/${id}`, { config: { a: 2 } })
    await ask("DELETE", `/${id}`)
    const entries = (await svc.ask("GET", `/api/v1/audit?resource_id=${id}`, { key: svc.first.key })).body.data
    const actions = entries.map((one: { action: string }) => one.action)
    assert.includeMembers(actions, ["installation.create", "installation.update", "installation.delete"])
    const update = entries.find((one: { action: string }) => one.action === "installation.update")
    assert.deepStrictEqual(update.changes, [{ path: "config", before: { a: 1 }, after: { a: 2 } }])
  })
})

describe("outbound events of an installation", () => {
  const told = (id: string) =>
    svc.run(
      Effect.flatMap(
        WriterSql,
        (sql) => sql<{ type: string; customerId: string; payload: { status: string } }>`
          SELECT type, customer_id AS "customerId", payload FROM kept_domain_events WHERE subject = ${id} ORDER BY id`
      )
    )

  it("are written with each committed change, and with no other", async () => {
    const { id } = (await create({ config: { secret: "canary_config" } })).body.data
    await ask("PUT", `/${id}`, { status: "paused" }, { "if-match": '"1"' })
    assert.strictEqual((await ask("PUT", `/${id}`, { status: "active" }, { "if-match": '"1"' })).status, 409)
    await ask("DELETE", `/${id}`)
    const rows = await told(id)
    assert.deepStrictEqual(
      rows.map(({ customerId, payload, type }) => [type, customerId, payload.status]),
      [
        ["installation.created", svc.first.customerId, "active"],
        ["installation.updated", svc.first.customerId, "paused"],
        ["installation.removed", svc.first.customerId, "uninstalled"]
      ]
    )
    assert.notInclude(JSON.stringify(rows), "canary")
  })
})

describe("a plan's active integrations", () => {
  it("are never exceeded by concurrent creation or activation; paused and uninstalled ones do not count", async () => {
    const { customerId, key } = await svc.organisation("Small", "starter")
    const install = (status = "active") =>
      svc.ask("POST", at, { key, body: { customerId, integration: slug(), status } })
    const paused = (await install("paused")).body.data.id
    const answers = await Promise.all(Array.from({ length: 9 }, () => install()))
    const made = answers.filter(({ status }) => status === 201)
    const refused = answers.filter(({ status }) => status !== 201)
    assert.lengthOf(made, 5)
    for (const { body, status } of refused) {
      assert.deepStrictEqual([status, body.code], [403, "PLAN_LIMIT_REACHED"])
      assert.deepStrictEqual(body.quota, { dimension: "active_integrations", limit: 5, used: 5, resetAt: null })
    }
    const activate = () => svc.ask("PUT", `${at}/${paused}`, { key, body: { status: "active" } })
    assert.strictEqual((await activate()).status, 403)
    const [first] = made
    const changed = await svc.ask("PUT", `${at}/${first?.body.data.id}`, { key, body: { config: { a: 1 } } })
    assert.strictEqual(changed.status, 200)
    assert.strictEqual((await svc.ask("DELETE", `${at}/${first?.body.data.id}`, { key })).status, 204)
    assert.strictEqual((await activate()).status, 200)
    assert.strictEqual((await install()).status, 403)
  })
})
