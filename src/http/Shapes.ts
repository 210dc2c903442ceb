/** Schemas that the endpoints of surfaces B and C share: envelopes and times. Contract: conventions. */
import { HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { AnsweredTime } from "../domain/Time.js"

/** One record in its envelope. */
export const Data = <A, I, R>(schema: Schema.Schema<A, I, R>) => Schema.Struct({ data: schema })

/** One record in its envelope, answered with 201. */
export const CreatedData = <A, I, R>(schema: Schema.Schema<A, I, R>) =>
  Data(schema).annotations(HttpApiSchema.annotations({ status: 201 }))
/** One record in its envelope, answered with 202. */
export const AcceptedData = <A, I, R>(schema: Schema.Schema<A, I, R>) =>
  Data(schema).annotations(HttpApiSchema.annotations({ status: 202 }))

/** A time in RFC 3339. */
export const Time = AnsweredTime
export const NullableTime = Schema.NullOr(AnsweredTime)
