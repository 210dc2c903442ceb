/** Repeating and cancelling a run: the guards of a start, and one effect for each Idempotency-Key. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { eventually } from "../support/eventually.js"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"
import { makeKey } from "../support/keys.js"

let svc: Running
let names = 0
beforeAll(async () => {
  svc = await startShared()
})
afterAll(() => svc.stop())

const ask = (
  method: string,
  target: string,
  {
    body,
    headers = {},
    key = svc.first.key
  }: { body?: unknown; headers?: { readonly [name: string]: string }; key?: string } = {}
) => svc.ask(method, `/api/v1${target}`, { key, headers, ...(body === undefined ? {} : { body }) })

const makeWorkflow = async (code = "export default async () => 1", tier = "instant") => {
  const made = await ask("POST", "/workflows", { body: { name: `again_${(names += 1)}`, form: "code", tier, code } })
  assert.strictEqual(made.status, 201, made.text)
  await ask("POST", `/workflows/${made.body.data.id}/publish`, { body: {} })
  return String(made.body.data.id)
}

const runOf = async (workflow: string, headers: { readonly [name: string]: string } = {}) => {
  const ran = await ask("POST", `/workflows/${workflow}/execute`, { body: {}, headers })
  const id = String(ran.headers["x-svc-execution-id"])
  await eventually(
    () => ask("GET", `/executions/${id}`),
    ({ body }) => body.data?.status === "completed"
  )
  return id
}

const rerun = (id: string, { body = {}, ...more }: Parameters<typeof ask>[2] = {}) =>
  ask("POST", `/executions/${id}/rerun`, { body, ...more })

const runsOf = async (workflow: string): Promise<number> =>
  (await ask("GET", `/executions?workflow_id=${workflow}`)).body.data.length

describe("a re-run", () => {
  it("records the run that it repeats, and says where it is", async () => {
    const first = await runOf(await makeWorkflow())
    const again = await rerun(first)
    assert.strictEqual(again.status, 202, again.text)
    assert.deepStrictEqual([again.body.data.parentId, again.body.data.trigger.type], [first, "rerun"])
    assert.strictEqual(again.headers["location"], `/api/v1/executions/${again.body.data.id}`)
  })

  it("is found by the run that it repeats", async () => {
    const waits = "export default async ({ input }) => input.wait && new Promise((done) => setTimeout(done, 60_000))"
    const workflow = await makeWorkflow(waits, "long")
    const [first, other] = [await runOf(workflow), await runOf(workflow)]
    const again = async (id: string): Promise<string> => {
      const run = String((await rerun(id)).body.data.id)
      await eventually(
        () => ask("GET", `/executions/${run}`),
        ({ body }) => body.data.status === "completed"
      )
      return run
    }
    const found = async (query: string, key = svc.first.key): Promise<ReadonlyArray<string>> =>
      (await ask("GET", `/executions?${query}`, { key })).body.data.map(({ id }: { readonly id: string }) => id)
    const earlier = await again(first)
    const ended = [await again(first), earlier]
    const inner = await again(ended[0]!)
    await again(other)
    const open = String((await rerun(first, { body: { input: { wait: true } } })).body.data.id)
    assert.deepStrictEqual(await found(`parent_id=${first}`), [open, ...ended])
    assert.deepStrictEqual(await found(`parent_id=${first}&status=completed`), ended)
    await ask("POST", `/executions/${open}/cancel`)
    assert.deepStrictEqual(await found(`parent_id=${first}&status=cancelled`), [open])
    const { nextCursor } = (await ask("GET", `/executions?parent_id=${first}&page_size=2`)).body.page
    assert.deepStrictEqual(await found(`parent_id=${first}&page_size=2&cursor=${nextCursor}`), ended.slice(1))
    assert.deepStrictEqual(await found(`parent_id=${ended[0]}`), [inner])
    assert.deepStrictEqual(await found(`parent_id=${inner}`), [])
    assert.deepStrictEqual(await found("parent_id=exec_%27%3B--"), [])
    const { key } = await makeKey(svc, { resourceScope: [{ type: "workflow", ids: [await makeWorkflow()] }] })
    assert.deepStrictEqual(await found(`parent_id=${first}`, key), [])
  })

  it("has the time from its start to its end, once it has ended", async () => {
    const again = await rerun(await runOf(await makeWorkflow()))
    const { body } = await eventually(
      () => ask("GET", `/executions/${again.body.data.id}`),
      (found) => found.body.data.status === "completed"
    )
    const { durationMs, finishedAt, startedAt } = body.data
    assert.strictEqual(durationMs, Date.parse(finishedAt) - Date.parse(startedAt))
  })

  it("needs the permission to start executions and no other", async () => {
    const first = await runOf(await makeWorkflow())
    const enough = await makeKey(svc, { preset: "custom", permissions: { executions: ["create"] } })
    assert.strictEqual((await rerun(first, { key: enough.key })).status, 202)
    const others = await makeKey(svc, {
      preset: "custom",
      permissions: { executions: ["read"], workflows: ["read", "update", "execute"] }
    })
    const refused = await rerun(first, { key: others.key })
    assert.deepStrictEqual([refused.status, refused.body.details[0].code], [403, "executions:create"], refused.text)
  })

  it("is refused like a start: of a workflow that is disabled or archived", async () => {
    const workflow = await makeWorkflow()
    const first = await runOf(workflow)
    await ask("PUT", `/workflows/${workflow}`, { body: { enabled: false } })
    for (const version of ["same", "latest"]) {
      const disabled = await rerun(first, { body: { version } })
      assert.deepStrictEqual(
        [disabled.status, disabled.body.code, disabled.body.state],
        [409, "INVALID_STATE", "disabled"]
      )
    }
    await ask("PUT", `/workflows/${workflow}`, { body: { enabled: true } })
    await ask("POST", `/workflows/${workflow}/archive`)
    for (const version of ["same", "latest"]) {
      const archived = await rerun(first, { body: { version } })
      assert.deepStrictEqual([archived.status, archived.body.code], [409, "WORKFLOW_ARCHIVED"], archived.text)
    }
    const draft = await ask("POST", `/workflows/${workflow}/execute`, { body: { draft: true } })
    assert.deepStrictEqual([draft.status, draft.body.code], [409, "WORKFLOW_ARCHIVED"], draft.text)
    assert.strictEqual(await runsOf(workflow), 1)
    await ask("DELETE", `/workflows/${workflow}`)
    assert.strictEqual((await rerun(first)).status, 404)
  })

  it("is refused like a start: for a customer that is suspended", async () => {
    const workflow = await makeWorkflow()
    const { body } = await ask("POST", "/customers", { body: { name: "To be suspended" } })
    const first = await runOf(workflow, { "x-end-org-id": body.data.id })
    await ask("PUT", `/customers/${body.data.id}`, { body: { status: "suspended" } })
    const refused = await rerun(first)
    assert.deepStrictEqual([refused.status, refused.body.code, refused.body.state], [409, "INVALID_STATE", "suspended"])
    await ask("PUT", `/customers/${body.data.id}`, { body: { status: "active" } })
    assert.strictEqual((await rerun(first)).status, 202)
  })

  it("happens once for its Idempotency-Key, however many concurrent requests there are", async () => {
    const workflow = await makeWorkflow()
    const first = await runOf(workflow)
    const headers = { "idempotency-key": "again" }
    const answers = await Promise.all(Array.from({ length: 5 }, () => rerun(first, { headers })))
    assert.deepStrictEqual(
      answers.map(({ status }) => status),
      answers.map(() => 202)
    )
    assert.strictEqual(new Set(answers.map(({ body }) => body.data.id)).size, 1)
    assert.strictEqual(answers.filter((one) => one.headers["idempotent-replayed"] === "true").length, 4)
    assert.strictEqual(await runsOf(workflow), 2)
    const other = await rerun(first, { headers, body: { version: "latest" } })
    assert.deepStrictEqual([other.status, other.body.code], [422, "IDEMPOTENCY_KEY_REUSED"], other.text)
    assert.strictEqual((await rerun(await runOf(workflow), { headers })).headers["idempotent-replayed"], undefined)
  })
})

describe("a cancellation", () => {
  it("that is repeated under its Idempotency-Key gets the first answer", async () => {
    const wait = "export default async () => { await new Promise((resolve) => setTimeout(resolve, 3600000)) }"
    const workflow = await makeWorkflow(wait, "long")
    const started = await ask("POST", `/workflows/${workflow}/execute`, { body: {} })
    assert.strictEqual(started.status, 202, started.text)
    const target = `/executions/${started.body.executionId}/cancel`
    const headers = { "idempotency-key": "stop" }
    const first = await ask("POST", target, { headers })
    assert.deepStrictEqual([first.status, first.body.data?.status], [200, "cancelled"], first.text)
    const again = await ask("POST", target, { headers })
    assert.deepStrictEqual([again.status, again.body], [200, first.body])
    assert.strictEqual(again.headers["idempotent-replayed"], "true")
    assert.strictEqual((await ask("POST", target)).status, 409)
  })
})
