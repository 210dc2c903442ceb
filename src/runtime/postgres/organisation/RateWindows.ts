/**
 * The port `RateWindows`: grants calls per minute. A lock on the window's row keeps concurrent grants within the limit.
 */
import { Effect, Layer } from "effect"
import { RateWindows } from "../../../actors/ports/organisation/RateWindows.js"
import { WriterSql } from "../database/Pools.js"
import { databaseUnavailable } from "../database/DatabaseUnavailable.js"

export const layer = Layer.effect(
  RateWindows,
  Effect.gen(function* () {
    const sql = yield* WriterSql

    // The upsert locks the row, so that no other transaction changes `granted` before the UPDATE.
    const take = (organisation: string, bucket: string, minute: number, wanted: number, limit: number) =>
      sql<{ got: number; left: number }>`
      WITH held AS (
        INSERT INTO rate_windows (org, bucket, minute, granted) VALUES (${organisation}, ${bucket}, ${new Date(minute)}, 0)
        ON CONFLICT (org, bucket, minute) DO UPDATE SET granted = rate_windows.granted RETURNING granted
      )
      SELECT granted AS got, 0 AS left FROM held`.pipe(
        Effect.flatMap(([row]) => {
          const before = row?.got ?? 0
          const got = Math.max(-before, Math.min(wanted, limit - before))
          return sql<{ granted: number }>`
          UPDATE rate_windows SET granted = granted + ${got}
          WHERE org = ${organisation} AND bucket = ${bucket} AND minute = ${new Date(minute)} RETURNING granted`.pipe(
            Effect.map(([after]) => ({
              granted: Math.max(0, got),
              left: Math.max(0, limit - (after?.granted ?? limit))
            }))
          )
        }),
        sql.withTransaction,
        Effect.mapError(databaseUnavailable)
      )

    return RateWindows.of({ take })
  })
)
