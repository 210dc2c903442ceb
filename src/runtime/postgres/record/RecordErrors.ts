/** What an error of Postgres means for the caller of a record's statement. */
import { SqlError } from "@effect/sql/SqlError"
import { Effect } from "effect"
import { AlreadyExists } from "../../../actors/ports/Records.js"
import type { Unavailable } from "../../../domain/Failure.js"
import { isConnectionLoss } from "../database/pool/ConnectionLoss.js"
import { databaseUnavailable } from "../database/DatabaseUnavailable.js"

const databaseError = (error: unknown): { readonly code?: string; readonly constraint?: string } =>
  error instanceof SqlError && typeof error.cause === "object" && error.cause !== null ? error.cause : {}

/**
 * A unique violation is the client's error, a lost connection is `Unavailable`, any other error of Postgres is a
 * defect.
 */
export const writeError = (error: SqlError): Effect.Effect<never, AlreadyExists | Unavailable> => {
  const { code, constraint } = databaseError(error)
  if (code === "23505") return new AlreadyExists({ index: constraint ?? "" })
  return isConnectionLoss(error) ? databaseUnavailable(error) : Effect.die(error)
}
/** As `writeError`, for statements that insert nothing unique. */
export const readError = (error: SqlError): Effect.Effect<never, Unavailable> =>
  Effect.catchTag(writeError(error), "AlreadyExists", () => Effect.die(error))
