/** Endpoints are told of what they are subscribed to: ends of runs and changes of records, once each. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { runMaintenance } from "../../src/runtime/postgres/database/Maintenance.js"
import { eventually } from "../support/eventually.js"
import { type Running, start } from "../support/InProcess.js"
import { type Receiver, startReceiver } from "../support/receiver.js"

let svc: Running
let receiver: Receiver
beforeAll(async () => {
  receiver = await startReceiver()
  svc = await start({ SVC_EGRESS_ALLOW: "127.0.0.1/32" })
})
afterAll(async () => {
  await svc.stop()
  await receiver.close()
})

const ask = async (method: string, target: string, body?: object, key = svc.first.key) => {
  const answer = await svc.ask(method, `/api/v1${target}`, { key, ...(body === undefined ? {} : { body }) })
  assert.isBelow(answer.status, 300, `${method} ${target}: ${answer.text}`)
  return answer
}
const sql = <A extends object>(statement: string) => svc.sql<A>(statement)

let names = 0
const unique = () => `n${(names += 1)}`

/** Subscribes an endpoint at this path. */
const subscribe = async (path: string, events: ReadonlyArray<string>, key = svc.first.key): Promise<string> =>
  (await ask("POST", "/webhook-endpoints", { url: `${receiver.url}${path}`, events }, key)).body.data.id

interface Message {
  readonly type: string
  readonly timestamp: string
  readonly data: { readonly [member: string]: unknown }
}

const messagesAt = (path: string): ReadonlyArray<Message> => receiver.at(path).map(({ body }) => JSON.parse(body))
const received = (path: string, count: number) =>
  eventually(
    async () => messagesAt(path),
    (found) => found.length >= count
  )

const publish = async (code: string, tier = "instant"): Promise<string> => {
  const { body } = await ask("POST", "/workflows", { name: unique(), form: "code", tier, code })
  await ask("POST", `/workflows/${body.data.id}/publish`, {})
  return body.data.id
}
const execute = (workflow: string, body: object = {}) =>
  svc.ask("POST", `/api/v1/workflows/${workflow}/execute`, { key: svc.first.key, body })

const install = () =>
  ask("POST", "/installations", { customerId: svc.first.customerId, integration: unique() }).then(
    ({ body }) => body.data.id as string
  )

/** Waits until the outbox is empty. */
const published = () =>
  eventually(
    () => sql("SELECT id FROM domain_events"),
    (rows) => rows.length === 0
  )

const attempted = (endpoint: string, count: number) =>
  eventually(
    () => ask("GET", `/webhook-endpoints/${endpoint}/attempts`),
    ({ body }) => body.data.length >= count
  )

