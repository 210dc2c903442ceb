/** A run that names an installation uses its connections and values, if the key may use it. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { ConnectionId, CustomerId } from "../../src/domain/Ids.js"
import { installationOfEvent } from "../../src/domain/organisation/Installation.js"
import { eventually } from "../support/eventually.js"
import {
  requestsTo,
  connect,
  execution,
  publishConnector,
  startSharedCalls,
  stopCalls,
  svc,
  workflow
} from "../support/calls.js"

beforeAll(async () => {
  await startSharedCalls()
  await publishConnector("acme")
})
afterAll(() => stopCalls())

let names = 0
const slug = () => `integration-${(names += 1)}`

const install = async (body: object = {}, customerId: string = svc.first.customerId) => {
  const made = await svc.ask("POST", "/api/v1/installations", {
    key: svc.first.key,
    body: { customerId, integration: slug(), ...body }
  })
  assert.strictEqual(made.status, 201, made.text)
  return made.body.data as { readonly id: string; readonly integration: string }
}

const run = (
  id: string,
  installation: string,
  headers: { readonly [name: string]: string } = {},
  key = svc.first.key
) =>
  svc.ask("POST", `/api/v1/workflows/${id}/execute`, {
    key,
    body: { input: {} },
    headers: { "x-end-org-id": svc.first.customerId, "x-installation-id": installation, ...headers }
  })

describe("A run that names an installation", () => {
  it("has its id and values, in the run and in the execution record", async () => {
    const { id } = await install({ config: { greeting: "hello" } })
    const answer = await run(await workflow("return ctx.installation"), id)
    assert.deepStrictEqual([answer.status, answer.body], [200, { id, config: { greeting: "hello" } }], answer.text)
    const executionId = answer.headers["x-svc-execution-id"]
    const recorded = async () => (await execution(executionId))?.installationId
    assert.strictEqual(await eventually(recorded, Boolean), id)
    const again = await svc.ask("POST", `/api/v1/executions/${executionId}/rerun`, { key: svc.first.key, body: {} })
    assert.strictEqual(again.body.data.installationId, id, again.text)
  })

  it("has the values of the request, if the request has any", async () => {
    const { id } = await install({ config: { greeting: "hello" } })
    const echo = await workflow("return ctx.installation")
    const config = { "x-svc-installation-config": '{"greeting":"bye"}' }
    assert.deepStrictEqual((await run(echo, id, config)).body, { id, config: { greeting: "bye" } })
    assert.deepStrictEqual((await run(echo, "", config)).body, { id: null, config: { greeting: "bye" } })
    assert.isNull((await run(echo, "")).body)
  })

  it("uses the installation's connections and no others, unless the request names some", async () => {
    const [first, second] = [await connect("acme", "first"), await connect("acme", "second")]
    const [one, none] = [await install({ connections: { acme: second.id } }), await install()]
    const call = await workflow("return await svc.connector.acme.get({ id: 'used' })")
    const keyUsed = () => requestsTo("/acme/get/used").at(-1)?.headers["x-acme-key"]
    assert.strictEqual((await run(call, one.id)).status, 200)
    assert.strictEqual(keyUsed(), "second")
    await run(call, one.id, { "x-svc-connections": `acme=${first.id}` })
    assert.strictEqual(keyUsed(), "first")
    const before = requestsTo("/acme/get/used").length
    const refused = await run(call, none.id)
    assert.strictEqual(refused.body.error?.code, "CONNECTION_REQUIRED", refused.text)
    assert.strictEqual(requestsTo("/acme/get/used").length, before)
  })

  it("is refused while the installation is paused, and once it is uninstalled", async () => {
    const { id } = await install()
    const echo = await workflow("return 1")
    const state = async () => {
      const { body, status } = await run(echo, id)
      return [status, body.code]
    }
    const change = (method: string, body?: object) =>
      svc.ask(method, `/api/v1/installations/${id}`, { key: svc.first.key, ...(body === undefined ? {} : { body }) })
    const first = await run(echo, id)
    assert.strictEqual(first.status, 200, first.text)
    const executionId = first.headers["x-svc-execution-id"]
    const again = async () => {
      const target = `/api/v1/executions/${executionId}/rerun`
      const { body, status } = await svc.ask("POST", target, { key: svc.first.key, body: {} })
      return [status, body.code]
    }
    await change("PUT", { status: "paused" })
    assert.deepStrictEqual(await eventually(state, ([status]) => status === 409), [409, "INVALID_STATE"])
    assert.deepStrictEqual(await eventually(again, ([status]) => status === 409), [409, "INVALID_STATE"])
    await change("PUT", { status: "active" })
    await eventually(state, ([status]) => status === 200)
    await eventually(again, ([status]) => status === 202)
    await change("DELETE")
    assert.deepStrictEqual(await eventually(state, ([status]) => status === 409), [409, "INVALID_STATE"])
    assert.deepStrictEqual(await eventually(again, ([status]) => status === 409), [409, "INVALID_STATE"])
  })

  it("answers for another customer's installation as for one that does not exist", async () => {
    const other = (await svc.ask("POST", "/api/v1/customers", { key: svc.first.key, body: { name: "Other" } })).body
      .data
    const foreign = await svc.organisation("Foreign")
    const theirs = await svc.ask("POST", "/api/v1/installations", {
      key: foreign.key,
      body: { customerId: foreign.customerId, integration: slug() }
    })
    const echo = await workflow("return 1")
    const told = async (id: string, headers: { readonly [name: string]: string } = {}) => {
      const { body, status } = await run(echo, id, headers)
      return { status, code: body.code, message: body.message }
    }
    const unknown = await told("inst_00000000000000000000000000")
    assert.deepStrictEqual([unknown.status, unknown.code], [404, "NOT_FOUND"])
    assert.deepStrictEqual(await told((await install({}, other.id)).id), unknown)
    assert.deepStrictEqual(await told(theirs.body.data.id), unknown)
    assert.deepStrictEqual(await told((await install()).id, { "x-end-org-id": "" }), unknown)
  })

  it("does not give a key a connection that it may not reach", async () => {
    const [own, out] = [await connect("acme", "own"), await connect("acme", "out")]
    const { id } = await install({ connections: { acme: out.id } })
    const narrow = await svc.ask("POST", "/api/v1/api-keys", {
      key: svc.first.key,
      body: {
        name: "narrow",
        mode: "live",
        preset: "full_access",
        resourceScope: [{ type: "connection", ids: [own.id] }]
      }
    })
    const answer = await run(await workflow("return 1"), id, {}, narrow.body.data.key)
    assert.deepStrictEqual([answer.status, answer.body.code], [403, "RESOURCE_OUT_OF_SCOPE"], answer.text)
  })

  it("reads the configuration of its integration, which overrides the customer's and is overridden by the workflow's", async () => {
    const { id, integration } = await install()
    const reading = await workflow('return await svc.envConfig.get("REGION", "nothing")')
    const set = async (level: string, scopeId: string, value: string | null) => {
      const body = { level, scopeId, key: "env.REGION", value }
      const answer = await svc.ask("PUT", "/api/v1/config", { key: svc.first.key, body })
      assert.strictEqual(answer.status, 200, answer.text)
    }
    const value = async (installation: string) => (await run(reading, installation)).body
    await set("integration", integration, "of the integration")
    await set("tenant", svc.first.customerId, "of the customer")
    assert.strictEqual(await value(id), "of the integration")
    assert.strictEqual(await value((await install()).id), "of the customer")
    assert.strictEqual(await value(""), "of the customer")
    await set("flow", reading, "of the workflow")
    assert.strictEqual(await value(id), "of the workflow")
    await set("tenant", svc.first.customerId, null)
  })

  it("lets the proxy use its connection to the connector that the request names", async () => {
    const own = await connect("acme", "proxied")
    const { id } = await install({ connections: { acme: own.id } })
    const through = (connector: string) =>
      svc.ask("GET", "/api/v1/proxy/things", {
        key: svc.first.key,
        headers: {
          "x-end-org-id": svc.first.customerId,
          "x-installation-id": id,
          "x-svc-connector": connector
        }
      })
    const answer = await through("acme")
    assert.deepStrictEqual([answer.status, requestsTo("/things").at(-1)?.headers["x-acme-key"]], [200, "proxied"])
    assert.strictEqual((await through("beta")).body.code, "CONNECTION_REQUIRED")
  })
})

describe("A run that an event starts for a customer", () => {
  const key = () => svc.first.key
  /** A workflow that makes a call and tells its installation, and a trigger of it for a new customer. */
  const place = async () => {
    const made = await svc.ask("POST", "/api/v1/customers", { key: key(), body: { name: slug() } })
    const customerId = made.body.data.id as CustomerId
    const workflowId = await workflow("await svc.connector.acme.get({ id: ctx.input.id }); return ctx.installation")
    const body = { type: "manual", name: slug(), customerId, delivery: { maxAttempts: 1 }, routes: [{ workflowId }] }
    const trigger = await svc.ask("POST", "/api/v1/triggers", { key: key(), body })
    assert.strictEqual(trigger.status, 201, trigger.text)
    return { customerId, workflowIds: [workflowId], trigger: trigger.body.data.id }
  }
  /** The event after it was settled. */
  const fire = async (trigger: string, id = "fired") => {
    const fired = await svc.ask("POST", `/api/v1/triggers/${trigger}/fire`, { key: key(), body: { payload: { id } } })
    assert.strictEqual(fired.status, 202, fired.text)
    return eventually(
      async () => (await svc.ask("GET", `/api/v1/events/${fired.body.data.eventId}`, { key: key() })).body.data,
      ({ status }) => status !== "received"
    )
  }
  const runOf = async (trigger: string, id?: string) => {
    const event = await fire(trigger, id)
    assert.strictEqual(event.status, "delivered", JSON.stringify(event))
    return eventually(
      () => execution(event.deliveries[0].executionId),
      ({ status }) => status === "completed" || status === "failed"
    )
  }
  const refusal = async (trigger: string) => {
    assert.strictEqual((await fire(trigger)).status, "dead")
    return (await svc.ask("GET", `/api/v1/dlq?trigger_id=${trigger}`, { key: key() })).body.data[0].error.code
  }

  it("has the connections and values of the customer's installation that lists the workflow", async () => {
    const { customerId, trigger, workflowIds } = await place()
    const [own] = [await connect("acme", "installed", customerId), await connect("acme", "other", customerId)]
    await install({ workflowIds: [] }, customerId)
    const { id } = await install({ workflowIds, connections: { acme: own.id }, config: { since: "May" } }, customerId)
    const run = await runOf(trigger, "of-event")
    assert.deepInclude(run, { status: "completed", installationId: id, output: { id, config: { since: "May" } } })
    assert.strictEqual(requestsTo("/acme/get/of-event").at(-1)?.headers["x-acme-key"], "installed")
    const other = await place()
    await connect("acme", "k", other.customerId)
    assert.deepInclude(await runOf(other.trigger), { status: "completed", installationId: null, output: null })
  })

  it("is refused if several installations may be meant, or the one is paused: a dead letter says so", async () => {
    const { customerId, trigger, workflowIds } = await place()
    const { id: connection } = await connect("acme", "k", customerId)
    const { id: first } = await install({ workflowIds, connections: { acme: connection } }, customerId)
    const { id: second } = await install({ workflowIds }, customerId)
    assert.strictEqual(await refusal(trigger), "AMBIGUOUS_INSTALLATION")
    const change = async (id: string, status: string) => {
      const changed = await svc.ask("PUT", `/api/v1/installations/${id}`, { key: key(), body: { status } })
      assert.strictEqual(changed.status, 200, changed.text)
    }
    await change(second, "paused")
    assert.strictEqual((await runOf(trigger)).installationId, first)
    await change(first, "paused")
    assert.strictEqual(await refusal(trigger), "INSTALLATION_PAUSED")
  })
})

