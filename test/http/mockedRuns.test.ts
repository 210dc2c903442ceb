/** An execution and its re-run show how connector calls were answered, before and after their end. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { eventually } from "../support/eventually.js"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"

let svc: Running
beforeAll(async () => {
  svc = await startShared()
})
afterAll(() => svc.stop())

const ask = (method: string, target: string, body?: unknown) =>
  svc.ask(method, `/api/v1${target}`, { key: svc.first.key, ...(body === undefined ? {} : { body }) })

const publish = async (name: string, tier: string, code: string): Promise<string> => {
  const { body, status, text } = await ask("POST", "/workflows", { name, form: "code", tier, code })
  assert.strictEqual(status, 201, text)
  assert.strictEqual((await ask("POST", `/workflows/${body.data.id}/publish`, {})).status, 200)
  return String(body.data.id)
}

/** The modes of the workflow's executions as their list shows them, newest first. */
const listed = async (workflow: string): Promise<ReadonlyArray<string>> =>
  (await ask("GET", `/executions?workflow_id=${workflow}`)).body.data.map(({ mock }: { mock: string }) => mock)

describe("the member mock of an execution", () => {
  it("is what the request said, and none where it said nothing", async () => {
    const workflow = await publish("mock_modes", "instant", "export default async () => 1")
    for (const more of [{}, { mock: "none" }, { fixtures: [] }, { mock: "partial" }, { mock: "full" }]) {
      const ran = await ask("POST", `/workflows/${workflow}/execute`, { input: {}, ...more })
      assert.strictEqual(ran.status, 200, ran.text)
    }
    assert.deepStrictEqual(await listed(workflow), ["full", "partial", "partial", "none", "none"])
  })

  it("is the same while the run waits, once it has ended, and in a re-run", async () => {
    const code = "export default async () => new Promise((done) => setTimeout(done, 60_000))"
    const workflow = await publish("mock_waits", "standard", code)
    const { body } = await ask("POST", `/workflows/${workflow}/execute`, { input: {}, mock: "full" })
    const read = () => ask("GET", `/executions/${body.executionId}`)
    const waiting = await eventually(read, (found) => found.body.data.waiting !== null)
    assert.deepStrictEqual([waiting.body.data.status, waiting.body.data.mock], ["running", "full"])
    assert.deepStrictEqual(await listed(workflow), ["full"])

    const cancelled = await ask("POST", `/executions/${body.executionId}/cancel`)
    assert.deepStrictEqual([cancelled.body.data.status, cancelled.body.data.mock], ["cancelled", "full"])
    assert.deepStrictEqual(await listed(workflow), ["full"])

    // The journal of the run has the fixtures.
    const again = await ask("POST", `/executions/${body.executionId}/rerun`, {})
    assert.deepStrictEqual([again.status, again.body.data.mock], [202, "full"], again.text)
    assert.strictEqual((await ask("POST", `/executions/${again.body.data.id}/cancel`)).status, 200)
  })

  it("keeps a run without a journal from being repeated, which would call the real providers", async () => {
    const workflow = await publish("mock_gone", "instant", "export default async () => 1")
    const rerun = async (mock: string) => {
      const ran = await ask("POST", `/workflows/${workflow}/execute`, { input: {}, mock })
      const id = String(ran.headers["x-svc-execution-id"])
      await eventually(
        () => ask("GET", `/executions/${id}`),
        (found) => found.body.data?.status === "completed"
      )
      return ask("POST", `/executions/${id}/rerun`, {})
    }
    const refused = await rerun("full")
    assert.deepStrictEqual([refused.status, refused.body.code], [409, "INVALID_STATE"], refused.text)
    assert.include(refused.body.message, "fixtures")
    assert.strictEqual((await rerun("none")).status, 202)
  })
})
