/** What a request needs of its caller's organisation, read beside the caller's credential. */
import { Organisation } from "../../../domain/organisation/Organisation.js"
import { rowDecoder } from "../record/Table.js"

/** The organisation `o` of a statement, as JSON. */
export const knownOrganisationSql = `json_build_object('id', o.id, 'name', o.name, 'plan', o.plan, 'status', o.status,
  'defaultEnvironment', o.default_environment, 'settings', o.settings, 'parentId', o.parent_id)`

export const decodeKnownOrganisation = rowDecoder(
  "organisations",
  Organisation.stored.pick("id", "name", "plan", "status", "defaultEnvironment", "settings", "parentId")
)
