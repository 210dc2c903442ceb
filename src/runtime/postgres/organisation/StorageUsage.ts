/** The port `StorageUsage`, and the hourly count of what organisations store. */
import { Effect, Layer, Schema } from "effect"
import { StorageUsage } from "../../../actors/ports/organisation/StorageUsage.js"
import { OrganisationId } from "../../../domain/Ids.js"
import { plans } from "../../../domain/organisation/Plan.js"
import { WriterSql } from "../database/Pools.js"
import { makeReadCache } from "../ReadCache.js"
import { firstRow } from "../database/DatabaseUnavailable.js"
import { allTables } from "../record/AllTables.js"
import { rowDecoder } from "../record/Table.js"

const bytesPerMegabyte = 1024 * 1024

const decode = rowDecoder("storage_usage", { org: OrganisationId, bytes: Schema.Number })
const decodeId = rowDecoder("organisations", { id: Schema.String })

export const layer = Layer.effect(
  StorageUsage,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const cache = yield* makeReadCache<ReturnType<typeof decode>>({ organisationOf: (_, { org }) => org })

    return StorageUsage.of({
      megabytes: (account) =>
        Effect.map(
          cache.get(account, () =>
            firstRow(
              sql`SELECT ${account} AS org, COALESCE(sum(bytes + workspace_bytes), 0)::float8 AS bytes FROM storage_usage
                WHERE org IN (SELECT svc_members(${account}))`,
              decode
            )
          ),
          (found) => (found?.bytes ?? 0) / bytesPerMegabyte
        )
    })
  })
)

/** Plans that limit storage. */
export const limitedPlans = Object.entries(plans).flatMap(([name, { storageMb }]) => (storageMb === null ? [] : [name]))

/** The tables that count, each by the size in which its rows are stored. */
const sizes = allTables
  .flatMap(([table, { isStorage }]) =>
    isStorage === true ? [`(SELECT COALESCE(sum(pg_column_size(t.*)), 0) FROM ${table} t WHERE t.org = $1)`] : []
  )
  .join(" + ")

/**
 * Part of the hourly maintenance. Counts what this database stores, one organisation at a time, so that each statement is
 * short; the databases of workspaces are counted apart.
 */
export const countStorage = Effect.fnUntraced(function* (advance: Effect.Effect<void>) {
  const sql = yield* WriterSql
  const organisations = yield* sql`SELECT id FROM organisations WHERE plan = ANY(${limitedPlans})`
  for (const { id } of organisations.map(decodeId)) {
    yield* sql.unsafe(
      `INSERT INTO storage_usage (org, bytes) VALUES ($1, ${sizes})
       ON CONFLICT (org) DO UPDATE SET bytes = excluded.bytes, counted_at = now()`,
      [id]
    )
    yield* advance
  }
})
