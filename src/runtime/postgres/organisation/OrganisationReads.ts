/** The port `OrganisationReads`, cached for less than a second. */
import { Effect, Layer } from "effect"
import { type KnownOrganisation, OrganisationReads } from "../../../actors/ports/organisation/OrganisationReads.js"
import { Organisation } from "../../../domain/organisation/Organisation.js"
import { rowDecoder } from "../record/Table.js"
import { makeReadCache } from "../ReadCache.js"
import { WriterSql } from "../database/Pools.js"
import { firstRow } from "../database/DatabaseUnavailable.js"

const decode = rowDecoder("organisations", Organisation.stored.pick("id", "parentId", "plan", "status", "settings"))

export const layer = Layer.effect(
  OrganisationReads,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const cache = yield* makeReadCache<KnownOrganisation>({ organisationOf: (_, { id }) => id })

    return OrganisationReads.of({
      find: (id) =>
        cache.find(id, () =>
          firstRow(
            sql`SELECT id, parent_id AS "parentId", plan, status, settings FROM organisations WHERE id = ${id}`,
            decode
          )
        )
    })
  })
)