describe("An endpoint", () => {
  it("is told of the end of each run, with the body of a callback", async () => {
    await subscribe("/runs", ["execution.*"])
    await subscribe("/failures", ["execution.failed"])
    await subscribe("/others", ["connection.*"])
    const good = await publish("export default async (ctx) => ({ got: ctx.input.value })")
    const bad = await publish("export default async () => { throw new RangeError('no such order') }")
    const answer = await execute(good, {
      input: { value: 1 },
      metadata: { order: 7 },
      callback: { url: `${receiver.url}/callback` }
    })
    await execute(bad)
    const messages = await received("/runs", 2)
    assert.sameMembers(
      messages.map(({ type }) => type),
      ["execution.completed", "execution.failed"]
    )
    const completed = messages.find(({ type }) => type === "execution.completed")
    assert.deepInclude(completed?.data, {
      executionId: answer.headers["x-svc-execution-id"],
      status: "completed",
      output: { got: 1 },
      metadata: { order: 7 }
    })
    assert.isDefined(completed)
    assert.deepStrictEqual(await received("/callback", 1), [completed])
    assert.deepStrictEqual(
      (await received("/failures", 1)).map(({ data }) => data["error"]),
      [{ name: "RangeError", message: "no such order", category: "code", step: null }]
    )
    assert.deepStrictEqual(messagesAt("/others"), [])
  })

  it("is told of a run that is cancelled", async () => {
    await subscribe("/cancelled", ["execution.cancelled"])
    const long = await publish(
      "export default async () => new Promise((done) => setTimeout(done, 600_000))",
      "standard"
    )
    const started = await execute(long)
    await ask("POST", `/executions/${started.body.executionId}/cancel`)
    const [message] = await received("/cancelled", 1)
    assert.deepInclude(message?.data, { executionId: started.body.executionId, status: "cancelled", output: null })
  })

  it("is told of changes of records, in its own organisation only", async () => {
    const other = await svc.organisation("Elsewhere")
    await subscribe("/records", ["installation.*"])
    await subscribe("/elsewhere", ["*"], other.key)
    const id = await install()
    await ask("PUT", `/installations/${id}`, { config: { a: 1 } })
    await ask("DELETE", `/installations/${id}`)
    const messages = await received("/records", 3)
    assert.deepStrictEqual(
      messages.map(({ data, type }) => [type, data["installationId"], data["customerId"], data["status"]]).sort(),
      [
        ["installation.created", id, svc.first.customerId, "active"],
        ["installation.removed", id, svc.first.customerId, "uninstalled"],
        ["installation.updated", id, svc.first.customerId, "active"]
      ]
    )
    for (const { timestamp } of messages) assert.match(timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    await published()
    assert.deepStrictEqual(messagesAt("/elsewhere"), [])
  })

  it("that is subscribed or changed counts for the next event", async () => {
    const id = await subscribe("/changes", ["connection.*"])
    await install()
    await published()
    await ask("PUT", `/webhook-endpoints/${id}`, { events: ["installation.created"] })
    const second = await install()
    const messages = await received("/changes", 1)
    assert.deepStrictEqual(
      messages.map(({ data }) => data["installationId"]),
      [second]
    )
  })

  it("that is disabled is sent later what it missed", async () => {
    const id = await subscribe("/missed", ["installation.created"])
    await ask("PUT", `/webhook-endpoints/${id}`, { status: "disabled" })
    const installation = await install()
    const [skipped] = (
      await eventually(
        () => ask("GET", `/webhook-endpoints/${id}/attempts`),
        ({ body }) => body.data.length > 0
      )
    ).body.data
    assert.deepInclude(skipped, { outcome: "skipped", eventType: "installation.created", status: null })
    assert.deepStrictEqual(messagesAt("/missed"), [])
    await ask("PUT", `/webhook-endpoints/${id}`, { status: "active" })
    await ask("POST", `/webhook-endpoints/${id}/attempts/${skipped.id}/resend`)
    const [message] = await received("/missed", 1)
    assert.strictEqual(message?.data["installationId"], installation)
  })

  it("that was disabled is sent all that it missed at a rate that is stored with each delivery", async () => {
    const id = await subscribe("/many", ["installation.created"])
    await ask("PUT", `/webhook-endpoints/${id}`, { status: "disabled" })
    const missed = [await install(), await install(), await install()]
    await eventually(
      () => ask("GET", `/webhook-endpoints/${id}/attempts?outcome=skipped`),
      ({ body }) => body.data.length === missed.length
    )
    const resend = (body: object) => ask("POST", `/webhook-endpoints/${id}/resend`, body)
    const refused = await svc.ask("POST", `/api/v1/webhook-endpoints/${id}/resend`, { key: svc.first.key, body: {} })
    assert.strictEqual(refused.status, 409)
    await ask("PUT", `/webhook-endpoints/${id}`, { status: "active" })
    const none = await resend({ to: "2026-01-01T00:00:00Z" })
    assert.deepStrictEqual([none.status, none.body.data], [202, { queued: 0, lastAt: null }])
    const queued = await resend({ outcome: "skipped", ratePerSecond: 2 })
    assert.strictEqual(queued.body.data.queued, missed.length)
    const due = await sql<{ pause: number }>(
      `SELECT extract(epoch FROM next_at - min(next_at) OVER ())::float8 AS pause FROM deliveries
       WHERE endpoint_id = '${id}' ORDER BY next_at`
    )
    assert.deepStrictEqual(
      due.map(({ pause }) => pause),
      [0, 0.5, 1]
    )
    const messages = await received("/many", missed.length)
    assert.deepStrictEqual(
      messages.map(({ data }) => data["installationId"]),
      missed
    )
    assert.strictEqual((await resend({})).body.data.queued, 0)
  })

  it("is told once of a key that expires within seven days", async () => {
    await subscribe("/keys", ["key.expiring"])
    const key = async (name: string, inDays: number) => {
      const { body } = await ask("POST", "/api-keys", { name, mode: "live", preset: "viewer", expires: "30d" })
      await sql(`UPDATE api_keys SET expires_at = now() + interval '${inDays} days' WHERE id = '${body.data.id}'`)
      return String(body.data.id)
    }
    const [soon] = [await key("soon", 6), await key("later", 8)]
    const maintain = () => svc.run(Effect.scoped(runMaintenance))
    await maintain()
    await maintain()
    const messages = await received("/keys", 1)
    assert.deepStrictEqual(
      messages.map(({ data }) => [data["apiKeyId"], data["name"]]),
      [[soon, "soon"]]
    )
    await sql(`UPDATE api_keys SET expires_at = now() + interval '5 days' WHERE id = '${soon}'`)
    await maintain()
    assert.strictEqual((await received("/keys", 2)).length, 2)
  })

  it("that fails until the end of the schedule leaves a dead letter, which is told of and can be sent again", async () => {
    const id = await subscribe("/dead", ["installation.created"])
    await subscribe("/letters", ["dlq.*"])
    receiver.answer("/dead", [500], [500])
    const installation = await install()
    await received("/dead", 1)
    await attempted(id, 1)
    await sql(`UPDATE deliveries SET attempts = 7, next_at = now() WHERE endpoint_id = '${id}'`)
    await attempted(id, 2)
    const [letter] = await sql<{ readonly [member: string]: string }>(
      `SELECT id, delivery_id AS delivery, status, type, context->>'attempts' AS attempts, payload->>'type' AS event,
         error->>'code' AS code FROM dead_letters WHERE type = 'outbound.exhausted'`
    )
    assert.deepInclude(letter, {
      status: "pending",
      type: "outbound.exhausted",
      attempts: "8",
      event: "installation.created",
      code: "DELIVERY_EXHAUSTED"
    })
    const [message] = await received("/letters", 1)
    assert.deepInclude(message?.data, { deadLetterId: letter?.["id"], deliveryId: letter?.["delivery"] })
    const [attempt] = (await ask("GET", `/webhook-endpoints/${id}/attempts`)).body.data
    await ask("POST", `/webhook-endpoints/${id}/attempts/${attempt.id}/resend`)
    const sent = await received("/dead", 3)
    assert.strictEqual(sent[2]?.data["installationId"], installation)
    await attempted(id, 3)
    assert.deepStrictEqual(await sql(`SELECT status FROM dead_letters WHERE id = '${letter?.["id"]}'`), [
      { status: "replayed" }
    ])
  })
})

describe("A trigger of the type event", () => {
  it("starts one run for each change of a record of its types", async () => {
    const workflow = await publish("export default async (ctx) => ctx.input")
    await ask("POST", "/triggers", {
      type: "event",
      name: unique(),
      event: { type: "installation.*" },
      routes: [{ workflowId: workflow, filter: { path: "status", op: "eq", value: "active" } }]
    })
    const id = await install()
    await ask("DELETE", `/installations/${id}`)
    await published()
    const runs = await eventually(
      () => ask("GET", `/executions?workflow_id=${workflow}`),
      ({ body }) => body.data.length > 0 && body.data.every(({ status }: { status: string }) => status === "completed")
    )
    assert.strictEqual(runs.body.data.length, 1)
    const run = await ask("GET", `/executions/${runs.body.data[0].id}`)
    assert.deepInclude(run.body.data.output, { installationId: id, status: "active" })
  })
})
