/** Rows are decoded by the schema of their record: one that does not fit is found at each column, and quoted nowhere. */
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, FastCheck, Schema } from "effect"
import { hasOperatorText, operatorText } from "../../src/domain/OperatorText.js"
import { connectSessions, tables as recordTables } from "../../src/runtime/postgres/record/RecordTables.js"
import { columnOf, type Table, UnexpectedRow } from "../../src/runtime/postgres/record/Table.js"

/** What the tests look at in a table, of whatever record. */
type AnyTable = Pick<Table<object>, "name" | "decode" | "fields"> & {
  readonly json: ReadonlyArray<string>
  readonly members: ReadonlyArray<string>
}

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

/** A row that fits: JSON is empty where it may be, other members have what their schema makes. */
const fittingRow = (table: AnyTable): object => {
  const row: { [member: string]: unknown } = {}
  for (const member of table.members) {
    const isFitting = (value: unknown) => refusalOf(table, { ...row, [member]: value })?.column !== columnOf(member)
    const schema = Schema.typeSchema(Schema.Struct(table.fields).pipe(Schema.pick(member)))
    const documents = table.json.includes(member) ? [[], {}, null].filter(isFitting) : []
    row[member] =
      documents.length > 0
        ? documents[0]
        : FastCheck.sample(Arbitrary.make(schema), { numRuns: 1, seed: 1 })[0]?.[member]
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
    const time = new Date("2026-01-01T00:00:00Z")
    const { createdAt } = recordTables.environments.decode({
      ...fittingRow(recordTables.environments),
      createdAt: time
    })
    assert.strictEqual(createdAt, time.toISOString())
  })
})
