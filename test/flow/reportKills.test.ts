/** A run has one report of each comparison, and each with all its entries, however often its process is killed. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { api, type Api } from "../support/api.js"
import { connectEmbedded } from "../support/embeddedPostgres.js"
import { eventually } from "../support/eventually.js"
import { promised } from "../support/promises.js"
import { proofs } from "../support/proofs.js"
import { makeDataDirectory, prepareData, type Service, startService } from "../support/Service.js"
import { scaled } from "../support/slowness.js"

const place = makeDataDirectory()
const { dataDir } = place
const comparisons = 40
const records = 250

let service: Service
let client: Api
const start = async () => {
  service = startService({ dataDir })
  await service.ready
  client = api(dataDir)
}
beforeAll(async () => {
  await prepareData(dataDir)
  await start()
})
afterAll(() => place.remove())

const code = `export default async () => {
  const ids = []
  for (let n = 0; n < ${comparisons}; n++) {
    const source = Array.from({ length: ${records} }, (_, id) => ({ id, n }))
    ids.push((await svc.diff.compare({ name: "r" + n, source, target: [{ id: 0, n: -1 }, { id: -1 }], key: "id" })).reportId)
  }
  return ids
}`

it(
  "stores each report once, with all its entries",
  async () => {
    const workflow = await client.workflow("compares", "standard", code)
    const { body: accepted } = await client.run(workflow)
    const run: string = accepted.executionId
    const reports = async () =>
      (await client.call("GET", `/api/v1/executions/${run}/sync-reports?page_size=200`)).body.data ?? []
    for (const seen of [3, 14, 27]) {
      await eventually(reports, (found) => found.length >= seen)
      service.kill("SIGKILL")
      await service.ended
      await start()
    }
    const ended = await client.ended(run)
    assert.strictEqual(ended.status, "completed", JSON.stringify(ended.error))
    const listed = await client.call("GET", `/api/v1/executions/${run}/sync-reports?page_size=200`)
    assert.strictEqual(listed.status, 200, JSON.stringify(listed.body))
    const found: ReadonlyArray<{ readonly id: string; readonly name: string }> = listed.body.data
    promised("a report is lost, doubled or out of order", () => {
      assert.deepStrictEqual(
        found.map(({ name }) => name),
        Array.from({ length: comparisons }, (_, n) => `r${n}`)
      )
      assert.deepStrictEqual(
        found.map(({ id }) => id),
        ended.output
      )
    })
    const database = await connectEmbedded(dataDir)
    const { rows } = await database.query(
      `SELECT report_id, sum(count)::int AS entries FROM sync_report_parts GROUP BY report_id ORDER BY report_id`
    )
    const { rows: events } = await database.query(
      "SELECT count(*)::int AS n, count(DISTINCT subject)::int AS reports FROM domain_events WHERE type = 'sync_report.created'"
    )
    await database.end()
    promised("an entry of a report is lost or doubled", () =>
      assert.deepStrictEqual(
        rows.map(({ entries }) => entries),
        Array.from({ length: comparisons }, () => records + 1)
      )
    )
    promised("a report is told twice", () => {
      assert.isAtMost(events[0].n, comparisons)
      assert.strictEqual(events[0].n, events[0].reports)
    })
    await proofs({ ...service, dataDir })
  },
  scaled(240_000)
)
