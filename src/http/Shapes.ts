/** Schemas that the endpoints of surfaces B and C share: envelopes and pages. Contract: conventions. */
import { HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { AnsweredTime } from "../domain/Time.js"

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

/** A time in RFC 3339. */
export const Time = AnsweredTime
export const NullableTime = Schema.NullOr(AnsweredTime)
