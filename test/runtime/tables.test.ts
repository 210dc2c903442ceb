/** Every table of the catalogue has a row, which says what becomes of it; and rows of records fit their columns. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { allTables } from "../../src/runtime/postgres/record/AllTables.js"
import { connectSessions, tables } from "../../src/runtime/postgres/record/RecordTables.js"
import { columnOf, type Table } from "../../src/runtime/postgres/record/Table.js"
import type { TableRules } from "../../src/runtime/postgres/record/TableRules.js"
import { layer as database, ownerSql } from "../support/Database.js"
import { layer } from "../support/layer.js"
import { scaled } from "../support/slowness.js"

const rulesOf: ReadonlyMap<string, TableRules> = new Map(allTables)
const places: ReadonlyMap<string, number> = new Map(allTables.map(([table], place) => [table, place]))
const isErased = ({ erasedBy, erasedInBatches, erases }: TableRules) =>
  [erasedBy, erasedInBatches, erases].some((one) => one !== undefined)

/** Tables that keep rows of a deleted customer, with the reason. */
const keepers: ReadonlySet<string> = new Set([
  "audit_entries" // no entry of the trail is ever removed, but its values are
])

const tablesSql = `SELECT c.relname AS name, EXISTS (SELECT FROM pg_attribute a
    WHERE a.attrelid = c.oid AND a.attname LIKE '%customer%' AND NOT a.attisdropped) AS of_customers
  FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition`
const referencesSql = `SELECT conrelid::regclass::text AS name, confrelid::regclass::text AS target, confdeltype = 'c' AS cascades
  FROM pg_constraint WHERE contype = 'f' AND conrelid <> confrelid AND conparentid = 0`

/** What the rows of tables lack, as what to do. */
const problems = Effect.gen(function* () {
  const owner = yield* ownerSql
  const found = yield* owner.unsafe<{ name: string; of_customers: boolean }>(tablesSql)
  const references = yield* owner.unsafe<{ name: string; target: string; cascades: boolean }>(referencesSql)
  const names = new Set(found.map(({ name }) => name))
  return [
    ...found.flatMap(({ name, of_customers }) => {
      const rules = rulesOf.get(name)
      if (rules === undefined)
        return [`${name}: add its row to RecordTables.ts, or to AllTables.ts if management has no records of it`]
      return of_customers && !isErased(rules) && !keepers.has(name)
        ? [`${name}: say in its row how rows of a deleted customer are erased`]
        : []
    }),
    ...[...rulesOf.keys()].flatMap((name) => (names.has(name) ? [] : [`${name}: no migration creates it`])),
    ...references.flatMap(({ cascades, name, target }) => {
      const rules = rulesOf.get(name)
      const isTargetErased = isErased(rulesOf.get(target) ?? {})
      if (rules === undefined || !isTargetErased) return []
      if (!cascades && !isErased(rules))
        return [`${name}: say in its row how it is erased, since it refers to ${target}, which is`]
      return (places.get(name) ?? 0) < (places.get(target) ?? 0)
        ? [`${name}: move its row below that of ${target}`]
        : []
    })
  ].toSorted()
})

const records: ReadonlyArray<
  Pick<Table<object>, "name"> & { readonly json: ReadonlyArray<string>; readonly members: ReadonlyArray<string> }
> = [...Object.values<(typeof records)[number]>(tables), connectSessions]

layer(database, { excludeTestServices: true, timeout: scaled(60_000) })("the tables of the catalogue", (it) => {
  it.scoped("have a row each, and each is erased before those that it refers to", () =>
    Effect.map(problems, (found) => assert.deepStrictEqual(found, []))
  )

  it.scoped("are missed where they have no row", () =>
    Effect.gen(function* () {
      const owner = yield* ownerSql
      yield* owner`CREATE TABLE forgotten (id text PRIMARY KEY, customer_id text REFERENCES customers)`
      yield* owner`ALTER TABLE lanes ADD COLUMN customer_id text REFERENCES customers`
      const found = yield* problems
      yield* owner`ALTER TABLE lanes DROP COLUMN customer_id`
      yield* owner`DROP TABLE forgotten`
      assert.includeMembers(
        [...found],
        [
          "forgotten: add its row to RecordTables.ts, or to AllTables.ts if management has no records of it",
          "lanes: say in its row how it is erased, since it refers to customers, which is",
          "lanes: say in its row how rows of a deleted customer are erased"
        ]
      )
    })
  )

  it.scoped("have a column for each member of their record, of JSON where the record is written as JSON", () =>
    Effect.gen(function* () {
      const owner = yield* ownerSql
      const columns = yield* owner.unsafe<{ place: string; type: string }>(
        "SELECT table_name || '.' || column_name AS place, udt_name AS type FROM information_schema.columns WHERE table_schema = 'public'"
      )
      const types = new Map(columns.map(({ place, type }) => [place, type]))
      const wrong = records.flatMap(({ json, members, name }) =>
        members.flatMap((member) => {
          const place = `${name}.${columnOf(member)}`
          const type = types.get(place)
          if (type === undefined) return [`${place}: add the column in a migration`]
          if (/^jsonb?$/.test(type) === json.includes(member)) return []
          return [`${place} is ${type}: a list of texts is JSON only if jsonLists of its row names it`]
        })
      )
      assert.deepStrictEqual(wrong, [])
    })
  )
})
