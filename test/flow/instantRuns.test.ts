/** An Instant run that waits is seen: in the lists, by its id, and by those who cancel it, also when nothing of it was committed. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { LiveRuns } from "../../src/actors/execution/LiveRuns.js"
import { eventually } from "../support/eventually.js"
import { type Running, start } from "../support/InProcess.js"
import { done, releaseClient } from "../support/releaseClient.js"

let svc: Running
const { ask, made, unique } = releaseClient(() => svc)
beforeAll(async () => {
  svc = await start()
})
afterAll(() => svc.stop())

const workflow = async (body: string): Promise<string> => {
  const code = `export default async (ctx) => { ${body} }`
  const { id } = await made("/workflows", { name: unique(), form: "code", code, tier: "instant" })
  await made(`/workflows/${id}/publish`, {})
  return id
}
const runsOf = async (id: string) => done(await ask("GET", `/executions?workflow_id=${id}`))
const pause = "await new Promise((resolve) => setTimeout(resolve, 20_000))"

describe("An Instant run that waits", () => {
  it.each([
    ["for a timer", pause],
    ["after it has read", `await svc.state.get("x"); ${pause}`]
  ])("%s is listed, found by its id, and cancelled", async (_, body) => {
    const id = await workflow(body)
    const answer = ask("POST", `/workflows/${id}/execute`, {})
    const [run] = await eventually(
      () => runsOf(id),
      (runs) => runs.length === 1
    )
    assert.strictEqual(run.status, "running")
    assert.strictEqual(done(await ask("GET", `/executions/${run.id}`)).id, run.id)
    done(await ask("POST", `/executions/${run.id}/cancel`, {}))
    assert.strictEqual((await answer).body.status, "cancelled")
    assert.strictEqual(done(await ask("GET", `/executions/${run.id}`)).status, "cancelled")
  })

  it("is committed when it is asked for by its id", async () => {
    const id = await workflow(pause)
    const answer = ask("POST", `/workflows/${id}/execute`, {})
    const [run = ""] = await eventually(
      () => svc.run(Effect.map(LiveRuns, (live) => live.ids())),
      (ids) => ids.length > 0
    )
    assert.deepInclude(done(await ask("GET", `/executions/${run}`)), { id: run, workflowId: id, status: "running" })
    done(await ask("POST", `/executions/${run}/cancel`, {}))
    await answer
  })
})
