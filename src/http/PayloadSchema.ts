/**
 * Schemas of request bodies: they refuse unknown members, and those of PUT accept a record as it was read.
 * Contract: conventions.
 */
import { Option, Schema, SchemaAST } from "effect"
import { anyType } from "../domain/Json.js"

/** Refuses unknown members, so that a mistyped one is reported and not ignored; reports all issues at once. */
export const strictPayload = <A, I, R>(schema: Schema.Schema<A, I, R>): Schema.Schema<A, I, R> =>
  schema.annotations({ parseOptions: { onExcessProperty: "error", errors: "all" } })

/** Decodes any value: `pickChanges` compares it with the stored one and has the better error. */
const ReadOnlyMember = Schema.declare((_value: unknown): _value is unknown => true, {
  jsonSchema: { type: anyType, readOnly: true, description: "read-only: send it as it was read, or leave it out" }
})

/**
 * The body of a PUT: the members that may change, and as optional ones the read-only members of the record, which
 * `pickChanges` compares with the stored values. So a client can send back the record that it has read.
 */
export const putPayload = <F extends Schema.Struct.Fields>(
  changes: Schema.Struct<F>,
  { fields: recordFields }: { readonly fields: Schema.Struct.Fields }
) => {
  const names = Object.keys(recordFields).filter((name) => !Object.hasOwn(changes.fields, name))
  const readOnly = Object.fromEntries(names.map((name) => [name, Schema.optional(ReadOnlyMember)]))
  const schema = Schema.extend(changes, Schema.Struct(readOnly))
  const identifier = SchemaAST.getIdentifierAnnotation(changes.ast)
  return strictPayload(Option.isSome(identifier) ? schema.annotations({ identifier: identifier.value }) : schema)
}
