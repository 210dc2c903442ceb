/** The answer to a client, and the log line, when a statement or a connection of the service fails. */
import { SqlError } from "@effect/sql/SqlError"
import { Effect } from "effect"
import { JournalUnavailable } from "../../../actors/ports/run/Journal.js"
import { Unavailable } from "../../../domain/Failure.js"
import { describe } from "../../telemetry/SafeError.js"
import { isConnectionLoss } from "./pool/ConnectionLoss.js"
import { databaseConditionOf } from "./DatabaseConditions.js"

/** The failure of a statement as `Unavailable`; its log line names SQLSTATE and condition, and quotes no value. */
export const databaseUnavailable = (error: unknown): Unavailable =>
  new Unavailable({ reason: reasonOf(error), retryAfterSeconds: 1, detail: describe(error) })

/** The rows of a read. */
export const rowsOf = <Row>(read: Effect.Effect<ReadonlyArray<Row>, SqlError>) =>
  Effect.mapError(read, databaseUnavailable)

/** Runs a change whose rows do not matter. */
export const execute = (change: Effect.Effect<unknown, SqlError>) =>
  Effect.asVoid(Effect.mapError(change, databaseUnavailable))

/** The records of the rows of a read. */
export const recordsOf = <R>(read: Effect.Effect<ReadonlyArray<object>, SqlError>, decode: (row: object) => R) =>
  Effect.map(rowsOf(read), (rows) => rows.map(decode))

/** The record of the first row of a read. */
export const firstRow = <R>(read: Effect.Effect<ReadonlyArray<object>, SqlError>, decode: (row: object) => R) =>
  Effect.map(rowsOf(read), ([row]): R | undefined => (row === undefined ? undefined : decode(row)))

/** The failure of a statement of the journal: `reason` is for the operator, `refusal` is for the client. */
export const journalUnavailable = (error: unknown): JournalUnavailable =>
  new JournalUnavailable({
    reason: describe(error),
    refusal: databaseConditionOf(sqlStateOf(error) ?? "")?.cause
  })

/** The code of the server's error that the statement failed with. */
export const sqlStateOf = (error: unknown): string | undefined => {
  const cause: unknown = error instanceof SqlError ? error.cause : error
  return cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : undefined
}

const reasonOf = (error: unknown): string => {
  const condition = databaseConditionOf(sqlStateOf(error) ?? "")
  if (condition !== undefined) return condition.cause
  return !(error instanceof SqlError) || isConnectionLoss(error)
    ? "the database cannot be reached"
    : "the database did not execute a statement"
}
