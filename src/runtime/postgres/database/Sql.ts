/** Reads whose rows are not decoded. */
import type { SqlError } from "@effect/sql/SqlError"
import type { Effect } from "effect"

/**
 * Gives the rows of a read a type without a check of them: on a hot path only, or where one row must not fail the others,
 * with a comment beside it that says why they are not decoded. All others use `rowDecoder`.
 */
export const castRows = <R extends object>(read: Effect.Effect<ReadonlyArray<object>, SqlError>) =>
  // The caller's reason stands beside the call.
  read as Effect.Effect<ReadonlyArray<R>, SqlError>
