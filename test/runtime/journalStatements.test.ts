/** A flush is one statement of the parts that its batch needs: each combination of parts is a valid statement. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Client } from "pg"
import { OrganisationId } from "../../src/domain/Ids.js"
import { claims, resentEvents, signatures } from "../../src/runtime/postgres/journal/AcceptedChanges.js"
import { planSettings } from "../../src/runtime/postgres/journal/Flush.js"
import type { FlushPart, PreparedUnit } from "../../src/runtime/postgres/journal/FlushPart.js"
import { flushTables } from "../../src/runtime/postgres/journal/FlushTables.js"
import { flushParts, makeStatements, textOf } from "../../src/runtime/postgres/journal/Statement.js"
import { quotas } from "../../src/runtime/postgres/quota/QuotaDecision.js"
import { tickFailures } from "../../src/runtime/postgres/trigger/ScheduleParts.js"
import { adminConnection, layer } from "../support/Database.js"

const optional = flushParts.filter(({ when }) => when !== undefined)

/** The parts that a part never comes without. */
const companions = new Map<FlushPart, ReadonlyArray<FlushPart>>([
  [signatures, [claims]],
  [quotas, flushTables.filter(({ name }) => name === "events" || name === "start_queue")],
  [tickFailures, flushTables.filter(({ name }) => name === "executions")],
  [resentEvents, flushTables.filter(({ name }) => name === "events")]
])

/** The subsets of up to `size` parts. */
const subsets = (size: number, from = 0): ReadonlyArray<ReadonlyArray<FlushPart>> =>
  size === 0
    ? [[]]
    : [[], ...optional.slice(from).flatMap((part, n) => subsets(size - 1, from + n + 1).map((rest) => [part, ...rest]))]

/** The statement of these parts and their companions, with the number of its values. */
const statementOf = (chosen: ReadonlyArray<FlushPart>) => {
  const all = new Set(chosen.flatMap((part) => [part, ...(companions.get(part) ?? [])]))
  const text = textOf((part) => all.has(part))
  const values = flushParts
    .filter((part) => part.when === undefined || all.has(part))
    .flatMap((part) => part.values?.({ units: [], runs: [], isResend: false }) ?? [])
  return { text, parameters: values.length }
}

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
        const client = yield* adminConnection
        const without = subsets(2).map((left) => optional.filter((part) => !left.includes(part)))
        const texts = new Set<string>()
        for (const chosen of [...subsets(3), ...without]) {
          const { parameters, text } = statementOf(chosen)
          assert.strictEqual(Math.max(...[...text.matchAll(/\$(\d+)/g)].map(([, n]) => Number(n))), parameters, text)
          texts.add(text)
        }
        assert.isAbove(texts.size, 2_000)
        const refusal = yield* Effect.promise(async () => {
          for (const text of texts)
            try {
              await client.query(`PREPARE flush AS ${text}; DEALLOCATE flush`)
            } catch (error) {
              return `${String(error)}\n${text}`
            }
          return undefined
        })
        assert.isUndefined(refusal)
      }).pipe(Effect.scoped, Effect.provide(layer))
  )

  it.effect("finds rows by their ids, also by a plan that was made while the tables were short", () =>
    Effect.gen(function* () {
      const client = yield* adminConnection
      yield* Effect.promise(async () => {
        for (const table of growing) await insertRow(client, table)
        await client.query(planSettings)
      })
      for (const chosen of [...subsets(2), optional]) {
        const { text } = statementOf(chosen)
        const { rows } = yield* Effect.promise(() => client.query(`EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${text}`))
        assert.deepStrictEqual(wholeScans(rows[0]["QUERY PLAN"][0].Plan), [], text)
      }
    }).pipe(Effect.scoped, Effect.provide(layer))
  )

  it("has one name and text for each set of parts, which a further unit or another value does not change", () => {
    const makeStatement = makeStatements()
    const unit = (rows: PreparedUnit["rows"]): PreparedUnit => ({
      unit: { organisationId: OrganisationId.make(`org_${"0".repeat(26)}`), runs: [] },
      ids: ["evt_1"],
      rows,
      size: 0
    })
    const one = makeStatement([unit({ logs: ["{}"] })], false)
    const two = makeStatement([unit({ logs: [`{"seq":1}`] }), unit({})], true)
    const other = makeStatement([unit({ logs: ["{}"], blobs: ["{}"] })], false)
    assert.deepStrictEqual([two.name, two.text], [one.name, one.text])
    assert.deepStrictEqual(two.values.at(-1), `[{"seq":1}]`)
    assert.notStrictEqual(other.name, one.name)
    assert.notStrictEqual(other.text, one.text)
    // Postgres truncates names to 63 bytes; a set of 53 parts has an exact number.
    assert.isAtMost(flushParts.length, 53)
    assert.isAtMost(`svc_${(2 ** flushParts.length).toString(36)}`.length, 63)
  })
})
