/** A page of large records, asked for with the provider's own beside them, ends early, and the next ones bring the rest. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"
import { connectTo, plainCrm, type PlainCrm, publishDefinition, startPlainCrm } from "../support/unified/PlainCrm.js"

let svc: Running
let crm: PlainCrm
beforeAll(async () => {
  svc = await startShared()
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

it("a page of some megabytes is read and answered in parts, and ends early", async () => {
  const list = (cursor: string) =>
    svc.ask("GET", `/api/v1/unified/crm/contact?page_size=200&include_raw=true&cursor=${cursor}`, {
      key: svc.first.key,
      headers: { "x-end-org-id": svc.first.customerId }
    })
  const first = await list("")
  assert.strictEqual(first.status, 200, first.text.slice(0, 300))
  assert.isBelow(first.text.length, 16_000_000)
  const ids = new Set<string>()
  for (let page = first; ;) {
    for (const { id } of page.body.data) ids.add(id)
    if (page.body.page.nextCursor === null) break
    page = await list(page.body.page.nextCursor)
  }
  assert.strictEqual(ids.size, 200)
})
