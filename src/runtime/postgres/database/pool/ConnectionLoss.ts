/** Tells whether an error means that Postgres does not answer now, and keeps transactions from turning it into a defect. */
import type { PgClient } from "@effect/sql-pg"
import { SqlError } from "@effect/sql/SqlError"
import { Cause, Effect, Option } from "effect"
import { DatabaseError } from "pg"

/** Connection exceptions, insufficient resources, operator intervention, system errors, read-only, refused logins. */
const serverIsAway = /^(?:08|53|57|58|28|25006)/

/** Whether the connection is lost, or the server does no work. False for errors of the statement itself. */
export const isConnectionLoss = ({ cause }: SqlError): boolean =>
  !(cause instanceof DatabaseError) || serverIsAway.test(cause.code ?? "")

/**
 * The same client, whose transactions fail when their connection is lost at COMMIT or ROLLBACK. The library makes a defect of
 * these errors.
 */
export const failOnConnectionLoss = (client: PgClient.PgClient): PgClient.PgClient => {
  const { withTransaction } = client
  const transact: PgClient.PgClient["withTransaction"] = (body) =>
    Effect.catchSomeDefect(withTransaction(body), (defect) =>
      defect instanceof SqlError && isConnectionLoss(defect) ? Option.some(Effect.fail(defect)) : Option.none()
    )
  return Object.assign(client, { withTransaction: transact })
}

/** Logs what fails, except for a lost connection: requests are refused meanwhile, and `/readyz` says why. */
export const logStatementErrors =
  (message: string) =>
  <A, E, R>(body: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.tapErrorCause(body, (cause) => {
      const error = Option.getOrUndefined(Cause.failureOption(cause))
      return error instanceof SqlError && isConnectionLoss(error) ? Effect.void : Effect.logError(message, cause)
    })
