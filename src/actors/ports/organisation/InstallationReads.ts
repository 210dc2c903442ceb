/** Finds the installation that a request names, or those that apply to an event. Results may be one second old. */
import { type Effect, type Option, Context } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import type { ConnectionId, CustomerId, OrganisationId, WorkflowId } from "../../../domain/Ids.js"
import type { Installation } from "../../../domain/organisation/Installation.js"

/** The members of an installation on which a start depends. They may be a second old. */
export type KnownInstallation = Pick<
  Installation,
  "id" | "customerId" | "workflowIds" | "connections" | "config" | "status"
>

/** An event of a customer that starts a workflow. */
export interface EventPlace {
  readonly customerId: CustomerId
  readonly workflowId: WorkflowId
  readonly connectionId: ConnectionId | null
}

export class InstallationReads extends Context.Tag("svc/InstallationReads")<
  InstallationReads,
  {
    /** An installation of any customer of the organisation, also an uninstalled one. */
    readonly find: (
      organisation: OrganisationId,
      id: string
    ) => Effect.Effect<Option.Option<KnownInstallation>, Unavailable>

    /**
     * The installations of the customer that list the workflow and are not uninstalled, as many as decide which one an event
     * is for: at most two, first those that have its connection, then active ones.
     */
    readonly ofEvent: (
      organisation: OrganisationId,
      place: EventPlace
    ) => Effect.Effect<ReadonlyArray<KnownInstallation>, Unavailable>
  }
>() {}
