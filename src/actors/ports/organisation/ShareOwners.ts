/** Finds the owner of an organisation's shares where neither the organisation, nor its caller or its run is at hand. */
import { Context, type Effect } from "effect"
import type { OrganisationId } from "../../../domain/Ids.js"
import type { OrganisationOwner } from "../../../domain/share/ShareOwner.js"

export class ShareOwners extends Context.Tag("svc/ShareOwners")<
  ShareOwners,
  {
    /**
     * Read once and kept, since an organisation never changes its parent. While the database cannot be asked, an
     * organisation that is not kept has a share of its own, so that no work fails for that.
     */
    readonly of: (organisation: OrganisationId) => Effect.Effect<OrganisationOwner>
  }
>() {}
