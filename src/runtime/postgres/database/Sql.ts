/** The client of a pool whose rows have members of unknown type: a read decodes its rows, or says why it casts them. */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { Connection, Row } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import type { Statement } from "@effect/sql/Statement"
import type { Effect, Scope } from "effect"

export interface Sql extends Pick<SqlClient, "and" | "literal" | "withTransaction"> {
  (strings: TemplateStringsArray, ...values: ReadonlyArray<unknown>): Statement<Row>
  readonly unsafe: (text: string, values?: ReadonlyArray<unknown>) => Statement<Row>
  readonly reserve: Effect.Effect<Pick<Connection, "executeValues">, SqlError, Scope.Scope>
}

/**
 * Gives the rows of a read a type without a check of them: on a hot path only, or where one row must not fail the others,
 * with a comment beside it that says why they are not decoded. All others use `rowDecoder`.
 */
export const castRows = <R extends object>(read: Effect.Effect<ReadonlyArray<object>, SqlError>) =>
  // The caller's reason stands beside the call.
  read as Effect.Effect<ReadonlyArray<R>, SqlError>
