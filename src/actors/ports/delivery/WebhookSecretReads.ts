/** Reads the sealed values of the secrets with which webhooks are verified. Results may be one second old. */
import { Context, type Effect } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import type { CustomerId, OrganisationId, SecretId, SpaceId } from "../../../domain/Ids.js"

/** A sealed value of a secret. */
export interface SealedSecret {
  readonly id: SecretId
  readonly number: number
  readonly type: "text" | "json"
  readonly sealed: Uint8Array
}

/** Whose secret it is. `spaceId` `null`: of any workspace, for connectors, which belong to the organisation. */
export interface SecretOwner {
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId | null
  readonly customerId: CustomerId | null
}

export class WebhookSecretReads extends Context.Tag("svc/WebhookSecretReads")<
  WebhookSecretReads,
  {
    /**
     * The current values of the secrets with this name, the customer's own before those of all customers, and the values
     * that were replaced less than a day ago.
     */
    readonly named: (owner: SecretOwner, name: string) => Effect.Effect<ReadonlyArray<SealedSecret>, Unavailable>
  }
>() {}
