/** Finds the secrets with which a webhook is verified. None is found: the webhook is refused. Contract: inbound webhooks. */
import { Context, type Effect, type Redacted } from "effect"
import type { ConnectorDefinition } from "../../../domain/connector/Definition.js"
import type { WebhookVerification } from "../../../domain/connector/Webhook.js"
import type { Unavailable } from "../../../domain/Failure.js"
import type { OrganisationId, CustomerId, SecretId, SpaceId } from "../../../domain/Ids.js"
import type { Trigger } from "../../../domain/trigger/Trigger.js"

/** The secrets with any of which a request may be signed. */
export type SecretValues = Effect.Effect<ReadonlyArray<Redacted.Redacted>, Unavailable>

export class WebhookSecrets extends Context.Tag("svc/WebhookSecrets")<
  WebhookSecrets,
  {
    /** Of the secret that the webhook of a trigger names: its value, and the one before for a day. */
    readonly ofTrigger: (
      trigger: Pick<Trigger, "organisationId" | "spaceId" | "customerId" | "webhook">
    ) => SecretValues
    /**
     * Of the webhook of a connector: the secret that it names, or that of the organisation's OAuth client. The secret of
     * a subscription belongs to the subscription, not to the connector.
     */
    readonly ofConnector: (
      organisation: OrganisationId,
      definition: Pick<ConnectorDefinition, "slug" | "auth">,
      verification: WebhookVerification
    ) => SecretValues
  }
>() {}

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

/** Reads the sealed values of the secrets with which webhooks are verified. Results may be one second old. */
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
