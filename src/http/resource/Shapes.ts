/** Shapes that all endpoints of surface C share. Contract: conventions. */
import { HttpApiSchema } from "@effect/platform"
import { Option, Schema, SchemaAST } from "effect"
import { anyType } from "../../domain/Json.js"
import { TimeBound } from "../../domain/Scalars.js"

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

/** One record in its envelope. */
export const Data = <A, I, R>(schema: Schema.Schema<A, I, R>) => Schema.Struct({ data: schema })

const PageInfo = Schema.Struct({
  size: Schema.Number,
  nextCursor: Schema.NullOr(Schema.String),
  hasMore: Schema.Boolean
}).annotations({ identifier: "Page" })

/** A page of records; newest first. */
export const Page = <A, I, R>(schema: Schema.Schema<A, I, R>) =>
  Schema.Struct({ data: Schema.Array(schema), page: PageInfo })

export const created = <A, I, R>(schema: Schema.Schema<A, I, R>) =>
  Data(schema).annotations(HttpApiSchema.annotations({ status: 201 }))
export const accepted = <A, I, R>(schema: Schema.Schema<A, I, R>) =>
  Data(schema).annotations(HttpApiSchema.annotations({ status: 202 }))

const text = Schema.optional(Schema.String)

export const listParams = {
  page_size: Schema.optional(Schema.NumberFromString.pipe(Schema.int(), Schema.positive())).annotations({
    description: "1 to 200; default 50"
  }),
  cursor: text,
  created_after: Schema.optional(TimeBound),
  created_before: Schema.optional(TimeBound),
  from: Schema.optional(TimeBound),
  to: Schema.optional(TimeBound),
  q: text
} as const

export const ListParams = Schema.Struct(listParams)
export type ListParams = typeof ListParams.Type

/** RFC 3339. */
export const Time = Schema.String.annotations({ description: "RFC 3339, UTC" })
export const NullableTime = Schema.NullOr(Schema.String)
