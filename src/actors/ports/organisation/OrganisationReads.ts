/** Finds the plan and the state of an organisation. Results may be one second old, but include this node's own commits. */
import { Context, type Effect, type Option } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import type { Organisation } from "../../../domain/organisation/Organisation.js"

/** The members of an organisation on which a start depends. They may be a second old. */
export type KnownOrganisation = Pick<Organisation, "id" | "parentId" | "plan" | "status" | "settings">

export class OrganisationReads extends Context.Tag("svc/OrganisationReads")<
  OrganisationReads,
  {
    readonly find: (id: OrganisationId) => Effect.Effect<Option.Option<KnownOrganisation>, Unavailable>
  }
>() {}
