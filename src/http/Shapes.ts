/** Schemas that the endpoints of surfaces B and C share: envelopes, pages and list parameters. Contract: conventions. */
import { HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { pageSize } from "../domain/Limits.js"
import { AnsweredTime, TimeBound } from "../domain/Time.js"

/** One record in its envelope. */
export const Data = <A, I, R>(schema: Schema.Schema<A, I, R>) => Schema.Struct({ data: schema })

const PageInfo = Schema.Struct({
  size: Schema.Number,
  nextCursor: Schema.NullOr(Schema.String),
  hasMore: Schema.Boolean
}).annotations({ identifier: "Page" })

/** A page of records, newest first. */
export const Page = <A, I, R>(schema: Schema.Schema<A, I, R>) =>
  Schema.Struct({ data: Schema.Array(schema), page: PageInfo })

/** One record in its envelope, answered with 201. */
export const CreatedData = <A, I, R>(schema: Schema.Schema<A, I, R>) =>
  Data(schema).annotations(HttpApiSchema.annotations({ status: 201 }))
/** One record in its envelope, answered with 202. */
export const AcceptedData = <A, I, R>(schema: Schema.Schema<A, I, R>) =>
  Data(schema).annotations(HttpApiSchema.annotations({ status: 202 }))

const text = Schema.optional(Schema.String)

/** The size of a page; larger ones are the largest. */
export const PageSize = Schema.NumberFromString.pipe(Schema.int(), Schema.positive()).annotations({
  jsonSchema: { type: "integer", minimum: 1, maximum: pageSize.max }
})

/** Query parameters of every list. */
export const listParams = {
  page_size: Schema.optional(PageSize),
  cursor: text,
  created_after: Schema.optional(TimeBound),
  created_before: Schema.optional(TimeBound),
  from: Schema.optional(TimeBound),
  to: Schema.optional(TimeBound),
  q: text
} as const

export const ListParams = Schema.Struct(listParams)
export type ListParams = typeof ListParams.Type

/** A time in RFC 3339. */
export const Time = AnsweredTime
export const NullableTime = Schema.NullOr(AnsweredTime)
