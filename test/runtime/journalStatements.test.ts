/** A flush is one statement of the parts that its batch needs: each combination of parts is a valid statement. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { Client } from "pg"
import type { Batch } from "../../src/runtime/postgres/journal/Batch.js"
import { planSettings } from "../../src/runtime/postgres/journal/Flush.js"
import { flushTableNames } from "../../src/runtime/postgres/journal/FlushTables.js"
import { makeStatements } from "../../src/runtime/postgres/journal/Statement.js"
import { layer, TestDatabase } from "../support/Database.js"

const empty: Batch = {
  changes: [{}],
  fence: { ids: [], epochs: [] },
  hasClaims: false,
  hasSignatures: false,
  hasReplays: false,
  allowances: [],
  patches: [],
  settlements: [],
  deadLetters: [],
  ticks: [],
  tickFailures: [],
  endedRuns: [],
  dequeuedRuns: [],
  freedLanes: [],
  rows: {
    runs: [],
    executions: [],
    journal: [],
    steps: [],
    logs: [],
    blobs: [],
    start_queue: [],
    lanes: [],
    events: [],
    event_records: [],
    audit_entries: [],
    deliveries: []
  }
}

type Part = (batch: Batch) => Batch

const rowsOf =
  (...tables: ReadonlyArray<keyof Batch["rows"]>): Part =>
  (batch) => ({ ...batch, rows: { ...batch.rows, ...Object.fromEntries(tables.map((table) => [table, ["{}"]])) } })

/** Every part, with those that it never comes without. */
const parts: ReadonlyArray<Part> = [
  ...flushTableNames.map((table) => rowsOf(table)),
  (batch) => ({ ...batch, fence: { ids: ["exec_1"], epochs: [1] } }),
  (batch) => ({ ...batch, hasClaims: true }),
  (batch) => ({ ...batch, hasClaims: true, hasSignatures: true }),
  (batch) => ({ ...batch, hasReplays: true }),
  (batch) => rowsOf("events", "start_queue")({ ...batch, allowances: [{}] }),
  (batch) => ({ ...batch, patches: [{}] }),
  (batch) => ({ ...batch, settlements: [{}] }),
  (batch) => ({ ...batch, deadLetters: [{}] }),
  (batch) => ({ ...batch, ticks: [{}] }),
  (batch) => rowsOf("executions")({ ...batch, tickFailures: [{}] }),
  (batch) => ({ ...batch, endedRuns: ["exec_1"] }),
  (batch) => ({ ...batch, dequeuedRuns: ["exec_1"] }),
  (batch) => ({ ...batch, freedLanes: [{}] })
]

/** The subsets of up to `size` parts. */
const subsets = (size: number, from = 0): ReadonlyArray<ReadonlyArray<Part>> =>
  size === 0
    ? [[]]
    : [[], ...parts.slice(from).flatMap((part, n) => subsets(size - 1, from + n + 1).map((rest) => [part, ...rest]))]

const batchOf = (chosen: ReadonlyArray<Part>) => chosen.reduce((batch, part) => part(batch), empty)

/** A connection of the superuser to a database of its own. */
const connection = Effect.flatMap(TestDatabase, ({ admin }) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Client({ connectionString: Redacted.value(admin) })
      await client.connect()
      return client
    }),
    (client) => Effect.promise(() => client.end())
  )
)

const growing = ["runs", "start_queue", "events", "dead_letters"]
const values: Readonly<Record<string, string>> = {
  text: "'x'",
  smallint: "1",
  integer: "1",
  bigint: "1",
  boolean: "false",
  json: "'{}'",
  "timestamp with time zone": "now()"
}

/** Inserts a row with a value in each column that needs one, and has Postgres count the rows. */
const insertRow = async (client: Client, table: string) => {
  const { rows } = await client.query<{ readonly name: string; readonly type: string }>(
    `SELECT column_name AS name, data_type AS type FROM information_schema.columns WHERE table_name = $1
       AND is_nullable = 'NO' AND column_default IS NULL AND is_identity = 'NO' AND is_generated = 'NEVER'`,
    [table]
  )
  const columns = rows.map(({ name }) => name).join(", ")
  await client.query(`INSERT INTO ${table} (${columns}) VALUES (${rows.map(({ type }) => values[type]).join(", ")})`)
  await client.query(`ANALYZE ${table}`)
}

interface PlanNode {
  readonly "Node Type": string
  readonly "Relation Name"?: string
  readonly "Index Cond"?: string
  readonly Plans?: ReadonlyArray<PlanNode>
}

/** The scans of growing tables that read all of their rows. */
const wholeScans = (node: PlanNode): ReadonlyArray<string> => {
  const { Plans: inner = [], "Index Cond": condition, "Node Type": type, "Relation Name": relation = "" } = node
  const isWhole = type.endsWith("Scan") && growing.includes(relation) && condition === undefined
  return [...(isWhole ? [`${type} on ${relation}`] : []), ...inner.flatMap(wholeScans)]
}

describe("The statement of a flush", () => {
  it.effect(
    "is valid for every combination of up to three parts, and of all but up to two, also when it is sent again",
    () =>
      Effect.gen(function* () {
        const client = yield* connection
        const statementOf = makeStatements()
        const without = subsets(2).map((left) => parts.filter((part) => !left.includes(part)))
        const texts = new Map<string, string>()
        for (const chosen of [...subsets(3), ...without])
          for (const isResend of [false, true]) {
            const { name, text, values } = statementOf(batchOf(chosen), isResend)
            assert.strictEqual(
              Math.max(...[...text.matchAll(/\$(\d+)/g)].map(([, n]) => Number(n))),
              values.length,
              text
            )
            assert.isAtMost(name.length, 63)
            assert.strictEqual(texts.get(name) ?? text, text, "two statements have the same name")
            texts.set(name, text)
          }
        assert.isAbove(texts.size, 2_000)
        const refusal = yield* Effect.promise(async () => {
          for (const text of texts.values())
            try {
              await client.query(`PREPARE flush AS ${text}; DEALLOCATE flush`)
            } catch (error) {
              return `${String(error)}\n${text}`
            }
          return undefined
        })
        assert.isUndefined(refusal)
      }).pipe(Effect.scoped, Effect.provide(layer)),
    60_000
  )

  it.effect("finds rows by their ids, also by a plan that was made while the tables were short", () =>
    Effect.gen(function* () {
      const client = yield* connection
      yield* Effect.promise(async () => {
        for (const table of growing) await insertRow(client, table)
        await client.query(planSettings)
      })
      const statementOf = makeStatements()
      for (const chosen of [...subsets(2), parts])
        for (const isResend of [false, true]) {
          const { text } = statementOf(batchOf(chosen), isResend)
          const { rows } = yield* Effect.promise(() => client.query(`EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${text}`))
          assert.deepStrictEqual(wholeScans(rows[0]["QUERY PLAN"][0].Plan), [], text)
        }
    }).pipe(Effect.scoped, Effect.provide(layer))
  )
})
