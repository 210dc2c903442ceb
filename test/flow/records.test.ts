/** The record of a run is true: times, steps that are used again, names of connectors. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { eventually } from "../support/eventually.js"
import { worldOf } from "../support/World.js"

let isBroken = true
const world = worldOf({
  allow: true,
  answer: (request, response) => {
    if (request.url === "/last" && isBroken) response.destroy()
    else response.end("{}")
  }
})
beforeAll(() => world.start())
afterAll(() => world.stop())

const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const code = (body: string) => `export default async function (ctx) { ${body} }`

describe("the record of a run", () => {
  it("shows a durable timer from when it was set until it fired", async () => {
    const id = await world
      .api()
      .workflow("sleeper", "standard", code("await new Promise((done) => setTimeout(done, 2500)); return 1"))
    const { body } = await world.api().run(id)
    const waiting = await eventually(
      () => world.api().execution(body.executionId),
      (found) => found.waiting !== null
    )
    assert.match(waiting.waiting.until, rfc3339)
    assert.isAbove(Date.parse(waiting.waiting.until), Date.parse(waiting.startedAt) + 2_000)
    const ended = await world.api().ended(body.executionId)
    const [step] = ended.steps
    assert.strictEqual(step.status, "completed")
    assert.isAtLeast(step.durationMs, 2_400)
    assert.isBelow(Date.parse(step.startedAt), Date.parse(waiting.waiting.until) - 2_000, "it began when it was set")
    assert.deepStrictEqual(step.attempts[0].startedAt, step.startedAt)
  })

  it("marks the steps that a resumed run uses again", async () => {
    const url = world.systems().url
    const asked = ["first", "second", "last"].map((path) => `await fetch("${url}/${path}")`).join("; ")
    const id = await world
      .api()
      .workflow("resumed", "standard", code(`const r = [${asked.split("; ").join(", ")}]; return r.length`))
    const failed = await world.api().ended((await world.api().run(id)).body.executionId)
    assert.strictEqual(failed.status, "failed")
    isBroken = false
    const rerun = await world.api().call("POST", `/api/v1/executions/${failed.id}/rerun`, { mode: "resume" })
    assert.strictEqual(rerun.status, 202, JSON.stringify(rerun.body))
    const ended = await world.api().ended(rerun.body.data.id)
    assert.isNotEmpty(ended.steps)
    assert.strictEqual(ended.steps.length, ended.metrics.totalSteps)
    const again = ended.steps.filter((step: { reused?: boolean }) => step.reused === true)
    assert.isNotEmpty(again)
    for (const step of again) {
      const before = failed.steps.find(({ index }: { index: number }) => index === step.index)
      assert.deepStrictEqual({ ...before, reused: true }, step)
    }
  })

  it("names a step by the connector's slug, however the code spells it", async () => {
    const api = world.api()
    const definition = {
      svcConnector: 1,
      slug: "acme-crm",
      name: "Acme",
      kind: "crm",
      version: "1.0.0",
      baseUrl: "https://acme.example.com",
      auth: [{ id: "none", type: "none", default: true }],
      actions: [{ name: "list", request: { method: "GET", path: "/list" }, mocks: [{ name: "one", output: [1] }] }]
    }
    assert.strictEqual((await api.call("POST", "/api/v1/connectors", definition)).status, 201)
    assert.strictEqual((await api.call("POST", "/api/v1/connectors/acme-crm/publish", {})).status, 200)
    const id = await api.workflow(
      "speller",
      "instant",
      code(`await svc.connector.acmeCrm.list({}); await ctx.connectors["acme-crm"].list({}); return 1`)
    )
    const run = await api.call("POST", `/api/v1/workflows/${id}/execute`, { input: {}, mock: "full" })
    assert.strictEqual(run.status, 200, JSON.stringify(run.body))
    const { steps } = await api.execution(run.headers.get("x-svc-execution-id") ?? "")
    assert.deepStrictEqual(
      steps.map(({ connector, name }: { connector: string; name: string }) => [name, connector]),
      [
        ["connector.acme-crm.list#1", "acme-crm"],
        ["connector.acme-crm.list#2", "acme-crm"]
      ]
    )
  })
})
