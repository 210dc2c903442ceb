/** The port `StorageUsage`, and the hourly count of what organisations store. */
import { Effect, Layer } from "effect"
import { StorageUsage } from "../../../actors/ports/organisation/StorageUsage.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import { plans } from "../../../domain/organisation/Plan.js"
import { WriterSql } from "../database/Pools.js"
import { makeReadCache } from "../ReadCache.js"
import { databaseUnavailable } from "../database/DatabaseUnavailable.js"

const bytesPerMegabyte = 1024 * 1024

interface Usage {
  readonly org: OrganisationId
  readonly bytes: number
}

export const layer = Layer.effect(
  StorageUsage,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const cache = yield* makeReadCache<Usage>({ organisationOf: (_, { org }) => org })

    return StorageUsage.of({
      megabytes: (org) =>
        Effect.map(
          cache.get(
            org,
            sql<Usage>`SELECT org, (bytes + workspace_bytes)::float8 AS bytes FROM storage_usage WHERE org = ${org}`.pipe(
              Effect.map(([found]) => found ?? { org, bytes: 0 }),
              Effect.mapError(databaseUnavailable)
            )
          ),
          (found) => (found?.bytes ?? 0) / bytesPerMegabyte
        )
    })
  })
)

/** Plans that limit storage. */
export const limitedPlans = Object.entries(plans).flatMap(([name, { storageMb }]) => (storageMb === null ? [] : [name]))

/** Tables with the rows of organisations that count, by the size in which they are stored. */
const countedTables = ["executions", "steps", "logs", "blobs", "events", "event_records", "dead_letters", "key_values"]

/**
 * Part of the hourly maintenance. Counts what this database stores, one organisation at a time, so that each statement is
 * short; the databases of workspaces are counted apart.
 */
export const countStorage = Effect.fnUntraced(function* (advance: Effect.Effect<void>) {
  const sql = yield* WriterSql
  const organisations = yield* sql<{
    readonly id: string
  }>`SELECT id FROM organisations WHERE plan = ANY(${limitedPlans})`
  const sizes = countedTables
    .map((table) => `(SELECT COALESCE(sum(pg_column_size(t.*)), 0) FROM ${table} t WHERE t.org = $1)`)
    .join(" + ")
  for (const { id } of organisations) {
    yield* sql.unsafe(
      `INSERT INTO storage_usage (org, bytes) VALUES ($1, ${sizes})
       ON CONFLICT (org) DO UPDATE SET bytes = excluded.bytes, counted_at = now()`,
      [id]
    )
    yield* advance
  }
})
