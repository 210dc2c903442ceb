/** Finds the secrets that webhooks are verified with. */
import { Context, type Effect } from "effect"
import type { WebhookVerification } from "../../domain/connector/Webhook.js"
import type { Unavailable } from "../../domain/Failure.js"
import type { Trigger } from "../../domain/Trigger.js"

export class WebhookSecrets extends Context.Tag("svc/WebhookSecrets")<
  WebhookSecrets,
  {
    /** The current secret, and the one before while it is being rotated; empty if there is none. */
    readonly ofTrigger: (
      trigger: Trigger,
      verification: WebhookVerification
    ) => Effect.Effect<ReadonlyArray<string>, Unavailable>
  }
>() {}
