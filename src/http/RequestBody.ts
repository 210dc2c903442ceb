/** Bodies of requests: strict about unknown members, and open to records that a client puts back. Contract: conventions. */
import { Option, Schema, SchemaAST } from "effect"
import { anyType } from "../domain/Json.js"

/** Requests reject what they do not know, so that a mistyped member is told and not ignored. */
export const strict = <A, I, R>(schema: Schema.Schema<A, I, R>): Schema.Schema<A, I, R> =>
  schema.annotations({ parseOptions: { onExcessProperty: "error", errors: "all" } })

/** Any value is decoded: one that is not the stored one has an error of its own. */
const ReadOnlyMember = Schema.declare((_value: unknown): _value is unknown => true, {
  jsonSchema: { type: anyType, readOnly: true, description: "read-only: send it as it was read, or leave it out" }
})

/**
 * The body of a PUT: the members that may be changed, and those of the answered record that may not, which
 * `pickChanges` compares with the stored ones. With them a client can put back what it has read.
 */
export const replacing = <F extends Schema.Struct.Fields>(
  changes: Schema.Struct<F>,
  { fields: answered }: { readonly fields: Schema.Struct.Fields }
) => {
  const names = Object.keys(answered).filter((name) => !Object.hasOwn(changes.fields, name))
  const readOnly = Object.fromEntries(names.map((name) => [name, Schema.optional(ReadOnlyMember)]))
  const both = Schema.extend(changes, Schema.Struct(readOnly))
  const identifier = SchemaAST.getIdentifierAnnotation(changes.ast)
  return strict(Option.isSome(identifier) ? both.annotations({ identifier: identifier.value }) : both)
}
