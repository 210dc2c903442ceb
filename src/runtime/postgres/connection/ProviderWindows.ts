/**
 * The port `ProviderWindows`: the usage of providers' limits, one row per organisation and connector or per connection,
 * fenced by its revision.
 */
import { Effect, Layer, Schema } from "effect"
import { type LimitKey, ProviderWindows } from "../../../actors/ports/connection/ProviderWindows.js"
import { SharedState, unusedState } from "../../../domain/connection/CallLeases.js"
import { WriterSql } from "../database/Pools.js"
import { firstRow, rowsOf } from "../database/DatabaseUnavailable.js"
import { rowDecoder } from "../record/Table.js"

const decode = rowDecoder("of a provider's limit", { state: SharedState, revision: Schema.Number })

/** `$1`: the organisation; `$2`: the connector or the connection. */
const statementsOf = (table: string, column: string) => ({
  load: `SELECT state, revision FROM ${table} WHERE org = $1 AND ${column} = $2`,
  /** `$3`: the state; `$4`: the revision that it was decided on. */
  save: `INSERT INTO ${table} AS l (org, ${column}, state, revision) VALUES ($1, $2, $3::text::jsonb, 1)
    ON CONFLICT (org, ${column}) DO UPDATE SET state = excluded.state, revision = l.revision + 1, updated_at = now()
      WHERE l.revision = $4
    RETURNING revision`
})
const ofConnectors = statementsOf("provider_limits", "connector")
const ofConnections = statementsOf("connection_limits", "connection_id")

const rowOf = (key: LimitKey) =>
  "connector" in key
    ? { statements: ofConnectors, values: [key.organisation, key.connector] }
    : { statements: ofConnections, values: [key.organisation, key.connection] }

export const layer = Layer.effect(
  ProviderWindows,
  Effect.map(WriterSql, (sql) =>
    ProviderWindows.of({
      load: (key) => {
        const { statements, values } = rowOf(key)
        return Effect.map(
          firstRow(sql.unsafe(statements.load, values), decode),
          (row) => row ?? { state: unusedState, revision: 0 }
        )
      },
      save: (key, { revision, state }) => {
        const { statements, values } = rowOf(key)
        const saved = sql.unsafe(statements.save, [...values, JSON.stringify(state), revision])
        return Effect.map(rowsOf(saved), (rows) => rows.length === 1)
      }
    })
  )
)
