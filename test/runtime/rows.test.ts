/** Rows are decoded by the schema of their record: one that does not fit is found at each column, and quoted nowhere. */
import { assert, describe, it } from "@effect/vitest"
import { hasOperatorText, operatorText } from "../../src/domain/OperatorText.js"
import { connectSessions, tables as recordTables } from "../../src/runtime/postgres/record/RecordTables.js"
import { columnOf, type Table, UnexpectedRow } from "../../src/runtime/postgres/record/Table.js"

/** What the tests look at in a table, of whatever record. */
type AnyTable = Pick<Table<object>, "name" | "decode"> & { readonly members: ReadonlyArray<string> }

const tables: ReadonlyArray<AnyTable> = [...Object.values<AnyTable>(recordTables), connectSessions]

/** What the error of a row names; `undefined`: the row fits. */
const refusalOf = ({ decode }: AnyTable, row: object) => {
  try {
    decode(row)
    return undefined
  } catch (error) {
    assert.instanceOf(error, UnexpectedRow)
    return error
  }
}

const time = new Date("2026-01-01T00:00:00Z")
const ulid = "0".repeat(26)
const ids =
  "org spc cus key sec usr role env rel dlv inst ctr aup conn cred trg att ntf whe cs apv team prj exec fmp".split(" ")
/** Values of every kind that a column has; each member takes the first that fits. */
const values: ReadonlyArray<unknown> = [
  ...ids.map((prefix) => `${prefix}_${ulid}`),
  "wf_000000000000",
  "active",
  "published",
  "created",
  "code",
  "instant",
  "test",
  "viewer",
  "all",
  "text",
  "builtin",
  "webhook",
  "pending",
  "growth",
  "queued",
  "open",
  "delivered",
  "saas",
  "error",
  "email",
  "approve",
  "user",
  "a text",
  7,
  true,
  time,
  Buffer.from("sealed"),
  [],
  {},
  { enabled: true, maxAttempts: 1, backoff: "fixed", initialMs: 1, coefficient: 1, maxMs: 1, jitter: 0 },
  { state: "ok", lastCheckedAt: null, lastError: null, consecutiveFailures: 0 },
  null
]

/** A row that fits: for each member the first of `values` that is not refused. */
const fittingRow = (table: AnyTable): object => {
  const row: { [member: string]: unknown } = {}
  for (const member of table.members) {
    const value = values.find((one) => refusalOf(table, { ...row, [member]: one })?.column !== columnOf(member))
    assert.isDefined(value, `${table.name}: no value fits ${member}`)
    row[member] = value
  }
  return row
}

describe("a row", () => {
  it("is decoded in all tables of records", () => {
    assert.isAbove(tables.length, 25)
    // A table may be read as a summary, too.
    const described = tables.map(({ members, name }) => `${name} ${members.toSorted().join()}`)
    assert.strictEqual(new Set(described).size, tables.length)
  })

  it.each(tables.map((table) => [table.name, table] as const))("of %s fits, or names its column", (name, table) => {
    const row = fittingRow(table)
    assert.isUndefined(refusalOf(table, row))
    for (const member of table.members) {
      // No column holds a function, and a missing column is none of any type.
      for (const wrong of [() => "secret-of-a-tenant", undefined]) {
        const error = refusalOf(table, { ...row, [member]: wrong })
        assert.deepInclude(error, { table: name, column: columnOf(member) })
        assert.isTrue(error !== undefined && hasOperatorText(error))
        const text = `${error?.[operatorText]} ${error?.message} ${String(error)}`
        assert.include(text, `${name}`)
        assert.notInclude(text, "secret-of-a-tenant")
      }
    }
  })

  it("has its times as RFC 3339", () => {
    const { createdAt } = recordTables.environments.decode({
      ...fittingRow(recordTables.environments),
      createdAt: time
    })
    assert.strictEqual(createdAt, time.toISOString())
  })
})
