/** Integers beyond 2^53 arrive as they were sent, or the event or step says which were rounded; a request with one is refused. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import {
  connect,
  execution,
  publishConnector,
  requestsTo,
  run,
  scripts,
  startSharedCalls,
  stopCalls,
  svc,
  workflow
} from "../support/calls.js"
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
  const properties = { id: { type: "string" } }
  strict = await workflow("return ctx.input", "instant", {
    inputContract: { type: "object", properties, required: ["id"] }
  })
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

describe("an integer beyond 2^53 in a request", () => {
  const send = (method: string, path: string, text: string) =>
    svc.ask(method, `/api/v1${path}`, {
      key: svc.first.key,
      raw: text,
      headers: { "content-type": "application/json" }
    })

  it("starts a run as text where the contract says string, and else is refused with its path", async () => {
    const exact = await send("POST", `/workflows/${strict}/execute`, `{"input":{"id":${id}}}`)
    assert.deepStrictEqual([exact.status, exact.body], [200, { id }])
    for (const [workflowId, body, path] of [
      [echo, `{"input":{"lines":[{"id":${id}}]}}`, "input.lines[0].id"],
      [strict, `{"input":{"id":${id},"n":${id}}}`, "input.n"],
      [strict, `{"input":{"id":"1"},"metadata":{"n":${id}}}`, "metadata.n"]
    ] as const) {
      const refused = await send("POST", `/workflows/${workflowId}/execute`, body)
      assert.strictEqual(refused.status, 422, refused.text)
      assert.deepInclude(refused.body.details[0], { path, code: "INTEGER_ROUNDED" })
      assert.match(refused.body.message, /2\^53.*text/)
    }
  })

  it("is refused in literals of a flow, in filters and in files, and not in bounds of a schema", async () => {
    const spec = `{"steps":[{"name":"s","type":"action","mapping":{"id":${id}}}]}`
    const flow = await send("POST", "/workflows", `{"name":"literal","form":"steps","spec":${spec}}`)
    assert.deepInclude(flow.body.details[0], { path: "spec.steps[0].mapping.id", code: "INTEGER_ROUNDED" })
    const trigger = `{"type":"event","name":"t","event":{"type":"a.b"},"routes":[{"workflowId":"${echo}","filter":{"path":"id","op":"eq","value":${id}}}]}`
    const filtered = await send("POST", "/triggers", trigger)
    assert.deepInclude(filtered.body.details[0], { path: "routes[0].filter.value", code: "INTEGER_ROUNDED" })
    const source = `{"name":"file","steps":[{"name":"s","type":"action","mapping":{"id":${id}}}]}`
    const file = await ask("POST", "/workflows", { name: "file", import: { format: "flow.json", source } })
    assert.strictEqual(file.status, 422, file.text)
    assert.deepInclude(file.body.details[0], { code: "INTEGER_ROUNDED", path: "import.source.steps[0].mapping.id" })
    const bound = `{"inputContract":{"type":"object","properties":{"n":{"type":"integer","maximum":9223372036854775807}}}}`
    const bounded = await send(
      "POST",
      "/workflows",
      `{"name":"bounded","form":"code","code":"export default async () => 1",${bound.slice(1)}`
    )
    assert.strictEqual(bounded.status, 201, bounded.text)
  })

  it("is text in an injected event where the contract says string, and else warned of", async () => {
    for (const [workflowId, payload, warned] of [
      [strict, id, []],
      [echo, rounded, ["id"]]
    ] as const) {
      const type = `large.${workflowId.replace("_", "-")}`
      const made = await ask("POST", "/triggers", {
        type: "event",
        name: type,
        routes: [{ workflowId }],
        event: { type }
      })
      assert.strictEqual(made.status, 201, made.text)
      const sent = await send("POST", "/events", `{"type":"${type}","payload":{"id":${id}}}`)
      assert.strictEqual(sent.status, 202, sent.text)
      const event = await settled(sent.body.data.eventId)
      assert.deepStrictEqual(event.payload, { id: payload })
      const empty = await send("POST", "/events", `{"type":"${type}","deduplicationKey":"${id} ${type}"}`)
      const stored = await eventually(
        async () => (await ask("GET", `/events/${empty.body.data.eventId}`)).body?.data,
        (found) => found !== undefined
      )
      assert.deepStrictEqual(stored.payload, {})
      assert.deepStrictEqual(
        event.warnings.map(({ path }: { path: string }) => path),
        warned
      )
    }
  })
})

describe("an integer beyond 2^53 in the answer of an action", () => {
  it("is text where the action's schema says string, goes back as it came, and else its step warns of it", async () => {
    const schema = { type: "object", properties: { id: { type: "string" } } }
    await publishConnector("exact", "1.0.0", {
      actions: [
        { name: "get", version: 1, request: { method: "GET", path: "/exact/get" }, outputSchema: schema },
        { name: "put", version: 1, request: { method: "PUT", path: "/exact/{{args.id}}", body: { id: "{{args.id}}" } } }
      ]
    })
    await connect("exact", "key")
    scripts.set("/exact/get", () => ({ body: `{"id":${id},"n":${id}}` }))
    const flow = await workflow(
      "const one = await svc.connector.exact.get({}); await svc.connector.exact.put({ id: one.id }); return one"
    )
    const answer = await run(flow)
    assert.deepStrictEqual(answer.body, { id, n: rounded })
    assert.deepStrictEqual(
      requestsTo(`/exact/${id}`).map(({ body }) => body),
      [`{"id":"${id}"}`]
    )
    const { steps } = await execution(answer.headers["x-svc-execution-id"])
    assert.deepStrictEqual(
      steps.map(({ warnings }: { warnings?: ReadonlyArray<{ path: string; code: string }> }) =>
        warnings?.map(({ code, path }) => [path, code])
      ),
      [[["n", "INTEGER_ROUNDED"]], undefined]
    )
  })

  it("is warned of by a path that shows no credential and can be stored, whatever the provider's names are", async () => {
    await publishConnector("named-so", "1.0.0", {
      actions: [{ name: "get", version: 1, request: { method: "GET", path: "/named-so/get" } }]
    })
    await connect("named-so", "canary-in-a-name")
    // The three hundredth character of the second one is the first half of a pair.
    const long = `${"n".repeat(299)}\u{1f600}`
    scripts.set("/named-so/get", () => ({ body: `{"canary-in-a-name":${id},"${long}":${id}}` }))
    const answer = await run(await workflow("await svc.connector.namedSo.get({}); return 1"))
    assert.strictEqual(answer.body, 1, answer.text)
    const { steps } = await execution(answer.headers["x-svc-execution-id"])
    assert.lengthOf(steps[0].warnings, 2)
    assert.notInclude(JSON.stringify(steps), "canary-in-a-name")
    const { path } = await trigger([echo])
    const { event } = await received(path, `{"${long}":${id}}`)
    assert.strictEqual(event.warnings[0].path, `${"n".repeat(299)}\ufffd…`)
  })
})
