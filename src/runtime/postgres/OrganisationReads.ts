/** The port `OrganisationReads`, cached for less than a second. */
import { Effect, Layer, Option } from "effect"
import { type KnownOrganisation, OrganisationReads } from "../../actors/ports/OrganisationReads.js"
import type { Unavailable } from "../../domain/Failure.js"
import { makeReadCache } from "./ReadCache.js"
import { WriterSql } from "./Pools.js"
import { databaseUnavailable } from "./DatabaseUnavailable.js"

const maxAgeMillis = 800
const maxCachedOrganisations = 10_000

export const layer = Layer.effect(
  OrganisationReads,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const cache = yield* makeReadCache<KnownOrganisation, Unavailable>({
      maxAgeMillis,
      maxEntries: maxCachedOrganisations,
      organisationOf: (_, { id }) => id
    })

    return OrganisationReads.of({
      find: (id) =>
        Effect.map(
          cache.get(
            id,
            sql<KnownOrganisation>`SELECT id, plan, status, settings FROM organisations WHERE id = ${id}`.pipe(
              Effect.map(([row]) => row),
              Effect.mapError(databaseUnavailable)
            )
          ),
          Option.fromNullable
        )
    })
  })
)
