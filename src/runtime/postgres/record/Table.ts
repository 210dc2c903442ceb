/**
 * Maps records to rows: member `externalRef` is column `external_ref`, times are RFC 3339 text, `organisationId` is
 * `org`.
 */
import { Data, Schema, SchemaAST } from "effect"
import { operatorText } from "../../../domain/OperatorText.js"
import { ofErasableCustomer, type TableRules } from "./TableRules.js"

export interface Table<R> extends TableRules {
  readonly name: string
  /** The schemas of its records' members. */
  readonly fields: Schema.Struct.Fields
  /** All members, in the order of their columns. */
  readonly members: ReadonlyArray<keyof R & string>
  /** Members that are JSON documents. */
  readonly json: ReadonlyArray<keyof R & string>
  /** The primary key. */
  readonly key: ReadonlyArray<keyof R & string>
  /** The member that lists are ordered by, newest first. */
  readonly createdMember: keyof R & string
  readonly isVersioned: boolean
  /** It shows rows of another record's table. */
  readonly isView?: boolean
  /** The record of a row that was selected with `selectColumns`; see `rowDecoder`. */
  readonly decode: (row: object) => R
}

const renamedColumns: { readonly [member: string]: string } = { organisationId: "org", spaceId: "space" }

/** The column of a member: its name in snake case, but for `renamedColumns`. */
export const columnOf = (member: string): string =>
  renamedColumns[member] ?? member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** The query parameter for a member's value. */
export const parameterOf = <R>(table: Table<R>, member: keyof R & string, value: unknown): unknown =>
  value !== null && table.json.includes(member) ? JSON.stringify(value) : value

/** A stored row that its record's schema does not admit: this release did not write it. */
export class UnexpectedRow extends Data.Error<{ readonly table: string; readonly column: string }> {
  override readonly name = "UnexpectedRow"
  /** Quotes no value. */
  get [operatorText]() {
    return `a row of the table ${this.table} has a value in the column ${this.column} that this release cannot read: run the release that wrote it, or restore the row`
  }
}

const isStruct = <F extends Schema.Struct.Fields>(fields: Schema.Struct<F> | F): fields is Schema.Struct<F> =>
  Schema.isSchema(fields)

/**
 * Decodes rows that were selected under the names of the record's members, or of `fields`: times become RFC 3339, and each
 * member must fit its schema. A row that does not fit is the defect `UnexpectedRow`.
 */
export const rowDecoder = <F extends Schema.Struct.Fields>(
  table: string,
  fields: Schema.Struct<F> | F
): ((row: object) => Schema.Struct.Type<F>) => {
  const { ast } = isStruct(fields) ? fields : Schema.Struct(fields)
  // Compiled with the first row, so that a start of the service does not wait for it.
  let checks: ReadonlyArray<readonly [string, (value: unknown) => boolean]> | undefined
  return (row) => {
    checks ??= SchemaAST.getPropertySignatures(ast).map(({ name, type }) => [
      String(name),
      Schema.is(Schema.make(type))
    ])
    const record: { [member: string]: unknown } = {}
    for (const [member, isValid] of checks) {
      const read: unknown = Reflect.get(row, member)
      const value = read instanceof Date ? read.toISOString() : read
      if (!isValid(value)) throw new UnexpectedRow({ table, column: columnOf(member) })
      record[member] = value
    }
    // Each member was checked.
    return record as Schema.Struct.Type<F>
  }
}

const decodeCount = rowDecoder("of counts", { n: Schema.Number })

/** The number `n` of a count's only row. */
export const countOf = ([row]: ReadonlyArray<object>): number => (row === undefined ? 0 : decodeCount(row).n)

const isText = (type: SchemaAST.AST): boolean =>
  SchemaAST.isStringKeyword(type) || (SchemaAST.isRefinement(type) && isText(type.from))

/** Whether values of the type are JSON documents: objects, lists of anything but texts, and what may be either. */
const isDocument = (type: SchemaAST.AST): boolean => {
  if (SchemaAST.isUnion(type)) return type.types.some(isDocument)
  if (SchemaAST.isRefinement(type)) return isDocument(type.from)
  if (SchemaAST.isTupleType(type)) return !type.rest.every((item) => isText(item.type))
  return SchemaAST.isTypeLiteral(type) || (SchemaAST.isDeclaration(type) && Schema.is(Schema.make(type))({}))
}

/** What a table's row says where it is not the usual. `jsonLists`: lists of texts that are JSON, not arrays of Postgres. */
type Options<R> = Partial<Omit<Table<R>, "name" | "fields" | "members" | "json" | "decode">> & {
  readonly jsonLists?: ReadonlyArray<keyof R & string>
}

/**
 * The table of a record. `stored`: its schema, whose members are the columns. Unless `options` say otherwise, the key is the
 * id, lists are ordered by the time of creation, a member `version` counts the changes, and the rows of a member
 * `customerId` are erased with their customer.
 */
export const tableOf = <F extends Schema.Struct.Fields>(
  name: string,
  stored: Schema.Struct<F>,
  { jsonLists = [], ...options }: Options<Schema.Struct.Type<F>> = {}
): Table<Schema.Struct.Type<F>> => {
  // A struct's members are the names of its fields, and the defaults name members that a table without them overrides.
  const named = (member: string) => member as keyof Schema.Struct.Type<F> & string
  const types = SchemaAST.getPropertySignatures(Schema.typeSchema(stored).ast)
  const documents = types.flatMap(({ name: member, type }) => (isDocument(type) ? [named(String(member))] : []))
  return {
    name,
    fields: stored.fields,
    members: Object.keys(stored.fields).map(named),
    json: [...documents, ...jsonLists],
    key: [named("id")],
    createdMember: named("createdAt"),
    isVersioned: "version" in stored.fields,
    decode: rowDecoder(name, stored),
    ...("customerId" in stored.fields && options.isView !== true ? { erases: [ofErasableCustomer] } : {}),
    ...options
  }
}

/** The columns of a record under the names of its members. */
export const selectColumns = <R>(table: Table<R>): string =>
  table.members.map((member) => `"${columnOf(member)}" AS "${member}"`).join(", ")
