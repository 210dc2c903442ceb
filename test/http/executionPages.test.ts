/** Pages of executions are read from the newest days first; none is missed or repeated. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { WriterSql } from "../../src/runtime/postgres/database/Pools.js"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"

/** Ages in days, within and beyond each range that is read. */
const ages = [0.1, 0.2, 1, 1.9, 2.1, 3, 15.9, 16.1, 40, 200, 201, 360]

describe("the pages of executions", () => {
  let svc: Running
  beforeAll(async () => {
    svc = await startShared()
    const { organisationId, spaceId, workflowId } = svc.first
    await svc.run(
      Effect.flatMap(
        WriterSql,
        (
          sql
        ) => sql`INSERT INTO executions (id, class, org, space, status, workflow_id, trigger_type, finished_at, record)
          SELECT svc_ulid_bound(at) || lpad(n::text, 16, '0'), 365, ${organisationId}, ${spaceId},
            CASE WHEN n % 3 = 0 THEN 'failed' ELSE 'completed' END, ${workflowId}, 'api', at,
            json_build_object('workflowName', 'n' || n, 'workflowVersion', 1, 'environment', 'live', 'maxAttempts', 1,
              'customerRef', NULL,
              'installationId', NULL, 'userId', NULL, 'parentId', NULL,
              'metadata', '{}'::json, 'tier', 'instant', 'priority', 1, 'attempt', 1,
              'trigger', json_build_object('type', 'api', 'id', NULL, 'eventId', NULL, 'keyId', NULL, 'keyName', NULL),
              'createdAt', floor(extract(epoch FROM at) * 1000), 'startedAt', floor(extract(epoch FROM at) * 1000),
              'deadlineAt', floor(extract(epoch FROM at) * 1000))
          FROM json_array_elements_text(${JSON.stringify(ages)}::json) WITH ORDINALITY AS t(age, n),
            LATERAL (SELECT now() - age::float8 * interval '1 day' AS at) made`
      )
    )
  })
  afterAll(() => svc.stop())

  const walk = async (query: string): Promise<ReadonlyArray<string>> => {
    const names: Array<string> = []
    for (let cursor = ""; ;) {
      const answer = await svc.ask("GET", `/api/v1/executions?${query}${cursor}`, { key: svc.first.key })
      assert.strictEqual(answer.status, 200, answer.text)
      for (const { workflowName } of answer.body.data) names.push(workflowName)
      if (answer.body.page.nextCursor === null) return names
      cursor = `&cursor=${answer.body.page.nextCursor}`
    }
  }
  const all = ages.map((_, i) => `n${i + 1}`)

  it.each([1, 2, 3, 5, 12, 50])("of %i have each execution once, newest first", async (size) => {
    assert.deepStrictEqual(await walk(`page_size=${size}`), all)
  })

  it("have only what the filters select", async () => {
    assert.deepStrictEqual(
      await walk("page_size=2&status=failed"),
      all.filter((_, i) => (i + 1) % 3 === 0)
    )
    const day = (age: number) => encodeURIComponent(new Date(Date.now() - age * 86_400_000).toISOString())
    assert.deepStrictEqual(await walk(`page_size=2&from=${day(30)}&to=${day(2.5)}`), ["n6", "n7", "n8"])
    assert.deepStrictEqual(await walk(`page_size=2&to=${day(39)}`), ["n9", "n10", "n11", "n12"])
  })
})
