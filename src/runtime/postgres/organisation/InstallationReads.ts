/** The port `InstallationReads`, cached for less than a second. */
import { Effect, Layer, Option } from "effect"
import { InstallationReads, type KnownInstallation } from "../../../actors/ports/organisation/InstallationReads.js"
import { Installation } from "../../../domain/organisation/Installation.js"
import { rowDecoder } from "../record/Table.js"
import { makeReadCache } from "../ReadCache.js"
import { WriterSql } from "../database/Pools.js"
import { firstRow, recordsOf } from "../database/DatabaseUnavailable.js"

const decode = rowDecoder(
  "installations",
  Installation.stored.pick("id", "customerId", "workflowIds", "connections", "config", "status")
)

/** An installation may have tens of kilobytes of connections and configuration. */
const maxEntries = 1_000

export const layer = Layer.effect(
  InstallationReads,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const cache = yield* makeReadCache<KnownInstallation>({ maxEntries })
    const ofEvents = yield* makeReadCache<ReadonlyArray<KnownInstallation>>({ maxEntries })
    const columns = sql.literal(
      `id, customer_id AS "customerId", workflow_ids AS "workflowIds", connections, config, status`
    )

    return InstallationReads.of({
      find: (organisation, id) =>
        cache.find(`${organisation}|${id}`, () =>
          firstRow(sql`SELECT ${columns} FROM installations WHERE org = ${organisation} AND id = ${id}`, decode)
        ),

      ofEvent: (organisation, { connectionId, customerId, workflowId }) => {
        const read = () => sql`SELECT ${columns} FROM installations
          WHERE org = ${organisation} AND customer_id = ${customerId} AND uninstalled_at IS NULL
            AND workflow_ids @> ARRAY[${workflowId}]::text[]
          ORDER BY EXISTS (SELECT FROM jsonb_each_text(connections) AS c WHERE c.value = ${connectionId}) DESC,
            status = 'active' DESC, id LIMIT 2`
        return ofEvents
          .find([organisation, customerId, workflowId, connectionId].join("|"), () => recordsOf(read(), decode))
          .pipe(Effect.map(Option.getOrElse(() => [])))
      }
    })
  })
)
