/**
 * Maps records to rows: member `externalRef` is column `external_ref`, times are RFC 3339 text, `organisationId` is
 * `org`.
 */
import type { Schema } from "effect"

export interface Table<R> {
  readonly name: string
  /** All members, in the order of their columns. */
  readonly members: ReadonlyArray<keyof R & string>
  /** Members that are JSON documents. */
  readonly json?: ReadonlyArray<keyof R & string>
  /** The columns of members that are not called like them in snake case. */
  readonly columns?: { readonly [K in keyof R]?: string }
  /** The primary key. */
  readonly key: ReadonlyArray<keyof R & string>
  /** The member that lists are ordered by, newest first. */
  readonly createdMember: keyof R & string
  readonly isVersioned: boolean
}

const renamedColumns: { readonly [member: string]: string } = { organisationId: "org", spaceId: "space" }

/** The column of a member, unless its table names another one. */
export const defaultColumn = (member: string): string =>
  renamedColumns[member] ?? member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** The column of a member: its name in snake case, unless the table says another. */
export const columnOf = <R>(table: Table<R>, member: keyof R & string): string =>
  table.columns?.[member] ?? defaultColumn(member)

/** The query parameter for a member's value. */
export const parameterOf = <R>(table: Table<R>, member: keyof R & string, value: unknown): unknown =>
  table.json?.includes(member) === true && value !== null ? JSON.stringify(value) : value

/** The record of a row that was selected with `selectColumns`. */
export const recordOf = <R>(row: { readonly [member: string]: unknown }): R => {
  const record: { [member: string]: unknown } = {}
  for (const [member, value] of Object.entries(row))
    record[member] = value instanceof Date ? value.toISOString() : value
  // The columns are the table's members, and the migrations give them the members' types.
  return record as R
}

/**
 * The table of a record. `stored`: its schema, whose members are the columns. Unless `options` say otherwise, the key is the
 * id, lists are ordered by the time of creation, and a member `version` counts the changes.
 */
export const tableOf = <F extends Schema.Struct.Fields>(
  name: string,
  stored: Schema.Struct<F>,
  options: Partial<Omit<Table<Schema.Struct.Type<F>>, "name" | "members">> = {}
): Table<Schema.Struct.Type<F>> => {
  // A struct's members are the names of its fields, and the defaults name members that a table without them overrides.
  const members = Object.keys(stored.fields) as Array<keyof Schema.Struct.Type<F> & string>
  const named = (member: string) => member as keyof Schema.Struct.Type<F> & string
  return {
    name,
    members,
    key: [named("id")],
    createdMember: named("createdAt"),
    isVersioned: "version" in stored.fields,
    ...options
  }
}

/** The columns of a record under the names of its members. */
export const selectColumns = <R>(table: Table<R>): string =>
  table.members.map((member) => `"${columnOf(table, member)}" AS "${member}"`).join(", ")
