/** The port `InstallationReads`, cached for less than a second. */
import { Effect, Layer } from "effect"
import { InstallationReads, type KnownInstallation } from "../../../actors/ports/organisation/InstallationReads.js"
import { Installation } from "../../../domain/organisation/Installation.js"
import { rowDecoder } from "../record/Table.js"
import { makeReadCache } from "../ReadCache.js"
import { WriterSql } from "../database/Pools.js"
import { firstRow } from "../database/DatabaseUnavailable.js"

const decode = rowDecoder(
  "installations",
  Installation.stored.pick("id", "customerId", "workflowIds", "connections", "config", "status")
)

export const layer = Layer.effect(
  InstallationReads,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const cache = yield* makeReadCache<KnownInstallation>()

    return InstallationReads.of({
      find: (organisation, id) =>
        cache.find(
          `${organisation}|${id}`,
          firstRow(
            sql`SELECT id, customer_id AS "customerId", workflow_ids AS "workflowIds",
            connections, config, status FROM installations WHERE org = ${organisation} AND id = ${id}`,
            decode
          )
        )
    })
  })
)
