/** Owners of shares: of organisations that are accounts of their own, and of those whose parent is one. */
import { Effect, Layer } from "effect"
import { ShareOwners } from "../../src/actors/ports/organisation/ShareOwners.js"
import type { OrganisationId } from "../../src/domain/Ids.js"
import { type OrganisationOwner, ownerOfAccount } from "../../src/domain/share/ShareOwner.js"

/** The owner of an organisation's share; its account is the organisation, unless one is named. */
export const ownerOf = (organisation: string, account = organisation): OrganisationOwner =>
  ownerOfAccount({ accountId: account as OrganisationId, organisationId: organisation as OrganisationId })

/** Each organisation is an account of its own. */
export const layerOwnAccounts = Layer.succeed(ShareOwners, ShareOwners.of({ of: (id) => Effect.succeed(ownerOf(id)) }))
