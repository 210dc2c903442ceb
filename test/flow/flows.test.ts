/** A workflow of steps runs in the order of its dependencies, makes the calls that it says, and shows each step. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { createHash } from "node:crypto"
import {
  connect,
  execution,
  getStep,
  publishConnector,
  publishSaved,
  requestsTo,
  run,
  saveSteps,
  scripts,
  startSharedCalls,
  stopCalls,
  svc,
  workflow
} from "../support/calls.js"
import { eventually } from "../support/eventually.js"

const slug = "flow-crm"

const get = getStep(slug)
const publish = async (steps: ReadonlyArray<object>, more: object = {}) => publishSaved(await saveSteps(steps, more))

/** The steps of a run by their paths. */
const traceOf = async (id: string | undefined) => {
  const { steps } = await execution(id)
  return { get: (path: string) => steps.find((step: { readonly path?: string }) => step.path === path) }
}

beforeAll(async () => {
  await startSharedCalls()
  await publishConnector(slug)
  await connect(slug, "key-of-flows")
})
afterAll(stopCalls)

describe("A flow", () => {
  it("passes outputs on, runs the taken branch and each iteration, and answers what its response says", async () => {
    const id = await publish(
      [
        get("find", "{{input.id}}"),
        {
          name: "double",
          type: "action",
          config: { code: "export default async (input, ctx) => ({ n: input.n * 2, attempt: ctx.execution.attempt })" },
          input: { n: "{{steps.find.output.nth}}" }
        },
        {
          name: "route",
          type: "gate",
          config: {
            branches: [
              {
                name: "many",
                when: { path: "steps.double.output.n", op: "gt", value: 100 },
                steps: [get("never", "never")]
              },
              { name: "few", when: { path: "input.id", op: "matches", value: "^a.$" }, steps: [get("few", "few")] }
            ]
          }
        },
        {
          name: "each",
          type: "loop",
          config: {
            over: "{{input.items}}",
            as: "row",
            concurrency: 2,
            steps: [get("send", "{{row.id}}-{{index}}-{{steps.double.output.n}}")],
            result: "{{steps.send.output.path}}"
          }
        },
        {
          name: "shape",
          type: "action",
          mapping: {
            "customer.id": "{{input.id}}",
            "customer.tags[0]": { from: "input.tag", transforms: ["TRIM", "UPPER"], default: "none" },
            total: { from: "input.total", transforms: [{ fn: "MULTIPLY", args: [2] }] }
          },
          input: { source: "flow" }
        }
      ],
      {
        response: {
          success: {
            body: {
              sent: "{{steps.each.output.results}}",
              made: "{{steps.shape.output}}",
              skipped: "{{steps.never.output}}"
            }
          }
        }
      }
    )
    const answer = await run(id, {
      id: "a1",
      items: [{ id: "x" }, { id: "y" }, { id: "z" }],
      tag: " vip ",
      total: "1.10"
    })
    assert.deepStrictEqual(answer.body, {
      sent: ["x-0-2", "y-1-2", "z-2-2"].map((one) => `/${slug}/get/${one}`),
      made: { source: "flow", customer: { id: "a1", tags: ["VIP"] }, total: "2.20" },
      skipped: null
    })
    const trace = await traceOf(answer.headers["x-svc-execution-id"])
    assert.deepInclude(trace.get("find"), {
      type: "action",
      connector: slug,
      action: "get",
      parent: null,
      status: "completed"
    })
    assert.deepInclude(trace.get("route"), { type: "gate", status: "completed", output: { branch: "few" } })
    assert.deepInclude(trace.get("never"), { status: "skipped", parent: "route", attempts: [] })
    assert.deepInclude(trace.get("each[2].send"), { name: "send", parent: "each", status: "completed" })
    assert.deepInclude(trace.get("shape"), { status: "completed" })
  })

  it("never evaluates data as an expression, and reads own members only", async () => {
    const id = await publish(
      [
        {
          name: "echo",
          type: "action",
          input: { text: "{{input.text}}", proto: "{{input.__proto__}}", literal: '{{"{{"}}x}}' }
        },
        {
          name: "over",
          type: "action",
          input: { text: "{{input.text}}" },
          config: { transform: { more: "{{steps.echo.output.text}}" } }
        }
      ],
      { response: { success: { body: { echo: "{{steps.echo.output}}", over: "{{steps.over.output}}" } } } }
    )
    const text = "{{steps.echo.output}} {{input.secret}}"
    const answer = await run(id, { text, secret: "canary" })
    assert.deepStrictEqual(answer.body, {
      echo: { text, proto: null, literal: "{{x}}" },
      over: { text, more: text }
    })
  })

  it("runs independent steps together, and a dependant once all that it reads have ended", async () => {
    let together = 0
    let most = 0
    for (const one of ["p1", "p2", "p3"])
      scripts.set(`/${slug}/get/${one}`, () => {
        most = Math.max(most, ++together)
        setTimeout(() => together--, 50)
        return { body: { one } }
      })
    const id = await publish([
      get("p1", "p1", { dependsOn: [] }),
      get("p2", "p2", { dependsOn: [] }),
      get("p3", "p3", { dependsOn: [] }),
      { name: "all", type: "action", input: { a: "{{steps.p1.output.one}}", b: "{{steps.p3.output.one}}" } }
    ])
    assert.deepStrictEqual((await run(id)).body, { a: "p1", b: "p3" })
    assert.strictEqual(most, 3)
  })

  it("keeps the key of a call over attempts, which follows from the step's path", async () => {
    let calls = 0
    scripts.set(`/${slug}/create`, () => (++calls === 1 ? { status: 503, body: {} } : { body: { made: true } }))
    const id = await publish([
      {
        name: "each",
        type: "loop",
        config: {
          over: "{{input.list}}",
          steps: [
            {
              name: "make",
              type: "action",
              connector: slug,
              action: "create",
              input: { name: "{{item}}" },
              retry: { maxAttempts: 2, initialMs: 1 }
            }
          ]
        }
      }
    ])
    const answer = await run(id, { list: ["one"] })
    const root = answer.headers["x-svc-execution-id"]
    const key = createHash("sha256").update(`${root}|each[0].make|0`).digest("hex")
    assert.deepStrictEqual(
      requestsTo(`/${slug}/create`).map((request) => request.key),
      [key, key]
    )
    assert.lengthOf((await traceOf(root)).get("each[0].make").attempts, 2)
    scripts.delete(`/${slug}/create`)
  })

  it("ends with the step that failed, its line, and what it had begun as aborted", async () => {
    const id = await publish([
      {
        name: "pause",
        type: "action",
        dependsOn: [],
        config: { code: "export default async () => { await new Promise((r) => setTimeout(r, 60000)) }" }
      },
      {
        name: "bad",
        type: "action",
        dependsOn: [],
        config: { code: "// first\nexport default async (input) => {\n  throw new TypeError(input)\n}" }
      },
      get("after", "after", { dependsOn: ["bad"] })
    ])
    const answer = await run(id)
    assert.strictEqual(answer.headers["x-svc-execution-status"], "failed")
    assert.deepInclude(answer.body.error, { name: "TypeError", step: "bad", category: "code" })
    const seen = await execution(answer.headers["x-svc-execution-id"])
    assert.match(seen.error.stack, /^ *at \S+ \(bad\.js:3:\d+\)$/)
    const trace = await traceOf(answer.headers["x-svc-execution-id"])
    assert.deepInclude(trace.get("bad"), { status: "failed" })
    assert.strictEqual(trace.get("pause").error.code, "ABORTED")
    assert.isUndefined(trace.get("after"))
  })

  it("goes on after a failed step that says so, is failed and keeps its output", async () => {
    scripts.set(`/${slug}/get/gone`, () => ({ status: 404, body: { no: true } }))
    const id = await publish(
      [
        get("gone", "gone", { onError: "continue" }),
        { name: "after", type: "action", input: { why: "{{steps.gone.error.message}}", out: "{{steps.gone.output}}" } }
      ],
      { response: { success: { status: 202 } } }
    )
    const answer = await run(id)
    const seen = await execution(answer.headers["x-svc-execution-id"])
    assert.deepInclude(seen, { status: "failed", statusReason: "continued_after_error" })
    assert.match(seen.output.why, /404/)
    assert.isNull(seen.output.out)
    assert.deepInclude(seen.metrics, { failed: 1, succeeded: 1 })
  })

  it("waits until what it waits for has happened, as a Long run, and not longer than it may", async () => {
    const condition = { path: "state.ORG.flow-gate", op: "eq", value: "open" }
    const id = await publish([
      { name: "wait", type: "wait", config: { condition, pollSeconds: 5, timeoutMs: 3_600_000 } },
      { name: "done", type: "action", input: { looks: "{{steps.wait.output.looks}}" } }
    ])
    const opener = await publish([
      {
        name: "open",
        type: "action",
        config: { code: 'export default async () => svc.state.set("flow-gate", "open")' }
      }
    ])
    await run(opener)
    const answer = await run(id)
    assert.deepInclude(answer.body, { status: "pending", tier: "long" })
    const ended = await eventually(
      () => execution(answer.body.executionId),
      (seen) => seen.status === "completed"
    )
    assert.deepStrictEqual(ended.output, { looks: 1 })
  })

  it("asks a language model, and gives its text and usage", async () => {
    const ask = { name: "ask", type: "action", config: { kind: "ai", prompt: "Greet {{input.name}}", model: "m" } }
    const id = await publish([ask])
    const output = { choices: [{ message: { content: "Hello!" } }], usage: { total_tokens: 3 } }
    const input = { model: "m", messages: [{ role: "user", content: "Greet Ada" }] }
    const fixtures = [{ connector: "openai", action: "createChatCompletion", input, output }]
    const answer = await svc.ask("POST", `/api/v1/workflows/${id}/execute`, {
      key: svc.first.key,
      body: { input: { name: "Ada" }, mock: "full", fixtures }
    })
    assert.deepStrictEqual(answer.body, { text: "Hello!", usage: { total_tokens: 3 } })
  })

  it("refuses a loop over no list, and one that would make too many calls, before its first iteration", async () => {
    const id = await publish([
      { name: "each", type: "loop", config: { over: "{{input.list}}", steps: [get("one", "loop-{{item}}")] } }
    ])
    assert.strictEqual((await run(id, { list: "text" })).body.error.code, "NOT_A_LIST")
    const many = Array.from({ length: 10_001 }, (_, at) => at)
    assert.strictEqual((await run(id, { list: many })).body.error.code, "LOOP_LIMIT")
    assert.isEmpty(requestsTo(`/${slug}/get/loop-`))
  })
})

