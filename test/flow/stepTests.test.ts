/** A step is tested alone: only its own calls are made, by default none, and nothing else of the flow runs. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import {
  askWorkflows,
  connect,
  doneWorkflows,
  execution,
  getStep,
  publishConnector,
  requestsTo,
  saveSteps,
  startSharedCalls,
  stopCalls,
  svc
} from "../support/calls.js"
import type { Answer } from "../support/InProcess.js"
import { makeKey, makeScopedKey } from "../support/keys.js"

const slug = "tested-crm"
const get = getStep(slug)

beforeAll(async () => {
  await startSharedCalls()
  const read = { name: "get", version: 1, readOnly: true, request: { method: "GET", path: `/${slug}/get/{{args.id}}` } }
  await publishConnector(slug, "1.0.0", { actions: [read] })
  await connect(slug, "key-of-tests")
})
afterAll(stopCalls)

describe("A test of a step", () => {
  const sum = "export default async (input, ctx) => ({ n: input.a + input.b, seen: ctx.input.id ?? null })"
  const spec = {
    steps: [
      get("find", "{{input.id}}"),
      {
        name: "each",
        type: "loop",
        config: {
          over: "{{steps.find.output.lines}}",
          as: "line",
          steps: [get("send", "{{steps.find.output.id}}-{{line.sku}}-{{index}}", { onError: "continue" })]
        }
      },
      {
        name: "route",
        type: "gate",
        config: {
          branches: [
            {
              name: "paid",
              when: { path: "steps.find.output.paid", op: "eq", value: true },
              steps: [get("ship", "{{input.id}}")]
            }
          ],
          else: { steps: [get("remind", "{{input.id}}")] }
        }
      },
      { name: "sum", type: "action", config: { code: sum }, input: { a: "{{steps.find.output.a}}", b: 2 } },
      {
        name: "reads",
        type: "action",
        config: { code: "export default async () => (await fetch('https://example.com')).status" }
      },
      { name: "pause", type: "wait", config: { durationMs: 3_600_000 } },
      {
        name: "poll",
        type: "wait",
        config: {
          condition: { path: "poll.done", op: "eq", value: true },
          poll: { connector: slug, action: "get", input: { id: "p" } }
        }
      },
      { name: "ask", type: "approval", config: { approvers: ["a@b.example"], message: "{{steps.sum.output.n}}?" } },
      { name: "tell", type: "notification", config: { channel: "in_app", body: "sum {{steps.sum.output.n}}" } }
    ]
  }
  const test = (id: string, name: string, body: object = {}, headers: Answer["headers"] = {}, key = svc.first.key) =>
    askWorkflows("POST", `/${id}/steps/${name}/test`, body, headers, key)
  const tested = async (...args: Parameters<typeof test>) => {
    const answer = await test(...args)
    assert.strictEqual(answer.status, 200, answer.text)
    return answer.body.data
  }
  const made = async () => String((await saveSteps(spec.steps)).body.data.id)
  const fixtures = [{ connector: slug, action: "get", output: { from: "fixture", done: true } }]
  const calls = () => requestsTo(`/${slug}`).length
  const customerId = () => svc.first.customerId

  it("calls that step only, in a loop, in a branch and by itself, with the data that it is given", async () => {
    const id = await made()
    const steps = { find: { id: "o1", lines: [1, 2], a: 40, paid: false } }
    for (const [name, body, path] of [
      ["find", { input: { id: "o1" } }, "/get/o1"],
      ["send", { item: { sku: "s7" }, steps }, "/get/o1-s7-0"],
      ["ship", { input: { id: "o2" }, steps }, "/get/o2"]
    ] as const) {
      const before = calls()
      const result = await tested(id, name, { ...body, mock: "partial", customerId: customerId() })
      assert.deepStrictEqual(
        [result.status, result.output.path, result.step.name],
        ["completed", `/${slug}${path}`, name]
      )
      assert.strictEqual(calls(), before + 1, name)
      assert.strictEqual(requestsTo(`/${slug}${path}`).length, 1)
      assert.deepStrictEqual(
        result.steps.map((step: { readonly path: string }) => step.path),
        [name === "send" ? "each[0].send" : name]
      )
    }
    const { output, step } = await tested(id, "sum", { input: { id: "o3" }, steps })
    assert.deepStrictEqual(output, { n: 42, seen: "o3" })
    assert.deepStrictEqual(step, { name: "sum", type: "action", path: "spec.steps[3]" })
  })

  it("of a gate or a loop runs what is inside of it", async () => {
    const id = await made()
    const steps = { find: { id: "o1", lines: [{ sku: "a" }, { sku: "b" }], paid: true } }
    const before = calls()
    const loop = await tested(id, "each", { steps, fixtures })
    assert.deepStrictEqual(loop.output, { results: [fixtures[0]?.output, fixtures[0]?.output], failed: 0 })
    const gate = await tested(id, "route", { steps, fixtures })
    assert.deepStrictEqual(gate.output, { branch: "paid" })
    assert.strictEqual(calls(), before)
  })

  it("has by default no effect: no request, no wait, no question, no message", async () => {
    const id = await made()
    const before = calls()
    const failed = await tested(id, "find", { input: { id: "o1" } })
    assert.deepInclude(failed.error, { code: "NO_MOCK", step: "find", path: "spec.steps[0]" })
    assert.strictEqual((await tested(id, "reads")).error.code, "NO_MOCK")
    const steps = { sum: { n: 42 } }
    assert.isAbove(Date.parse((await tested(id, "pause")).output.until), Date.now() + 3_000_000)
    assert.deepInclude((await tested(id, "poll", { fixtures })).output, { looks: 1 })
    const wrong = [{ ...fixtures[0], output: { done: false } }]
    assert.strictEqual((await tested(id, "poll", { fixtures: wrong })).error.code, "WAIT_TIMED_OUT")
    const asked = await tested(id, "ask", { steps })
    assert.deepStrictEqual(asked.output, { decision: "approve", comment: null, actor: null })
    assert.strictEqual((await tested(id, "tell", { steps })).output.status, "mocked")
    assert.strictEqual(calls(), before)
    const approvals = await svc.ask("GET", `/api/v1/approvals?execution_id=${asked.executionId}`, {
      key: svc.first.key
    })
    assert.deepStrictEqual(approvals.body.data, [])
    // A failed step that lets its flow go on is a failure here.
    const sent = await tested(id, "send", { item: {} })
    assert.deepStrictEqual([sent.status, sent.statusReason], ["failed", undefined])
  })

  it("is a run with a record of its own, and starts once for an Idempotency-Key", async () => {
    const id = await made()
    const headers = { "idempotency-key": "tested once" }
    const first = await test(id, "sum", {}, headers)
    const again = await test(id, "sum", {}, headers)
    assert.deepStrictEqual([again.body, again.headers["idempotent-replayed"]], [first.body, "true"])
    assert.strictEqual((await test(id, "sum", { input: { a: 1 } }, headers)).body.code, "IDEMPOTENCY_KEY_REUSED")
    const run = await execution(first.body.data.executionId)
    assert.deepInclude(run, { mock: "full", environment: "test", workflowVersion: null, tier: "instant" })
    assert.deepStrictEqual(run.metadata, { testedStep: "sum" })
    const audit = await svc.ask("GET", `/api/v1/audit?resource_id=${id}&action=workflow.test_step`, {
      key: svc.first.key
    })
    // A refusal has an entry of its own, which may come later.
    assert.lengthOf(
      audit.body.data.filter(({ outcome }: { readonly outcome: string }) => outcome === "success"),
      1
    )
  })

  it("is refused for what cannot be tested so, and for a draft with mistakes", async () => {
    const id = await made()
    for (const [name, body, status, path] of [
      ["absent", {}, 404, undefined],
      ["find", { item: 1 }, 422, "item"],
      ["find", { steps: { find: 1 }, mock: "none" }, 422, "steps"],
      ["ask", { mock: "partial" }, 422, "mock"],
      ["find", { pins: {} }, 422, "pins"],
      ["find", { customerId: "cus_01k00000000000000000000000" }, 404, undefined]
    ] as const) {
      const refused = await test(id, name, body)
      assert.deepStrictEqual(
        [refused.status, refused.body.details?.[0]?.path],
        [status, path],
        `${name} ${refused.text}`
      )
    }
    const { key } = await makeKey(svc, { preset: "custom", permissions: { workflows: ["read", "update"] } })
    assert.strictEqual((await test(id, "sum", {}, {}, key)).status, 200)
    const { body } = await test(id, "sum", { mock: "none" }, {}, key)
    assert.deepStrictEqual([body.code, body.details[0].code], ["FORBIDDEN", "workflows:execute"])
    const narrow = await makeScopedKey(svc, { connector: ["http"] })
    const unreached = await tested(
      id,
      "find",
      { input: { id: "o9" }, mock: "none", customerId: customerId() },
      {},
      narrow.key
    )
    assert.match(unreached.error.message, /does not reach this connector/)
    assert.strictEqual(requestsTo(`/${slug}/get/o9`).length, 0)
    const { problems } = await doneWorkflows("PUT", `/${id}?incomplete=true`, {
      spec: { steps: [...spec.steps, { name: "x", type: "y" }] }
    })
    const refused = await test(id, "sum")
    assert.deepStrictEqual([refused.status, refused.body.details], [422, problems])
    const code = await doneWorkflows("POST", "", {
      name: "no_steps",
      form: "code",
      code: "export default async () => 1"
    })
    assert.strictEqual((await test(code.id, "sum")).status, 404)
  })
})
