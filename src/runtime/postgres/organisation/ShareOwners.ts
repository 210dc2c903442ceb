/** The port `ShareOwners`: reads an organisation's parent once, and keeps the owners that were found last. */
import { Effect, Layer } from "effect"
import { ShareOwners } from "../../../actors/ports/organisation/ShareOwners.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import { Organisation } from "../../../domain/organisation/Organisation.js"
import { type OrganisationOwner, ownerOfOrganisation } from "../../../domain/share/ShareOwner.js"
import { RecentMap } from "../../../domain/RecentMap.js"
import { firstRow } from "../database/DatabaseUnavailable.js"
import { outsideTransaction } from "../database/OutsideTransaction.js"
import { WriterSql } from "../database/Pools.js"
import { rowDecoder } from "../record/Table.js"

/** Owners that are kept. */
const mostOwners = 20_000

const decode = rowDecoder("organisations", Organisation.stored.pick("id", "parentId"))

export const layer = Layer.effect(
  ShareOwners,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const owners = new RecentMap<OrganisationId, OrganisationOwner>(mostOwners)

    const read = (id: OrganisationId) =>
      outsideTransaction(firstRow(sql`SELECT id, parent_id AS "parentId" FROM organisations WHERE id = ${id}`, decode))

    return ShareOwners.of({
      of: (id) =>
        Effect.suspend(() => {
          const known = owners.get(id)
          if (known !== undefined) return Effect.succeed(known)
          return Effect.match(read(id), {
            onFailure: () => ownerOfOrganisation({ id, parentId: null }),
            onSuccess: (found) => {
              const owner = ownerOfOrganisation(found ?? { id, parentId: null })
              if (found !== undefined) owners.set(id, owner)
              return owner
            }
          })
        })
    })
  })
)
