/** An audit entry is sealed into the chain within a second. */
import { afterAll, beforeAll, it } from "@effect/vitest"
import { eventually } from "../../support/eventually.js"
import { type Running, start } from "../../support/InProcess.js"
import { assertWithin } from "../../support/pace.js"

let svc: Running
beforeAll(async () => {
  svc = await start()
})
afterAll(() => svc.stop())

it("an audit entry is sealed within a second", async () => {
  const { key } = svc.first
  const from = performance.now()
  await svc.ask("POST", "/api/v1/customers", { key, body: { name: "Sealed" } })
  await eventually(
    async () => (await svc.ask("GET", "/api/v1/audit/verify", { key })).body.data,
    ({ unsealed }) => unsealed === 0
  )
  assertWithin(performance.now() - from, 1_500)
})
