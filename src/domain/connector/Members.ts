/** Schema members of connector definitions, with the description that editors show and the value of an absent member. */
import { Schema } from "effect"

const annotation = (description: string | undefined) => (description === undefined ? {} : { description })

/** A required member. */
export const required = <A, I, R>(schema: Schema.Schema<A, I, R>, description: string) =>
  Schema.propertySignature(schema).annotations({ description })

/** A member that may be absent and has no default. */
export const optional = <A, I, R>(schema: Schema.Schema<A, I, R>, description?: string) =>
  Schema.optionalWith(schema, { exact: true }).annotations(annotation(description))

/** A member with a default, which the JSON Schema also shows. */
export const withDefault = <A, I, R>(schema: Schema.Schema<A, I, R>, value: () => NoInfer<A>, description?: string) =>
  Schema.optionalWith(schema, { default: value }).annotations({ default: value(), ...annotation(description) })

/** An object with a default, which the JSON Schema shows at the object's members only. */
export const partWithDefault = <A, I, R>(
  schema: Schema.Schema<A, I, R>,
  value: () => NoInfer<A>,
  description?: string
) => Schema.optionalWith(schema, { default: value }).annotations(annotation(description))

/** A list that is empty by default. */
export const optionalList = <A, I, R>(schema: Schema.Schema<A, I, R>, description?: string) =>
  withDefault(Schema.Array(schema), () => [], description)
