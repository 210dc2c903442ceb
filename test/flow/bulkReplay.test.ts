/** A replay of many dead letters replays none of its own failures. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { eventually } from "../support/eventually.js"
import { makeWebhook, sendWebhook } from "../support/webhooks.js"
import { worldOf } from "../support/World.js"

const world = worldOf({ allow: true })
const call = (method: string, path: string, body?: unknown) => world.api().call(method, `/api/v1${path}`, body)

beforeAll(() => world.start())
afterAll(() => world.stop())

it("a replay of many takes what was dead when it was asked for, each once, and needs a filter", async () => {
  const workflow = await world
    .api()
    .workflow("never", "instant", "export default async () => { throw new Error('never') }")
  const { id, path } = await makeWebhook(world.api(), [{ workflowId: workflow }])
  for (let n = 0; n < 5; n++) await sendWebhook(world.api(), path, JSON.stringify({ n }))
  const ofTrigger = async () => (await call("GET", `/dlq?trigger_id=${id}&page_size=200`)).body.data
  await eventually(ofTrigger, (found) => found.length === 5)
  for (const body of [{}, { filter: {} }, { filter: null }, { limit: 5 }]) {
    const refused = await call("POST", "/dlq/replay", body)
    assert.deepStrictEqual(
      [refused.status, refused.body.details[0].path],
      [422, "filter"],
      JSON.stringify(refused.body)
    )
  }
  const job = await call("POST", "/dlq/replay", { filter: { triggerId: id }, limit: 100, ratePerSecond: 100 })
  assert.strictEqual(job.status, 202, JSON.stringify(job.body))
  // Each replay fails again, so that there are always dead letters that the filter finds.
  const finished = await eventually(
    async () => (await call("GET", `/dlq-replays/${job.body.data.id}`)).body.data,
    ({ status }) => status === "finished"
  )
  assert.deepStrictEqual([finished.replayed, finished.failed], [5, 0])
  const letters = await eventually(ofTrigger, (found) => found.length === 10)
  const statuses = letters.map(({ status }: { status: string }) => status)
  assert.deepStrictEqual(statuses.toSorted(), [...Array(5).fill("pending"), ...Array(5).fill("replayed")])
  // One that runs again takes those that failed meanwhile, each once.
  const again = await call("POST", "/dlq/replay", { filter: { triggerId: id }, ratePerSecond: 2 })
  await eventually(ofTrigger, (found) => found.length > 10)
  const second = await eventually(
    async () => (await call("GET", `/dlq-replays/${again.body.data.id}`)).body.data,
    ({ status }) => status === "finished"
  )
  assert.deepStrictEqual([second.replayed, second.failed], [5, 0])
})
