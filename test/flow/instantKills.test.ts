/** An Instant run that has waited survives the process that drives it. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { eventually } from "../support/eventually.js"
import { worldOf } from "../support/World.js"

const world = worldOf({ allow: false })
beforeAll(() => world.start())
afterAll(() => world.stop())

describe("An Instant run that waits", () => {
  it("goes on after a kill of its process, and gives its result", async () => {
    const { call } = world.api()
    const code = `export default async (ctx) => {
      await svc.state.get("x")
      await new Promise((resolve) => setTimeout(resolve, 4_000))
      return { got: ctx.input.n }
    }`
    const { id } = (await call("POST", "/api/v1/workflows", { name: "waits", form: "code", tier: "instant", code }))
      .body.data
    await call("POST", `/api/v1/workflows/${id}/publish`, {})
    const answer = call("POST", `/api/v1/workflows/${id}/execute`, { input: { n: 7 } }).catch(() => undefined)
    const runs = async () => (await call("GET", `/api/v1/executions?workflow_id=${id}`)).body.data
    const [run] = await eventually(runs, (found) => found.length === 1)
    assert.strictEqual(run.status, "running")
    await world.crash()
    await answer
    const ended = await eventually(
      async () => (await world.api().call("GET", `/api/v1/executions/${run.id}`)).body.data,
      ({ status }) => status === "completed"
    )
    assert.deepStrictEqual(ended.output, { got: 7 })
  })
})
