/** Members of a definition: what an editor tells of one stands beside it, and so does what it is where it is absent. */
import { Schema } from "effect"

const annotation = (description: string | undefined) => (description === undefined ? {} : { description })

/** A member that must be there. */
export const required = <A, I, R>(schema: Schema.Schema<A, I, R>, description: string) =>
  Schema.propertySignature(schema).annotations({ description })

/** A member that may be absent. */
export const optional = <A, I, R>(schema: Schema.Schema<A, I, R>, description?: string) =>
  Schema.optionalWith(schema, { exact: true }).annotations(annotation(description))

/** A member that is filled in where it is absent. */
export const withDefault = <A, I, R>(schema: Schema.Schema<A, I, R>, value: () => NoInfer<A>, description?: string) =>
  Schema.optionalWith(schema, { default: value }).annotations({ default: value(), ...annotation(description) })

/** A part that is filled in where it is absent; what its members are then, they tell themselves. */
export const partWithDefault = <A, I, R>(
  schema: Schema.Schema<A, I, R>,
  value: () => NoInfer<A>,
  description?: string
) => Schema.optionalWith(schema, { default: value }).annotations(annotation(description))

/** A list that is empty where it is absent. */
export const optionalList = <A, I, R>(schema: Schema.Schema<A, I, R>, description?: string) =>
  withDefault(Schema.Array(schema), () => [], description)
