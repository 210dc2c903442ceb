/** What operations answer with: the schema of each answer, and how the use case's value becomes it. Contract: conventions. */
import { HttpApiSchema } from "@effect/platform"
import type { Schema } from "effect"
import { Page } from "../../domain/Record.js"
import { AcceptedData, CreatedData, Data } from "../Shapes.js"
import type { StreamedBody } from "../Wire.js"
import type { AnySchema, Answer } from "./Contract.js"

/** The answers of an operation whose use case gives an `A`. */
export interface Output<in A> {
  readonly answers: ReadonlyArray<Answer>
  readonly wrap: (value: A) => unknown
}

const answerOf = (schema: AnySchema): Answer => ({
  status: HttpApiSchema.getStatusSuccessAST(schema.ast),
  schema,
  isJson: HttpApiSchema.getEncoding(schema.ast).kind === "Json"
})

const inData = (data: unknown) => ({ data })
const asIs = (value: unknown) => value

/** One record in its envelope. */
export const record = <A, I>(view: Schema.Schema<A, I>): Output<A> => ({
  answers: [answerOf(Data(view))],
  wrap: inData
})

/** One record that was created: 201. */
export const newRecord = <A, I>(view: Schema.Schema<A, I>): Output<A> => ({
  answers: [answerOf(CreatedData(view))],
  wrap: inData
})

/** One record whose work has begun: 202. */
export const acceptedRecord = <A, I>(view: Schema.Schema<A, I>): Output<A> => ({
  answers: [answerOf(AcceptedData(view))],
  wrap: inData
})

/** One record that was created or replaced: 201 or 200, as the exchange's status says. */
export const newOrStoredRecord = <A, I>(view: Schema.Schema<A, I>): Output<A> => ({
  answers: [answerOf(CreatedData(view)), answerOf(Data(view))],
  wrap: inData
})

/** A page of records. The use case gives the page. */
export const page = <A, I>(view: Schema.Schema<A, I>): Output<ReturnType<typeof Page<A, I, never>>["Type"]> => ({
  answers: [answerOf(Page(view))],
  wrap: asIs
})

/** A value without an envelope, of the status that its schema is annotated with. */
export const bareValue = <A, I>(schema: Schema.Schema<A, I>): Output<A> => ({ answers: [answerOf(schema)], wrap: asIs })

/** A text to download, of one of the media types; the use case sets another than the first in the exchange. */
export const file = (contentType: string, ...others: ReadonlyArray<string>): Output<string> => ({
  answers: [{ ...answerOf(HttpApiSchema.Text({ contentType })), otherTypes: others }],
  wrap: asIs
})

/** A text that streams. */
export const stream = (contentType: string): Output<StreamedBody> => ({
  answers: [{ ...answerOf(HttpApiSchema.Text({ contentType })), isStreamed: true }],
  wrap: asIs
})

/** Nothing: 204. */
export const empty: Output<void> = { answers: [answerOf(HttpApiSchema.NoContent)], wrap: asIs }

/** One of two values without an envelope; their schemas have different statuses. */
export const bareValues = <A, I, B, J>(one: Schema.Schema<A, I>, other: Schema.Schema<B, J>): Output<A | B> => ({
  answers: [answerOf(one), answerOf(other)],
  wrap: asIs
})
