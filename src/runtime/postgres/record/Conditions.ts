/** The conditions of statements on records, with their parameters. */
import type { ListQuery, MemberFilter, Where } from "../../../actors/ports/Records.js"
import { columnOf, type Table } from "./Table.js"

/** Collects the parameters of a statement; `add` returns the placeholder of a value. */
export const makeParameters = () => {
  const values: Array<unknown> = []
  return { values, add: (value: unknown) => `$${values.push(value)}` }
}

/** One condition for each member: a value, any of several, or absence. */
export const conditionsOf = <R>(
  table: Table<R>,
  where: Where<R>,
  add: (value: unknown) => string
): ReadonlyArray<string> =>
  table.members.flatMap((member) => {
    const value = where[member]
    if (value === undefined) return []
    const name = `"${columnOf(member)}"`
    if (value === null) return [`${name} IS NULL`]
    if (!Array.isArray(value)) return [`${name} = ${add(value)}`]
    const any = `${name} = ANY(${add(value.filter((one) => one !== null))})`
    return [value.includes(null) ? `(${any} OR ${name} IS NULL)` : any]
  })

/** Requires that all of a member lies among these values. */
const amongCondition = <R>(
  table: Table<R>,
  { among, member, part }: MemberFilter<R>,
  add: (value: unknown) => string
): string => {
  const name = `"${columnOf(member)}"`
  const values = `${add(among)}::text[]`
  if (part === "items") return `${name} <@ ${values}`
  const item = part === "keys" ? "key" : "value"
  return `NOT EXISTS (SELECT 1 FROM jsonb_each_text(${name}) AS held WHERE held.${item} <> ALL (${values}))`
}

/** The conditions of a list: its filters, its search, its period and where the page begins. */
export const listConditions = <R>(
  table: Table<R>,
  query: ListQuery<R>,
  add: (value: unknown) => string
): ReadonlyArray<string> => {
  const created = `"${columnOf(table.createdMember)}"`
  const found = query.search
  const pattern = found === undefined ? "" : add(`%${found.text.replace(/[\\%_]/g, "\\$&")}%`)
  return [
    ...conditionsOf(table, query.where ?? {}, add),
    ...(query.only ?? []).map((only) => amongCondition(table, only, add)),
    ...(query.some ?? []).map(({ among, member }) => `"${columnOf(member)}" && ${add(among)}::text[]`),
    ...(found === undefined
      ? []
      : [`(${found.in.map((member) => `"${columnOf(member)}" ILIKE ${pattern}`).join(" OR ")})`]),
    ...(query.createdAfter === undefined ? [] : [`${created} > ${add(query.createdAfter)}`]),
    ...(query.createdBefore === undefined ? [] : [`${created} < ${add(query.createdBefore)}`]),
    // The API shows milliseconds and Postgres stores microseconds: both sides are truncated to milliseconds.
    ...(query.after === undefined
      ? []
      : [
          `(date_trunc('milliseconds', ${created}), id) < (${add(query.after.createdAt)}::timestamptz, ${add(query.after.id)})`
        ])
  ]
}

/** The `WHERE` clause of these conditions, if there are any. */
export const whereClause = (conditions: ReadonlyArray<string>) =>
  conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`
