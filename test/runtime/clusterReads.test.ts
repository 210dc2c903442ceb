/** What the status of the cluster costs does not grow with the runs of others, nor with those of its own organisation. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { countedRuns } from "../../src/domain/run/ClusterView.js"
import { readCluster } from "../../src/runtime/cluster/ClusterReads.js"
import type { Sql } from "../../src/runtime/postgres/database/Sql.js"
import { adminConnection, layer } from "../support/Database.js"
import { WriterSql } from "../support/Sql.js"

interface Plan {
  readonly "Relation Name"?: string
  readonly "Index Name"?: string
  readonly "Actual Rows"?: number
  readonly "Rows Removed by Filter"?: number
  readonly Plans?: ReadonlyArray<Plan>
}

const scansOf = (plan: Plan, table: string): ReadonlyArray<Plan> => [
  ...(plan["Relation Name"] === table ? [plan] : []),
  ...(plan.Plans ?? []).flatMap((inner) => scansOf(inner, table))
]

/** The statements of the read, without their results. */
const statementsOf = Effect.fnUntraced(function* (organisation: string) {
  const statements: Array<{ readonly text: string; readonly values: ReadonlyArray<unknown> }> = []
  const recorder = {
    withTransaction: (body: unknown) => body,
    unsafe: (text: string, values: ReadonlyArray<unknown> = []) => {
      statements.push({ text, values })
      return Effect.succeed([])
    }
  } as unknown as Sql
  yield* readCluster(recorder, organisation)
  return statements
})

/** More than are counted; the older half belongs to other organisations. */
const perOrganisation = countedRuns + 2_000

describe("the status of the cluster", () => {
  it.effect("reads no runs of other organisations, and a bounded number of its own", () =>
    Effect.gen(function* () {
      const client = yield* adminConnection
      const sql = yield* WriterSql
      const plans = yield* Effect.promise(async () => {
        await client.query(
          `INSERT INTO runs (id, org, space, shard, epoch, engine, class, status, tier, priority, workflow_id, trigger_type,
             attempt, deadline_at, created_at, record)
           SELECT 'exec_' || lpad(i::text, 26, '0'), CASE WHEN i <= $1 THEN 'org_a' || i % 7 ELSE 'org_b' END, 'spc', 1 + i % 300, 1,
             'engine', 7, CASE WHEN i = $1 + 50 THEN 'pending' ELSE 'running' END, 'long', 2, 'wf', 'api', 1,
             now() + interval '1 day', now() - (interval '1 hour' - i * interval '1 millisecond'), '{}'
           FROM generate_series(1, 2 * $1) AS i`,
          [perOrganisation]
        )
        await client.query("ANALYZE runs")
        const [settings, read] = await Effect.runPromise(statementsOf("org_b"))
        await client.query("BEGIN")
        await client.query(settings?.text ?? "")
        const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${read?.text}`, [...(read?.values ?? [])])
        await client.query("COMMIT")
        return scansOf(rows[0]["QUERY PLAN"][0].Plan, "runs")
      })
      assert.lengthOf(plans, 1)
      const [scan] = plans
      assert.isDefined(scan)
      assert.strictEqual(scan["Index Name"], "runs_list")
      assert.strictEqual(scan["Actual Rows"], countedRuns)
      assert.isUndefined(scan["Rows Removed by Filter"])

      const { heldShards, lagMillis, nodes, unfinished } = yield* readCluster(sql, "org_b")
      assert.deepStrictEqual([heldShards, nodes, unfinished], [0, [], countedRuns])
      assert.isAbove(lagMillis, 3_000_000)
      assert.strictEqual((yield* readCluster(sql, "")).unfinished, 0)
    }).pipe(Effect.scoped, Effect.provide(layer))
  )
})
