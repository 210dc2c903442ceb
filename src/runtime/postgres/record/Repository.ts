/** The statements on one table of records, in the caller's transaction. */
import type { Sql } from "../database/Sql.js"
import { Effect, FiberRef, Option, Schema } from "effect"
import { Changed, type ListQuery, type Repository, type Where } from "../../../actors/ports/Records.js"
import { transactionWrites } from "../database/CommitLog.js"
import { conditionsOf, listConditions, makeParameters, whereClause } from "./Conditions.js"
import { readError, writeError } from "./RecordErrors.js"
import { columnOf, countOf, parameterOf, rowDecoder, selectColumns, type Table } from "./Table.js"

/** A table and the connection that reads it. */
interface TableAccess<R> {
  readonly sql: Sql
  readonly table: Table<R>
}

/** Notes that the transaction has written, so that its commit is announced. */
export const noteWrite = Effect.map(FiberRef.get(transactionWrites), (state) => {
  if (state !== undefined) state.isWritten = true
})

const select = <R>({ sql, table }: TableAccess<R>, conditions: Where<R>, lock: string) => {
  const { add, values } = makeParameters()
  return sql
    .unsafe(
      `SELECT ${selectColumns(table)} FROM ${table.name}${whereClause(conditionsOf(table, conditions, add))} LIMIT 1${lock}`,
      values
    )
    .pipe(
      Effect.map(([row]) => Option.map(Option.fromNullable(row), table.decode)),
      Effect.catchAll(readError)
    )
}

const list = <R>({ sql, table }: TableAccess<R>, query: ListQuery<R>) => {
  const { add, values } = makeParameters()
  const created = `date_trunc('milliseconds', "${columnOf(table.createdMember)}")`
  const order =
    table.createdMember === "number"
      ? "number DESC"
      : table.members.includes("id" as keyof R & string)
        ? `${created} DESC, id DESC`
        : `"${columnOf(table.createdMember)}" DESC`
  const text = `SELECT ${selectColumns(table)} FROM ${table.name}${whereClause(listConditions(table, query, add))} ORDER BY ${order} LIMIT ${add(query.limit)}`
  return sql.unsafe(text, values).pipe(
    Effect.map((rows) => rows.map(table.decode)),
    Effect.catchAll(readError)
  )
}

const count = <R>({ sql, table }: TableAccess<R>, conditions: Where<R>) => {
  const { add, values } = makeParameters()
  return sql
    .unsafe(`SELECT count(*)::int AS n FROM ${table.name}${whereClause(conditionsOf(table, conditions, add))}`, values)
    .pipe(Effect.map(countOf), Effect.catchAll(readError))
}

const decodeGroup = rowDecoder("of groups", {
  value: Schema.NullOr(Schema.Union(Schema.String, Schema.Number)),
  n: Schema.Number
})

const countBy = <R>({ sql, table }: TableAccess<R>, member: keyof R & string, conditions: Where<R>) => {
  const { add, values } = makeParameters()
  return sql
    .unsafe(
      `SELECT "${columnOf(member)}" AS value, count(*)::int AS n FROM ${table.name}${whereClause(conditionsOf(table, conditions, add))} GROUP BY 1`,
      values
    )
    .pipe(
      Effect.map((rows) => new Map(rows.map(decodeGroup).map(({ n, value }) => [value, n]))),
      Effect.catchAll(readError)
    )
}

/** The statement that inserts a record. */
export const insertRecord = <R>({ sql, table }: TableAccess<R>, record: R) => {
  const { add, values } = makeParameters()
  const columns = table.members.map((member) => `"${columnOf(member)}"`).join(", ")
  const places = table.members.map((member) => add(parameterOf(table, member, record[member]))).join(", ")
  return sql.unsafe(`INSERT INTO ${table.name} (${columns}) VALUES (${places})`, values)
}

const update = <R>({ sql, table }: TableAccess<R>, record: R) => {
  const { add, values } = makeParameters()
  const sets = table.members
    .filter((member) => !table.key.includes(member))
    .map((member) => `"${columnOf(member)}" = ${add(parameterOf(table, member, record[member]))}`)
  const conditions = table.key.map((member) => `"${columnOf(member)}" = ${add(record[member])}`)
  const version = table.isVersioned ? Number(record["version" as keyof R]) - 1 : undefined
  const versionedConditions = version === undefined ? conditions : [...conditions, `version = ${add(version)}`]
  return sql
    .unsafe(`UPDATE ${table.name} SET ${sets.join(", ")}${whereClause(versionedConditions)} RETURNING 1`, values)
    .pipe(
      Effect.catchAll(writeError),
      Effect.flatMap((rows) => (rows.length === 0 ? new Changed() : noteWrite))
    )
}

const remove = <R>({ sql, table }: TableAccess<R>, conditions: Where<R>) => {
  const { add, values } = makeParameters()
  return sql
    .unsafe(`DELETE FROM ${table.name}${whereClause(conditionsOf(table, conditions, add))} RETURNING 1`, values)
    .pipe(
      Effect.zipLeft(noteWrite),
      Effect.map((rows) => rows.length),
      Effect.catchAll(readError)
    )
}

/** The repository of a table. */
export const makeRepository = <R>(sql: Sql, table: Table<R>): Repository<R> => {
  const access = { sql, table }
  return {
    find: (conditions) => select(access, conditions, ""),
    // Not FOR UPDATE: an insert that refers to the record would wait for it, perhaps with a lock that this one waits for.
    lock: (conditions) => select(access, conditions, " FOR NO KEY UPDATE"),
    list: (query) => list(access, query),
    count: (conditions) => count(access, conditions),
    countBy: (member, conditions) => countBy(access, member, conditions),
    insert: (record) => insertRecord(access, record).pipe(Effect.zipRight(noteWrite), Effect.catchAll(writeError)),
    update: (record) => update(access, record),
    remove: (conditions) => remove(access, conditions)
  }
}
