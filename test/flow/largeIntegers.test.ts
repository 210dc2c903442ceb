/** A webhook's integers beyond 2^53 arrive as they were sent, or the event says which were rounded. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { startSharedCalls, stopCalls, svc, workflow } from "../support/calls.js"
import { eventually } from "../support/eventually.js"

/** The id of Shopify's example order. */
const id = "820982911946154508"
const rounded = 820982911946154500
const raw = `{"id":${id},"lines":[{"id":${id}}],"small":7}`
let echo: string
let strict: string

const ask = async (method: string, path: string, body?: unknown) =>
  svc.ask(method, `/api/v1${path}`, { key: svc.first.key, ...(body === undefined ? {} : { body }) })
const trigger = async (workflows: ReadonlyArray<string>, webhook: object = {}) => {
  const routes = workflows.map((workflowId) => ({ workflowId }))
  const made = await ask("POST", "/triggers", {
    type: "webhook",
    name: "ids",
    routes,
    webhook: { auth: "public", ...webhook }
  })
  assert.strictEqual(made.status, 201, made.text)
  const { webhook: view } = made.body.data
  return { id: made.body.data.id, path: new URL(view.url).pathname, view }
}
const send = (path: string, text: string) =>
  svc.ask("POST", path, { raw: text, headers: { "content-type": "application/json" } })
const settled = (eventId: string) =>
  eventually(
    async () => (await ask("GET", `/events/${eventId}`)).body?.data,
    (event) => event?.status === "delivered"
  )
/** The event of a delivery, with the input of its run. */
const received = async (path: string, text = raw) => {
  const sent = await send(path, text)
  assert.strictEqual(sent.status, 202, sent.text)
  const event = await settled(sent.body.eventId)
  const run = await eventually(
    async () => (await ask("GET", `/executions/${event.deliveries[0].executionId}`)).body?.data,
    (found) => found?.status === "completed"
  )
  return { event, output: run.output }
}

beforeAll(async () => {
  await startSharedCalls()
  echo = await workflow("return ctx.input")
  const made = await ask("POST", "/workflows", {
    name: "strict",
    form: "code",
    code: "export default async (ctx) => ctx.input",
    tier: "instant",
    inputContract: { type: "object", properties: { id: { type: "string" } }, required: ["id"] }
  })
  assert.strictEqual(made.status, 201, made.text)
  strict = made.body.data.id
  assert.strictEqual((await ask("POST", `/workflows/${strict}/publish`, {})).status, 200)
})
afterAll(() => stopCalls())

describe("an integer beyond 2^53 in a webhook", () => {
  it("is rounded by default, and the event says where", async () => {
    const { path, view } = await trigger([echo])
    assert.strictEqual(view.bigIntegers, "number")
    const { event, output } = await received(path)
    assert.deepStrictEqual([event.payload.id, output.id], [rounded, rounded])
    assert.deepStrictEqual(
      event.warnings.map((one: { path: string; code: string }) => [one.path, one.code]),
      [
        ["id", "INTEGER_ROUNDED"],
        ["lines[0].id", "INTEGER_ROUNDED"]
      ]
    )
    const many = await received(path, `[${Array.from({ length: 30 }, () => id).join(",")}]`)
    assert.lengthOf(many.event.warnings, 21)
    assert.deepStrictEqual((await received(path, `{"n":1}`)).event.warnings, [])
  })

  it("arrives as text where a workflow's contract says string, in every reading and replay", async () => {
    const { path } = await trigger([strict])
    const { event, output } = await received(path)
    assert.deepStrictEqual([event.payload.id, output.id, event.payload.lines[0].id], [id, id, rounded])
    assert.deepStrictEqual(
      event.warnings.map((one: { path: string }) => one.path),
      ["lines[0].id"]
    )
    const replay = await ask("POST", `/events/${event.id}/replay`)
    assert.strictEqual(replay.status, 202, replay.text)
    const again = await settled(replay.body.data.eventId)
    assert.deepStrictEqual([again.payload, again.warnings], [event.payload, event.warnings])
  })

  it("arrives as text everywhere if the webhook says so, also in filters", async () => {
    const { id: trg, path, view } = await trigger([echo], { bigIntegers: "text" })
    assert.strictEqual(view.bigIntegers, "text")
    const filter = { path: "id", op: "eq", value: id }
    const changed = await ask("PUT", `/triggers/${trg}`, { routes: [{ workflowId: echo, filter }] })
    assert.deepStrictEqual([changed.status, changed.body.data.webhook.bigIntegers], [200, "text"])
    const { event, output } = await eventually(
      () => received(path),
      ({ event: found }) => found.deliveries.length === 1
    )
    assert.deepStrictEqual(
      [event.payload, output],
      [
        { id, lines: [{ id }], small: 7 },
        { id, lines: [{ id }], small: 7 }
      ]
    )
    assert.deepStrictEqual(event.warnings, [])
  })

  it("distinguishes deliveries whose ids would be rounded to the same number", async () => {
    const { path } = await trigger([echo], { deduplicationKey: "id" })
    const answers = [id, "820982911946154509", id].map((one) => send(path, `{"id":${one}}`))
    const statuses = []
    for (const answer of answers) statuses.push((await answer).body.status)
    assert.deepStrictEqual(statuses.toSorted(), ["accepted", "accepted", "duplicate"])
  })
})
