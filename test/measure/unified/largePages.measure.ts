/** A page of large records, asked for with the provider's own beside them, delays no other request for long. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { type Running, start } from "../../support/InProcess.js"
import { assertLoopWithin } from "../../support/loopDelay.js"
import { connectTo, plainCrm, type PlainCrm, publishDefinition, startPlainCrm } from "../../support/unified/PlainCrm.js"

let svc: Running
let crm: PlainCrm
beforeAll(async () => {
  svc = await start({ SVC_EGRESS_ALLOW: "127.0.0.1/32" })
  crm = await startPlainCrm()
  await publishDefinition(svc, plainCrm("large-crm"))
  await connectTo(svc, "large-crm", crm.url)
  const mails = Array.from({ length: 150 }, (_, at) => ({ value: `a${at}@example.com`, kind: "work" }))
  for (let index = 0; index < 200; index += 1) crm.add({ job: "x".repeat(15_000), mails })
})
afterAll(async () => {
  await svc.stop()
  await crm.stop()
})

it("a page of some megabytes is read and answered in parts", async () => {
  const list = async () => {
    const target = "/api/v1/unified/crm/contact?page_size=200&include_raw=true"
    const answer = await svc.ask("GET", target, {
      key: svc.first.key,
      headers: { "x-end-org-id": svc.first.customerId }
    })
    assert.strictEqual(answer.status, 200, answer.text.slice(0, 300))
  }
  await list()
  // The provider and the reader of the answer share this process' loop.
  await assertLoopWithin(400, list)
})
