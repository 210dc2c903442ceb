/** Puts one record into its envelope. Contract: conventions. */
import { Effect } from "effect"

/** `{data}` of the effect's value. */
export const inData = <A, E, R>(answer: Effect.Effect<A, E, R>): Effect.Effect<{ readonly data: A }, E, R> =>
  Effect.map(answer, (data) => ({ data }))
