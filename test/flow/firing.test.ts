/** Firing a trigger by hand: an event of its own, for every type, once for its key, and only for who reaches the trigger. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { connect, execution, publishConnector, startSharedCalls, stopCalls, svc, workflow } from "../support/calls.js"
import { eventually } from "../support/eventually.js"

let flow: string
const ask = (method: string, path: string, body?: unknown, key: string = svc.first.key, headers = {}) =>
  svc.ask(method, `/api/v1${path}`, { key, headers, ...(body === undefined ? {} : { body }) })
const make = async (body: object): Promise<string> => {
  const made = await ask("POST", "/triggers", { name: "fired", routes: [{ workflowId: flow }], ...body })
  assert.strictEqual(made.status, 201, made.text)
  return made.body.data.id
}
const fire = (id: string, body: object = {}, headers: object = {}) =>
  ask("POST", `/triggers/${id}/fire`, body, svc.first.key, headers)
/** The outputs of the runs of an event. */
const outputsOf = async (eventId: string) => {
  const event = await eventually(
    async () => (await ask("GET", `/events/${eventId}`)).body.data,
    ({ status }) => status === "delivered"
  )
  return Promise.all(
    event.deliveries.map(async ({ executionId }: { executionId: string }) => {
      const run = await eventually(
        () => execution(executionId),
        ({ status }) => status === "completed"
      )
      return { trigger: run.triggeredBy?.type ?? run.trigger?.type, output: run.output }
    })
  )
}

beforeAll(async () => {
  await startSharedCalls()
  flow = await workflow("return ctx.input")
  await publishConnector("crm", "1.0.0", {
    events: [{ id: "deal", delivery: "poll", poll: { action: "list", key: "$.id" } }]
  })
  await connect("crm", "k")
})
afterAll(() => stopCalls())

describe("A trigger that is fired", () => {
  it("starts its routes, whatever its type, with the payload of the request", async () => {
    const triggers = [
      { type: "manual" },
      { type: "webhook" },
      { type: "event", event: { type: "order.created" } },
      { type: "schedule", schedule: { mode: "cron", cron: "0 0 1 1 *" } },
      { type: "app_event", appEvent: { connector: "crm", event: "deal" } }
    ]
    for (const body of triggers) {
      const id = await make(body)
      const fired = await fire(id, { payload: { of: body.type } })
      assert.deepStrictEqual([fired.status, fired.body.data.status], [202, "accepted"], fired.text)
      const event = (await ask("GET", `/events/${fired.body.data.eventId}`)).body.data
      assert.deepInclude(event, { source: "manual", priority: 1, triggerId: id, type: `manual.${id}` })
      const outputs = await outputsOf(fired.body.data.eventId)
      assert.deepStrictEqual(
        outputs.map((one) => (one as { output: unknown }).output),
        [{ of: body.type }]
      )
      const { stats } = await eventually(
        async () => (await ask("GET", `/triggers/${id}`)).body.data,
        (trigger) => trigger.stats.lastFiredAt !== null
      )
      assert.approximately(Date.parse(stats.lastFiredAt), Date.now(), 30_000)
    }
  })

  it("has the payload of its routes if it is a schedule, and an empty one else", async () => {
    const scheduled = await make({
      type: "schedule",
      schedule: { mode: "cron", cron: "0 0 1 1 *" },
      routes: [{ workflowId: flow, payload: { report: "daily" } }]
    })
    const [daily] = await outputsOf((await fire(scheduled)).body.data.eventId)
    assert.deepStrictEqual((daily as { output: unknown }).output, { report: "daily" })
    const [empty] = await outputsOf((await fire(await make({ type: "manual" }))).body.data.eventId)
    assert.deepStrictEqual((empty as { output: unknown }).output, {})
  })

  it("is ignored if no filter matches, refused while it is disabled, and unknown to other workspaces and scopes", async () => {
    const id = await make({ type: "manual", routes: [{ workflowId: flow, filter: { path: "n", op: "gt", value: 1 } }] })
    assert.strictEqual((await fire(id, { payload: { n: 1 } })).body.data.status, "ignored")
    await ask("POST", `/triggers/${id}/disable`)
    const disabled = await fire(id)
    assert.deepStrictEqual([disabled.status, disabled.body.code], [409, "INVALID_STATE"])
    const other = await svc.organisation("Stranger")
    assert.strictEqual((await ask("POST", `/triggers/${id}/fire`, {}, other.key)).status, 404)
    assert.strictEqual((await fire("trg_unknown")).status, 404)
    assert.strictEqual((await fire(id, { payloads: 1 })).status, 422)
  })

  it("fires once for an Idempotency-Key", async () => {
    const id = await make({ type: "manual" })
    const headers = { "idempotency-key": "fire-1" }
    const [one, two] = [await fire(id, {}, headers), await fire(id, {}, headers)]
    assert.deepStrictEqual([one.status, two.status, two.body.data.eventId], [202, 202, one.body.data.eventId])
    const { body } = await ask("GET", `/events?trigger_id=${id}`)
    assert.lengthOf(body.data, 1)
  })

  it("of a customer fires for it; one of all customers fires for the customer that the request names", async () => {
    const customerId = svc.first.customerId
    const own = await fire(await make({ type: "manual", customerId }))
    assert.strictEqual((await ask("GET", `/events/${own.body.data.eventId}`)).body.data.customerId, customerId)
    const shared = await make({ type: "manual" })
    const named = await fire(shared, {}, { "x-end-org-id": customerId })
    assert.strictEqual((await ask("GET", `/events/${named.body.data.eventId}`)).body.data.customerId, customerId)
    const key = await ask("POST", "/api-keys", {
      name: "some",
      mode: "live",
      preset: "full_access",
      customers: { mode: "subset", ids: [customerId] }
    })
    assert.strictEqual((await ask("POST", `/triggers/${shared}/fire`, {}, key.body.data.key)).status, 403)
  })
})
