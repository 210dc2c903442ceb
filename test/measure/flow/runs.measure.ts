/** A run is cancelled within a second, whatever it does. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { eventually } from "../../support/eventually.js"
import { assertWithin } from "../../support/pace.js"
import { worldOf } from "../../support/World.js"

const world = worldOf({ allow: true, answer: () => undefined })
beforeAll(() => world.start(), 60_000)
afterAll(() => world.stop(), 30_000)

it.each([
  ["calls", "await fetch(ctx.input.url)"],
  ["waits", "await new Promise((r) => setTimeout(r, 60000))"],
  ["computes", "for (;;) {}"]
])("a run is cancelled within a second while it %s", async (name, body) => {
  const { call, execution, run, workflow } = world.api()
  const flow = await workflow(name, "standard", `export default async (ctx) => { ${body} }`)
  const id = String((await run(flow, { url: world.systems().url })).body.executionId)
  await eventually(
    () => execution(id),
    (found) => found.status === "running" && (name !== "waits" || found.waiting !== null)
  )
  const before = performance.now()
  const answer = await call("POST", `/api/v1/executions/${id}/cancel`)
  assertWithin(performance.now() - before, 1_000)
  assert.strictEqual(answer.body.data.status, "cancelled")
})
