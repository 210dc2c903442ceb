/** The port `OrganisationReads`, cached for less than a second. */
import { Effect, Layer } from "effect"
import { type KnownOrganisation, OrganisationReads } from "../../../actors/ports/organisation/OrganisationReads.js"
import { makeReadCache } from "../ReadCache.js"
import { WriterSql } from "../database/Pools.js"
import { firstRow } from "../database/DatabaseUnavailable.js"

export const layer = Layer.effect(
  OrganisationReads,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const cache = yield* makeReadCache<KnownOrganisation>({ organisationOf: (_, { id }) => id })

    return OrganisationReads.of({
      find: (id) =>
        cache.find(
          id,
          firstRow(sql<KnownOrganisation>`SELECT id, plan, status, settings FROM organisations WHERE id = ${id}`)
        )
    })
  })
)
