/** Positions in the order of commits as Postgres knows them, and the rows that were committed after one. */
import { Effect, Option, Schema } from "effect"
import { readPosition } from "../../../domain/watch/CommitPosition.js"
import { rowDecoder } from "../record/Table.js"
import type { Sql } from "./Sql.js"

const decode = rowDecoder("of positions", { position: Schema.String })

/** What a statement after it reads has at least all commits before it. */
export const currentPosition = (sql: Sql) =>
  Effect.flatMap(sql`SELECT pg_current_snapshot()::text AS position`, ([row]) =>
    Option.match(row === undefined ? Option.none() : readPosition(decode(row).position), {
      onNone: () => Effect.dieMessage("Postgres has no position of commits"),
      onSome: Effect.succeed
    })
  )

const nextId = "pg_snapshot_xmax(pg_current_snapshot())::text::bigint"

/**
 * The transaction that wrote a row, by the system column `xmin`, which has the lower 32 bits of its id: for rows of one
 * record, since no index has it. Only of tables that are not written below a savepoint, whose id would be another.
 */
const writerOf = (row: string): string => `(${nextId} - ((${nextId} - ${row}.xmin::text::bigint) & 4294967295))`

/** Whether a row was committed after a position, of which these parameters have the members. */
export const isCommittedAfter = (row: string, end: string, open: string): string =>
  `(${writerOf(row)} >= ${end}::bigint OR ${writerOf(row)} = ANY(${open}::bigint[]))`
