/** Links that sign a person in, made by whoever starts svc or runs its commands: they have the database. */
import { Effect, Option, Redacted } from "effect"
import { Digests } from "../../actors/ports/Digests.js"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import { OrganisationId } from "../../domain/Ids.js"
import { addLink } from "../postgres/access/SignIns.js"
import { WriterSql } from "../postgres/database/Pools.js"
import { rowDecoder } from "../postgres/record/Table.js"

/** Stores a link that signs in the owner of the organisation, or the person of the address, once. `url`: that of the service. */
export const makeSignInLink = Effect.fn("SignInLink.make")(function* (
  organisationId: OrganisationId,
  email: string | null,
  url: string
) {
  const digests = yield* Digests
  const token = (yield* Identifiers).secret()
  yield* addLink(yield* WriterSql, { hash: digests.keyHash(`sign-in|${token}`), organisationId, email })
  return Redacted.make(`${url}/login#token=${token}`)
})

const decodeOrganisation = rowDecoder("organisations", { id: OrganisationId })

/** The organisation that waits for its first person, who is made by a link; none: somebody may act, or there is no organisation. */
export const findUnowned = Effect.fn("SignInLink.unowned")(function* () {
  const sql = yield* WriterSql
  const [row] = yield* sql`SELECT id FROM organisations WHERE NOT EXISTS (SELECT FROM users WHERE status = 'active')
      ORDER BY created_at, id LIMIT 1`
  return row === undefined ? Option.none<OrganisationId>() : Option.some(decodeOrganisation(row).id)
})
