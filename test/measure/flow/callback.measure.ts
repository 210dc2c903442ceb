/** A callback that fails is sent again after the first back-off, and its time is that of its sending. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { eventually } from "../../support/eventually.js"
import { assertWithin } from "../../support/pace.js"
import { worldOf } from "../../support/World.js"

let asked = 0
const world = worldOf({
  allow: true,
  answer: (_, response) => {
    response.statusCode = (asked += 1) === 1 ? 500 : 200
    response.end()
  }
})
beforeAll(() => world.start(), 60_000)
afterAll(() => world.stop(), 30_000)

it("a callback that fails once", async () => {
  const { call, workflow } = world.api()
  const id = await workflow("echo", "standard", "export default async () => 1")
  await call("POST", `/api/v1/workflows/${id}/execute`, { callback: { url: `${world.systems().url}/again` } })
  const [first, second] = await eventually(
    async () => world.systems().requests,
    ({ length }) => length === 2
  )
  const { at } = first ?? assert.fail()
  assertWithin((second ?? assert.fail()).at - at, 15_000, "the second attempt")
}, 60_000)
