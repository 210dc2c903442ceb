/**
 * The port `ProviderWindows`: the usage of a provider's limits, one row per organisation and connector, fenced by its
 * revision.
 */
import { Effect, Layer, Schema } from "effect"
import { ProviderWindows } from "../../../actors/ports/connection/ProviderWindows.js"
import { SharedState, unusedState } from "../../../domain/connection/SharedLimiter.js"
import { WriterSql } from "../database/Pools.js"
import { databaseUnavailable, firstRow } from "../database/DatabaseUnavailable.js"
import { rowDecoder } from "../record/Table.js"

const decode = rowDecoder("provider_limits", { state: SharedState, revision: Schema.Number })

export const layer = Layer.effect(
  ProviderWindows,
  Effect.gen(function* () {
    const sql = yield* WriterSql

    return ProviderWindows.of({
      load: (organisation, connector) =>
        Effect.map(
          firstRow(
            sql`SELECT state, revision FROM provider_limits WHERE org = ${organisation} AND connector = ${connector}`,
            decode
          ),
          (row) => row ?? { state: unusedState, revision: 0 }
        ),
      save: (organisation, connector, { revision, state }) =>
        sql`INSERT INTO provider_limits (org, connector, state, revision)
            VALUES (${organisation}, ${connector}, ${JSON.stringify(state)}::jsonb, 1)
            ON CONFLICT (org, connector) DO UPDATE
              SET state = excluded.state, revision = provider_limits.revision + 1, updated_at = now()
              WHERE provider_limits.revision = ${revision}
            RETURNING revision`.pipe(
          Effect.mapBoth({
            onFailure: databaseUnavailable,
            onSuccess: (rows) => rows.length === 1
          })
        )
    })
  })
)