describe("svc.step", () => {
  it("bounds what its steps show together with the results of calls", async () => {
    const id = await workflow(
      `for (let i = 0; ; i++) { await svc.step("big", () => "x".repeat(200000)); if (i % 20 === 0) await svc.state.get("k") }`
    )
    const answer = await run(id)
    assert.strictEqual(answer.body.error.code, "JOURNAL_LIMIT")
    assert.isBelow((await execution(answer.headers["x-svc-execution-id"])).steps.length, 500)
  })
})

describe("Saving a flow", () => {
  const codesOf = async (steps: ReadonlyArray<object>, more: object = {}) => {
    const answer = await saveSteps(steps, more)
    assert.strictEqual(answer.status, 422, answer.text)
    return answer.body.details.map(({ code, path }: { code: string; path: string }) => `${code} ${path}`)
  }

  it("answers all mistakes with their paths", async () => {
    assert.sameMembers(
      await codesOf(
        [
          get("a", "{{steps.nobody.output}}"),
          get("b", "{{unknown.x}}", { action: "absent" }),
          { ...get("c", "x"), connector: "absent" },
          { name: "each", type: "loop", config: { over: "{{input.list}}", steps: [get("inner", "{{item}}")] } },
          { name: "outside", type: "action", input: { x: "{{steps.inner.output}}", y: "{{item}}" } },
          { name: "pattern", type: "action", when: { path: "input.x", op: "matches", value: "(" } },
          { name: "code", type: "action", config: { code: "export default (" } }
        ],
        {
          response: { success: { body: "{{steps.inner.output}}" } },
          customAuth: { type: "bearer", secretName: "no name", workflowId: "wf_000000000000" }
        }
      ),
      [
        "UNKNOWN_STEP spec.steps[0].input.id",
        "UNKNOWN_NAME spec.steps[1].input.id",
        "UNKNOWN_NAME spec.steps[1].action",
        "UNKNOWN_NAME spec.steps[2].connector",
        "OUT_OF_SCOPE spec.steps[4].input.x",
        "UNKNOWN_NAME spec.steps[4].input.y",
        "INVALID_PATTERN spec.steps[5].when.value",
        "SYNTAX_ERROR spec.steps[6].config.code",
        "OUT_OF_SCOPE spec.response.success.body",
        "INVALID_VALUE spec.customAuth.secretName",
        "UNKNOWN_FIELD spec.customAuth.workflowId"
      ]
    )
  })

  it("refuses a request schema that cannot be used, and text that cannot be stored", async () => {
    assert.deepStrictEqual(await codesOf([], { requestSchema: { type: "nothing" } }), [
      "INVALID_SCHEMA spec.requestSchema.type"
    ])
    const unstorable = await saveSteps([{ name: "a", type: "action", input: { x: "\u0000" } }])
    assert.strictEqual(unstorable.status, 422, unstorable.text)
  })

  it("names the steps of a cycle, and the line of code that does not parse", async () => {
    const cyclic = await saveSteps([get("a", "{{steps.b.output}}"), get("b", "{{steps.a.output}}")])
    assert.strictEqual(cyclic.body.code, "CYCLE_DETECTED")
    assert.include(cyclic.body.message, "a → b → a")
    const broken = await saveSteps([
      { name: "bad", type: "action", config: { code: "export default async () => {\n  return (\n}" } }
    ])
    assert.deepInclude(broken.body.details[0], { path: "spec.steps[0].config.code", code: "SYNTAX_ERROR", line: 3 })
  })

  it("takes code or steps as its form says, and a name that can be called", async () => {
    const asked = (body: object) => svc.ask("POST", "/api/v1/workflows", { key: svc.first.key, body })
    const code = "export default async () => 1"
    assert.strictEqual((await asked({ name: "f1", form: "steps", code })).body.details[0].path, "code")
    assert.strictEqual((await asked({ name: "f2", form: "code", spec: { steps: [] } })).body.details[0].path, "spec")
    assert.strictEqual((await asked({ name: "f3", form: "steps" })).body.details[0].path, "spec")
    assert.strictEqual((await asked({ name: "f-4", form: "steps", spec: { steps: [] } })).body.details[0].path, "name")
  })
})
