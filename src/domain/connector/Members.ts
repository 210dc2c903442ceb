/** Members of a definition: what an editor tells of one stands beside it, and so does what it is where it is absent. */
import { Schema } from "effect"

const told = (description: string | undefined) => (description === undefined ? {} : { description })

/** A member that must be there. */
export const needed = <A, I, R>(schema: Schema.Schema<A, I, R>, description: string) =>
  Schema.propertySignature(schema).annotations({ description })

/** A member that may be absent. */
export const maybe = <A, I, R>(schema: Schema.Schema<A, I, R>, description?: string) =>
  Schema.optionalWith(schema, { exact: true }).annotations(told(description))

/** A member that is filled in where it is absent. */
export const filled = <A, I, R>(schema: Schema.Schema<A, I, R>, value: () => NoInfer<A>, description?: string) =>
  Schema.optionalWith(schema, { default: value }).annotations({ default: value(), ...told(description) })

/** A part that is filled in where it is absent; what its members are then, they tell themselves. */
export const part = <A, I, R>(schema: Schema.Schema<A, I, R>, value: () => NoInfer<A>, description?: string) =>
  Schema.optionalWith(schema, { default: value }).annotations(told(description))

/** A list that is empty where it is absent. */
export const list = <A, I, R>(schema: Schema.Schema<A, I, R>, description?: string) =>
  filled(Schema.Array(schema), () => [], description)
