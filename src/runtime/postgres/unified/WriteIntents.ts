/** The port `WriteIntents` on Postgres. */
import { Effect, Layer } from "effect"
import { WriteIntents } from "../../../actors/ports/unified/WriteIntents.js"
import { databaseUnavailable } from "../database/DatabaseUnavailable.js"
import { outsideTransaction } from "../database/OutsideTransaction.js"
import { WriterSql } from "../database/Pools.js"

export const layer = Layer.effect(
  WriteIntents,
  Effect.map(WriterSql, (sql) =>
    WriteIntents.of({
      // It commits in a transaction of its own, before the provider is asked.
      begin: (organisation, key) =>
        outsideTransaction(
          sql`INSERT INTO write_intents (org, key, at) VALUES (${organisation}, ${key}, now()) ON CONFLICT DO NOTHING RETURNING key`
        ).pipe(
          Effect.map((rows) => rows.length > 0),
          Effect.mapError(databaseUnavailable)
        ),
      forget: (organisation, key) =>
        outsideTransaction(sql`DELETE FROM write_intents WHERE org = ${organisation} AND key = ${key}`).pipe(
          Effect.asVoid,
          Effect.mapError(databaseUnavailable)
        )
    })
  )
)
