/** How a record is a row: member `externalRef` is column `external_ref`, times are RFC 3339 text, the tenant is `org`. */
export interface Table<R> {
  readonly name: string
  /** Members in the order of their columns. */
  readonly members: ReadonlyArray<keyof R & string>
  /** Members that are JSON documents. */
  readonly json?: ReadonlyArray<keyof R & string>
  /** Members whose columns are not their names in snake case. */
  readonly columns?: { readonly [K in keyof R]?: string }
  /** What identifies a row. */
  readonly key: ReadonlyArray<keyof R & string>
  /** The member that tells when it was made. */
  readonly created: keyof R & string
  readonly versioned: boolean
}

const special: { readonly [member: string]: string } = { organisationId: "org", spaceId: "space" }

/** The column of a member, where its table does not say otherwise. */
export const columnName = (member: string): string =>
  special[member] ?? member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

export const column = <R>(table: Table<R>, member: keyof R & string): string =>
  table.columns?.[member] ?? columnName(member)

/** A member's value as a query parameter. */
export const parameter = <R>(table: Table<R>, member: keyof R & string, value: unknown): unknown =>
  table.json?.includes(member) === true && value !== null ? JSON.stringify(value) : value

/** A row as its record: columns were selected under the members' names. */
export const recordOf = <R>(row: { readonly [member: string]: unknown }): R => {
  const record: { [member: string]: unknown } = {}
  for (const [member, value] of Object.entries(row))
    record[member] = value instanceof Date ? value.toISOString() : value
  // The columns are the table's members; their types are the schema's.
  return record as R
}

export const selection = <R>(table: Table<R>): string =>
  table.members.map((member) => `"${column(table, member)}" AS "${member}"`).join(", ")
