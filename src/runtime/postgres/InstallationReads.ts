/** The port `InstallationReads`, cached for less than a second. */
import { Effect, Layer, Option } from "effect"
import { InstallationReads, type KnownInstallation } from "../../actors/ports/InstallationReads.js"
import type { Unavailable } from "../../domain/Failure.js"
import { makeReadCache, organisationOfKey } from "./ReadCache.js"
import { WriterSql } from "./Pools.js"
import { databaseUnavailable } from "./DatabaseUnavailable.js"

const maxAgeMillis = 800
const maxCachedInstallations = 10_000

export const layer = Layer.effect(
  InstallationReads,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const cache = yield* makeReadCache<KnownInstallation, Unavailable>({
      maxAgeMillis,
      maxEntries: maxCachedInstallations,
      organisationOf: organisationOfKey
    })

    return InstallationReads.of({
      find: (organisation, id) =>
        Effect.map(
          cache.get(
            `${organisation}|${id}`,
            sql<KnownInstallation>`SELECT id, customer_id AS "customerId", workflow_ids AS "workflowIds",
            connections, config, status FROM installations WHERE org = ${organisation} AND id = ${id}`.pipe(
              Effect.map(([row]) => row),
              Effect.mapError(databaseUnavailable)
            )
          ),
          Option.fromNullable
        )
    })
  })
)
