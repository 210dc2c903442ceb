/**
 * Who owns a share of what a node divides among its tenants: turns, places, bytes, processes. An account, which is an
 * organisation with those whose parent it is, has one share, in which its organisations take turns. Queues and ledgers take
 * a `ShareOwner`, and only this module makes one, so that none of them divides by organisation. Decision: 0075.
 */
import { Brand } from "effect"
import type { OrganisationId } from "../Ids.js"
import { accountOf, type Organisation } from "../organisation/Organisation.js"

/** The owner of a share: the account to which it belongs, and the part of the account that uses it now. */
export type ShareOwner = Brand.Brand<"ShareOwner"> & { readonly account: string; readonly organisation: string }

/** An owner that is an organisation, and no client whose organisation is not known yet. */
export type OrganisationOwner = Brand.Brand<"ShareOwner"> & {
  readonly account: OrganisationId
  readonly organisation: OrganisationId
}

const brand = Brand.nominal<OrganisationOwner>()
const brandAddress = Brand.nominal<ShareOwner>()

/** The owner by an organisation's record. */
export const ownerOfOrganisation = (organisation: Pick<Organisation, "id" | "parentId">): OrganisationOwner =>
  brand({ account: accountOf(organisation), organisation: organisation.id })

/** The owner by a record that names the account: a caller, a leased event, work that is due. */
export const ownerOfAccount = (record: {
  readonly accountId: OrganisationId
  readonly organisationId: OrganisationId
}): OrganisationOwner => brand({ account: record.accountId, organisation: record.organisationId })

/** The owner by a run's row. A record without an account is of an organisation that is one itself. */
export const ownerOfRun = (run: {
  readonly organisationId: OrganisationId
  readonly record: { readonly accountId?: OrganisationId }
}): OrganisationOwner =>
  brand({ account: run.record.accountId ?? run.organisationId, organisation: run.organisationId })

/** The owner of what a client sends before its organisation is known: its address. */
export const ownerOfAddress = (address: string): ShareOwner => brandAddress({ account: address, organisation: address })
