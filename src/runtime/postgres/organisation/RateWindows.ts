/**
 * The port `RateWindows`: grants calls per minute. A lock on the window's row keeps concurrent grants within the limit.
 */
import { Effect, Layer, Schema } from "effect"
import { RateWindows } from "../../../actors/ports/organisation/RateLimits.js"
import { WriterSql } from "../database/Pools.js"
import { databaseUnavailable } from "../database/DatabaseUnavailable.js"
import { countOf, rowDecoder } from "../record/Table.js"

const decode = rowDecoder("rate_windows", { granted: Schema.Number })

export const layer = Layer.effect(
  RateWindows,
  Effect.gen(function* () {
    const sql = yield* WriterSql

    // The upsert locks the row, so that no other transaction changes `granted` before the UPDATE.
    const take = (organisation: string, bucket: string, minute: number, wanted: number, limit: number) =>
      sql`
      WITH held AS (
        INSERT INTO rate_windows (org, bucket, minute, granted) VALUES (${organisation}, ${bucket}, ${new Date(minute)}, 0)
        ON CONFLICT (org, bucket, minute) DO UPDATE SET granted = rate_windows.granted RETURNING granted
      )
      SELECT granted AS n FROM held`.pipe(
        Effect.flatMap((rows) => {
          const before = countOf(rows)
          const got = Math.max(-before, Math.min(wanted, limit - before))
          return sql`
          UPDATE rate_windows SET granted = granted + ${got}
          WHERE org = ${organisation} AND bucket = ${bucket} AND minute = ${new Date(minute)} RETURNING granted`.pipe(
            Effect.map(([after]) => ({
              granted: Math.max(0, got),
              left: Math.max(0, limit - (after === undefined ? limit : decode(after).granted))
            }))
          )
        }),
        sql.withTransaction,
        Effect.mapError(databaseUnavailable)
      )

    return RateWindows.of({ take })
  })
)
