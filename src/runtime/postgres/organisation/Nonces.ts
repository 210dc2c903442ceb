/** The port `Nonces`: a nonce is a row of `claims`, and over all nodes only the first insert of it succeeds. */
import { Duration, Effect, Layer } from "effect"
import { Nonces } from "../../../actors/ports/connection/Nonces.js"
import { WriterSql } from "../database/Pools.js"
import { databaseUnavailable } from "../database/DatabaseUnavailable.js"

export const layer = Layer.effect(
  Nonces,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    return Nonces.of({
      use: (organisation, nonce, lifetime) =>
        sql`INSERT INTO claims (org, scope, key, target_id, expires_at)
        VALUES (${organisation}, 'nonce', ${nonce}, '', now() + ${Duration.toSeconds(lifetime)} * interval '1 second')
        ON CONFLICT (org, scope, key) DO UPDATE SET expires_at = excluded.expires_at WHERE claims.expires_at < now()
        RETURNING key`.pipe(
          Effect.map((rows) => rows.length > 0),
          Effect.mapError(databaseUnavailable)
        )
    })
  })
)