describe("Of the installations that list a workflow an event gets", () => {
  const [mine, other] = ["conn_mine", "conn_other"].map((id) => id as ConnectionId)
  const installed = (connection: ConnectionId | undefined, status: "active" | "paused" = "active") => ({
    connections: connection === undefined ? {} : { acme: connection },
    status
  })
  const [paused, active] = [installed(mine, "paused"), installed(other)]
  const ambiguous = "AMBIGUOUS_INSTALLATION"
  it.each([
    ["none of none", [], mine, null],
    ["the one that has its connection", [active, installed(mine), active], mine, installed(mine)],
    ["the active one that has its connection", [paused, installed(mine), active], mine, installed(mine)],
    ["none if two have its connection", [installed(mine), installed(mine)], mine, ambiguous],
    ["none if the one that has its connection is paused", [paused, active], mine, "INSTALLATION_PAUSED"],
    ["the only active one if none has its connection", [installed(other, "paused"), active], mine, active],
    ["the only active one if it has no connection", [paused, active], null, active],
    ["none if several are active", [active, installed(undefined)], null, ambiguous]
  ] as const)("%s", (_, installations, connection, wanted) => {
    const found = installationOfEvent(installations, connection ?? null)
    assert.deepStrictEqual(found !== null && "code" in found ? found.code : found, wanted)
  })
})
