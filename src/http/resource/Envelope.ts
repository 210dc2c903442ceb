/** The envelope of one record. Contract: conventions. */
import { Effect } from "effect"

export const inData = <A, E, R>(answer: Effect.Effect<A, E, R>): Effect.Effect<{ readonly data: A }, E, R> =>
  Effect.map(answer, (data) => ({ data }))
