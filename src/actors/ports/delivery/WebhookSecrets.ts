/** Finds the secrets with which a webhook is verified. None is found: the webhook is refused. Contract: inbound webhooks. */
import { Context, type Effect, type Redacted } from "effect"
import type { ConnectorDefinition } from "../../../domain/connector/Definition.js"
import type { WebhookVerification } from "../../../domain/connector/Webhook.js"
import type { Unavailable } from "../../../domain/Failure.js"
import type { OrganisationId } from "../../../domain/Ids.js"
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
