/** A page of executions costs its rows, also from a partition that Postgres has no statistics of yet. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { type ExecutionQuery, ExecutionReads } from "../../src/actors/ports/run/ExecutionReads.js"
import type { CustomerId, OrganisationId, SpaceId } from "../../src/domain/Ids.js"
import type { Sql } from "../../src/runtime/postgres/database/Sql.js"
import { AppSql } from "../../src/runtime/postgres/database/Pools.js"
import { layer as readsLayer } from "../../src/runtime/postgres/run/ExecutionReads.js"
import { adminConnection, layer } from "../support/Database.js"

interface Plan {
  readonly "Actual Rows": number
  readonly "Actual Loops": number
  readonly "Rows Removed by Filter"?: number
  readonly Plans?: ReadonlyArray<Plan>
}

/** Rows that the scans of a plan read. */
const rowsRead = (plan: Plan): number =>
  plan.Plans === undefined
    ? (plan["Actual Rows"] + (plan["Rows Removed by Filter"] ?? 0)) * plan["Actual Loops"]
    : plan.Plans.reduce((sum, inner) => sum + rowsRead(inner), 0)

interface Statement {
  readonly text: string
  readonly values: ReadonlyArray<unknown>
}

const home = { organisationId: "org_b" as OrganisationId, spaceId: "spc" as SpaceId }
const limit = 50

/** The statements that a list sends before it has read a full page. */
const statementsOf = Effect.fnUntraced(function* (query: Partial<ExecutionQuery>) {
  const statements: Array<Statement> = []
  const recorder = {
    withTransaction: (body: unknown) => body,
    unsafe: (text: string, values: ReadonlyArray<unknown> = []) => {
      statements.push({ text, values })
      return Effect.succeed([])
    }
  } as unknown as Sql
  const reads = Layer.provide(readsLayer, Layer.succeed(AppSql, recorder as never))
  yield* Effect.provide(
    Effect.flatMap(ExecutionReads, ({ list }) => list(home, { limit, ...query })),
    reads
  )
  return statements
})

const queries: Readonly<Record<string, Partial<ExecutionQuery>>> = {
  all: {},
  "of one workflow": { workflowIds: ["wf_1"] },
  "of one customer": { customerIds: ["cus_1" as CustomerId] },
  failed: { status: "failed" },
  "since a time": { from: 0 }
}

/** Far more than pages; each third is of one workflow and one customer, each second failed. */
const insert = `INSERT INTO executions (id, class, org, space, status, workflow_id, customer_id, trigger_type, finished_at, record)
  SELECT 'exec_' || lpad(i::text, 26, '0'), 365, 'org_' || chr(97 + i % 2), 'spc', CASE i % 4 WHEN 0 THEN 'failed' ELSE 'completed' END,
    'wf_' || i % 3, CASE i % 3 WHEN 1 THEN 'cus_1' END, 'api', now(), '{}'
  FROM generate_series(1, 12000) AS i`

describe("a page of executions", () => {
  it.effect("reads no more rows than it shows, whatever statistics there are", () =>
    Effect.gen(function* () {
      const client = yield* adminConnection
      yield* Effect.promise(async () => {
        await client.query("ALTER TABLE executions_365_rest SET (autovacuum_enabled = off)")
        await client.query(insert)
        for (const [name, query] of Object.entries(queries)) {
          const statements = await Effect.runPromise(statementsOf(query))
          const read = statements.at(-1)
          await client.query("BEGIN")
          await client.query(statements[0]?.text ?? "", [home.organisationId])
          const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${read?.text}`, [...(read?.values ?? [])])
          await client.query("COMMIT")
          // One row of each partition is looked at, to merge them.
          assert.isAtMost(rowsRead(rows[0]["QUERY PLAN"][0].Plan), 2 * limit + 20, name)
        }
      })
    }).pipe(Effect.scoped, Effect.provide(layer))
  )
})
