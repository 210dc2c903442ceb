/**
 * Pages of lists at a bounded cost. An index finds a list's newest rows, and only so many of them are looked at: filters that
 * no index has may match none of a million rows. A page that ends there says how far it came, and the next one goes on.
 */
import type { Sql } from "../database/Sql.js"
import { Effect, Schema } from "effect"
import type { ListedRows } from "../../../actors/ports/event/EventReads.js"
import { rowDecoder } from "../record/Table.js"

/** Rows of a table that one page looks at. */
const rowsLookedAt = 5_000

/** A table's part of a list. */
export interface ListedTable {
  /** The columns of a row from `source`. */
  readonly select: (source: string) => string
  readonly table: string
  /** Conditions that one index has together, which is sorted by id. */
  readonly indexed: ReadonlyArray<string>
  /** Conditions on the rows that are looked at, of this table alone; their parameters are among those of the filters. */
  readonly filters?: ReadonlyArray<string>
}

export interface BoundedQuery {
  readonly tables: ReadonlyArray<ListedTable>
  /** The values of the parameters of the indexed conditions, from `$1` on. */
  readonly indexedValues: ReadonlyArray<unknown>
  /** Conditions on the rows that are looked at. */
  readonly filters: ReadonlyArray<string>
  /** The values of their parameters, which follow. */
  readonly filterValues: ReadonlyArray<unknown>
  readonly limit: number
}

const all = (conditions: ReadonlyArray<string>) => (conditions.length === 0 ? "true" : conditions.join(" AND "))

const lookAt = ({ indexed, table }: ListedTable, columns: string, more: ReadonlyArray<string> = []) =>
  `SELECT ${columns} FROM ${table} WHERE ${all([...indexed, ...more])} ORDER BY id DESC`

const decodeEnd = rowDecoder("of pages", { id: Schema.NullOr(Schema.String) })

/** Newest first. */
export const boundedPage = Effect.fnUntraced(function* <Row extends { readonly id: string }>(
  sql: Sql,
  { filterValues, filters, indexedValues, limit, tables }: BoundedQuery,
  decode: (row: object) => Row
) {
  const parts = tables.map(
    (one) =>
      `(${one.select(`(${lookAt(one, "*")} LIMIT ${rowsLookedAt})`)} WHERE ${all([...(one.filters ?? []), ...filters])} ORDER BY id DESC LIMIT ${limit})`
  )
  const found = (yield* sql.unsafe(
    `SELECT * FROM (${parts.join(" UNION ALL ")}) AS page ORDER BY id DESC LIMIT ${limit}`,
    [...indexedValues, ...filterValues]
  )).map(decode)
  // A full page was looked for down to its last row only.
  const last = found.length < limit ? undefined : found.at(-1)?.id
  const floor = `$${indexedValues.length + 1}`
  const ends = tables.map((one) => `(${lookAt(one, "id", [`id >= ${floor}`])} OFFSET ${rowsLookedAt - 1} LIMIT 1)`)
  const [end] = (yield* sql.unsafe(`SELECT max(id COLLATE "C") AS id FROM (${ends.join(" UNION ALL ")}) AS ends`, [
    ...indexedValues,
    last ?? ""
  ])).map(decodeEnd)
  const lookedTo = end?.id ?? undefined
  // Before it rows of another table may be missing.
  const rows = lookedTo === undefined ? found : found.filter(({ id }) => id >= lookedTo)
  return { rows, ...(lookedTo === undefined ? {} : { lookedTo }) } satisfies ListedRows<Row>
})
