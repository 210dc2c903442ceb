/** A release of many workflows is deployed, replaced and rolled back, each within a second. */
import { afterAll, beforeAll, describe, it } from "@effect/vitest"
import { type Running, start } from "../../support/InProcess.js"
import { assertWithin } from "../../support/pace.js"
import { pin, releaseClient } from "../../support/releaseClient.js"

let svc: Running
const { environment, made, workflow } = releaseClient(() => svc)
beforeAll(async () => {
  svc = await start()
})
afterAll(() => svc.stop())

describe("a release of 200 workflows", () => {
  it("is deployed, replaced and rolled back, each within a second", async () => {
    const { slug } = await environment()
    const model = await workflow("many")
    await svc.sql(`INSERT INTO workflows (id, org, space, name, slug, form, tier, retry, status, content_hash, published_version, created_by)
      SELECT 'wf_' || lpad(to_hex(n), 12, '0'), w.org, w.space, 'many' || n, 'many' || n, w.form, w.tier, w.retry, w.status,
        w.content_hash, 2, w.created_by FROM workflows w, generate_series(1, 200) n WHERE w.id = '${model}'`)
    await svc.sql(`INSERT INTO workflow_versions (org, workflow_id, number, form, source, script, content_hash, bindings, published_by)
      SELECT v.org, 'wf_' || lpad(to_hex(n), 12, '0'), number.number, v.form, v.source, v.script, v.content_hash, v.bindings, v.published_by
      FROM workflow_versions v, generate_series(1, 200) n, generate_series(1, 2) number WHERE v.workflow_id = '${model}'`)
    const pins = (version: number) =>
      Array.from({ length: 200 }, (_, n) => pin(`wf_${(n + 1).toString(16).padStart(12, "0")}`, version))
    const timed = async (body: object, target = "/releases") => {
      const begun = performance.now()
      const release = await made(target, { ...body, environment: slug })
      const millis = performance.now() - begun
      assertWithin(millis, 1_000, target.replace(/rel_\w+/, "…"))
      return release
    }
    await timed({ workflows: pins(1) })
    const two = await timed({ workflows: pins(2) })
    await timed({}, `/releases/${two.id}/rollback`)
  })
})
