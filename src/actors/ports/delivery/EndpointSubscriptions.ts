/** Which endpoints of an organisation receive an event. Results may be one second old, but include this node's own commits. */
import { type Effect, Context } from "effect"
import type { OrganisationId } from "../../../domain/Ids.js"
import type { WebhookEndpoint } from "../../../domain/delivery/WebhookEndpoint.js"
import type { JournalUnavailable } from "../run/Journal.js"

/** Where a message goes; its secrets are read when it is sent. */
export type SubscribedEndpoint = Pick<WebhookEndpoint, "id" | "url">

export class EndpointSubscriptions extends Context.Tag("svc/EndpointSubscriptions")<
  EndpointSubscriptions,
  {
    /** The endpoints that are subscribed to the type, also disabled ones: what these miss is kept for them. */
    readonly subscribed: (
      organisation: OrganisationId,
      type: string
    ) => Effect.Effect<ReadonlyArray<SubscribedEndpoint>, JournalUnavailable>
    /** The same without an effect, for speed; `undefined` if it must be read first. */
    readonly cached: (organisation: OrganisationId, type: string) => ReadonlyArray<SubscribedEndpoint> | undefined
  }
>() {}
