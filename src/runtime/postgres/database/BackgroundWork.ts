/** How much is left of what migrations left for the background: the tasks write it, and the operator's commands read it. */
import type { SqlError } from "@effect/sql/SqlError"
import { Effect, Schema } from "effect"
import { rowDecoder } from "../record/Table.js"
import type { Sql } from "./Sql.js"

/** Jobs of a task that are left. */
export interface RemainingJobs {
  readonly task: string
  readonly remaining: number
}

const decode = rowDecoder("background_work", { task: Schema.String, remaining: Schema.Int })

/** All tasks with jobs left, as they were last counted. */
export const readRemaining = (sql: Sql): Effect.Effect<ReadonlyArray<RemainingJobs>, SqlError> =>
  Effect.map(sql`SELECT task, remaining FROM background_work ORDER BY task`, (rows) => rows.map(decode))

/** Writes how many jobs of the task are left; 0 removes it. */
export const writeRemaining = (sql: Sql, { remaining, task }: RemainingJobs): Effect.Effect<void, SqlError> =>
  Effect.asVoid(
    remaining === 0
      ? sql`DELETE FROM background_work WHERE task = ${task}`
      : sql`INSERT INTO background_work (task, remaining) VALUES (${task}, ${remaining})
          ON CONFLICT (task) DO UPDATE SET remaining = EXCLUDED.remaining, counted_at = now()`
  )
