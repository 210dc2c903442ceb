/** What `retry` and `timeoutMs` do for each type of step; where they do nothing, saving says so. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import {
  connect,
  execution,
  publishConnector,
  publishSaved,
  requestsTo,
  run,
  saveSteps,
  scripts,
  startSharedCalls,
  stopCalls,
  svc
} from "../support/calls.js"
import { eventually } from "../support/eventually.js"

const slug = "settings-crm"
beforeAll(async () => {
  await startSharedCalls()
  const get = { name: "get", version: 1, readOnly: true, request: { method: "GET", path: `/${slug}/get/{{args.id}}` } }
  await publishConnector(slug, "1.0.0", { actions: [get] })
  await connect(slug, "key-of-settings")
})
afterAll(stopCalls)

const when = { path: "input.none", op: "exists", value: false }
const slow = {
  name: "slow",
  type: "action",
  config: { code: "export default async () => { await new Promise((r) => setTimeout(r, 60_000)); return 1 }" }
}
const gate = (steps: ReadonlyArray<object>, more: object = {}) => ({
  name: "gate",
  type: "gate",
  config: { branches: [{ name: "taken", when, steps }] },
  ...more
})
const loop = (steps: ReadonlyArray<object>, more: object = {}) => ({
  name: "each",
  type: "loop",
  config: { over: "{{input.list}}", concurrency: 2, steps },
  ...more
})
const approval = (more: object = {}) => ({
  name: "asks",
  type: "approval",
  config: { approvers: ["ada@example.com"], message: "?" },
  ...more
})
const after = { name: "after", type: "action", input: { went: "on" } }

const idOf = (answer: { readonly headers: { readonly [name: string]: string } }) =>
  String(answer.headers["x-svc-execution-id"])
const ran = async (steps: ReadonlyArray<object>) => {
  const id = idOf(await run(await publishSaved(await saveSteps(steps)), { list: [1, 2, 3] }))
  return await eventually(
    () => execution(id),
    ({ status }) => status === "failed" || status === "completed"
  )
}
/** Without the calls of steps. */
const statusesOf = ({
  steps
}: {
  readonly steps: ReadonlyArray<{ readonly path?: string; readonly status: string }>
}) => Object.fromEntries(steps.flatMap(({ path = "", status }) => (path.includes("#") ? [] : [[path, status]])))

describe("The timeoutMs", () => {
  it("of a gate ends it, and what has begun inside", async () => {
    const ended = await ran([gate([slow], { timeoutMs: 200 }), after])
    assert.deepInclude(ended.error, { code: "STEP_TIMED_OUT", step: "gate" })
    assert.deepStrictEqual(statusesOf(ended), { gate: "failed", slow: "failed" })
    assert.deepInclude(ended.steps.find(({ path }: { readonly path: string }) => path === "slow").error, {
      code: "ABORTED"
    })
  })

  it("of a loop ends it with all of its iterations, and the flow goes on where the loop continues", async () => {
    const ended = await ran([loop([slow], { timeoutMs: 200, onError: "continue" }), after])
    assert.deepInclude(ended, { status: "failed", statusReason: "continued_after_error", output: { went: "on" } })
    const { "each[0].slow": first, "each[1].slow": second, "each[2].slow": third } = statusesOf(ended)
    assert.deepStrictEqual([first, second, third], ["failed", "failed", undefined])
  })

  it("of an approval ends it, and withdraws what was asked", async () => {
    const ended = await ran([approval({ timeoutMs: 500, onError: "continue" }), after])
    assert.deepStrictEqual(ended.output, { went: "on" })
    const found = ended.steps.find(({ path }: { readonly path: string }) => path === "asks")
    assert.deepInclude(found.error, { code: "STEP_TIMED_OUT" })
    const { body } = await svc.ask("GET", `/api/v1/approvals?execution_id=${ended.id}`, { key: svc.first.key })
    assert.deepStrictEqual(
      body.data.map(({ status }: { readonly status: string }) => status),
      ["closed"]
    )
  })

  it("of a step that ends in time does nothing, in the step or later", async () => {
    const quick = { name: "quick", type: "action", input: { v: 1 } }
    const pause = { name: "pause", type: "wait", config: { durationMs: 600 } }
    const ended = await ran([
      gate([quick], { timeoutMs: 300 }),
      loop([{ ...quick, name: "q" }], { timeoutMs: 300 }),
      pause,
      after
    ])
    assert.deepInclude(ended, { status: "completed", output: { went: "on" } })
  })

  it("of a notification and of a wait leaves their outputs as they are", async () => {
    const tell = { name: "tell", type: "notification", config: { channel: "in_app", body: "b" } }
    const pause = { name: "pause", type: "wait", config: { durationMs: 10 }, timeoutMs: 60_000 }
    const ended = await ran([{ ...tell, retry: { maxAttempts: 2 }, timeoutMs: 60_000 }, pause])
    assert.strictEqual(ended.status, "completed", JSON.stringify(ended.error))
    const found = ended.steps.find(({ path }: { readonly path: string }) => path === "tell")
    assert.deepInclude(found, { type: "notification", status: "completed" })
    assert.deepInclude(found.output, { channel: "in_app" })
    assert.hasAllKeys(ended.output, ["until"])
  })
})

describe("The retry", () => {
  const polls = (retry: object) => ({
    name: "waits",
    type: "wait",
    config: {
      condition: { path: "poll.ok", op: "exists" },
      poll: { connector: slug, action: "get", input: { id: "polled" } }
    },
    retry
  })

  it("of a wait is that of its poll", async () => {
    const failing = new Set([0])
    let nth = 0
    scripts.set(`/${slug}/get/polled`, () => (failing.has(nth++) ? { status: 503, body: {} } : { body: { ok: 1 } }))
    const once = await ran([polls({ maxAttempts: 1 })])
    assert.strictEqual(once.status, "failed")
    assert.lengthOf(requestsTo(`/${slug}/get/polled`), 1)
    failing.add(nth)
    const twice = await ran([polls({ maxAttempts: 2, initialMs: 1 })])
    assert.strictEqual(requestsTo(`/${slug}/get/polled`).length, 3, JSON.stringify(twice.error))
  })

  it("is warned of where it does nothing, and not where it does", async () => {
    const retry = { maxAttempts: 2 }
    const wait = (config: object) => ({ name: "w", type: "wait", config, retry })
    const warned = async (step: object) => {
      const { body, status, text } = await saveSteps([step])
      assert.strictEqual(status, 201, text)
      return body.data.warnings
        .filter(({ code }: { readonly code: string }) => code === "NO_EFFECT")
        .map(({ path }: { readonly path: string }) => path)
    }
    const place = ["spec.steps[0].retry"]
    for (const step of [
      gate([after], { retry }),
      loop([after], { retry }),
      approval({ retry }),
      wait({ durationMs: 5 })
    ])
      assert.deepStrictEqual(await warned(step), place, JSON.stringify(step))
    const tell = { name: "tell", type: "notification", config: { channel: "in_app", body: "b" }, retry }
    for (const step of [tell, polls(retry), { ...slow, retry }]) assert.deepStrictEqual(await warned(step), [])
  })
})
