/** The installation that a request names. The answer may be a second old. */
import type { Effect, Option } from "effect"
import { Context } from "effect"
import type { Unavailable } from "../../domain/Failure.js"
import type { OrganisationId } from "../../domain/Ids.js"
import type { Installation } from "../../domain/Installation.js"

export type KnownInstallation = Pick<
  Installation,
  "id" | "customerId" | "workflowIds" | "connections" | "config" | "status"
>

export class InstallationReads extends Context.Tag("svc/InstallationReads")<
  InstallationReads,
  {
    /** Whoever's it is in the organisation, uninstalled ones too. */
    readonly find: (
      organisation: OrganisationId,
      id: string
    ) => Effect.Effect<Option.Option<KnownInstallation>, Unavailable>
  }
>() {}
