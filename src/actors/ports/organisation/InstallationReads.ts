/** Finds the installation that a request names. Results may be one second old. */
import { type Effect, type Option, Context } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import type { Installation } from "../../../domain/organisation/Installation.js"

/** The members of an installation on which a start depends. They may be a second old. */
export type KnownInstallation = Pick<
  Installation,
  "id" | "customerId" | "workflowIds" | "connections" | "config" | "status"
>

export class InstallationReads extends Context.Tag("svc/InstallationReads")<
  InstallationReads,
  {
    /** An installation of any customer of the organisation, also an uninstalled one. */
    readonly find: (
      organisation: OrganisationId,
      id: string
    ) => Effect.Effect<Option.Option<KnownInstallation>, Unavailable>
  }
>() {}
