/**
 * Use case of webhooks: the webhook of a trigger, the address that a provider got for a subscription, or that of a
 * provider's app. Contract: webhook receiver.
 */
import { Effect } from "effect"
import { isAppWebhook, isSubscriptionNumber } from "../../../domain/trigger/AppWebhookAddress.js"
import { makeAppWebhooks } from "./AppWebhooks.js"
import { makeSubscriptionWebhooks } from "./SubscriptionWebhooks.js"
import { makeTriggerWebhooks } from "./TriggerWebhooks.js"

const make = Effect.gen(function* () {
  const ofApp = yield* makeAppWebhooks
  const ofSubscription = yield* makeSubscriptionWebhooks
  const ofTrigger = yield* makeTriggerWebhooks
  const kindOf = (id: string) => (isAppWebhook(id) ? ofApp : isSubscriptionNumber(id) ? ofSubscription : ofTrigger)
  return {
    /**
     * `client`: a workspace; of an app's webhook, the organisation. Fails with `NotFound` for an unknown address, with
     * `InvalidState` for a disabled trigger, with `Forbidden` while the organisation is suspended. After a failure of
     * `receive` the provider repeats the delivery; events that were accepted before are recognised.
     */
    find: (client: string, id: string) => kindOf(id)(client, id)
  }
})

export class WebhookIntake extends Effect.Service<WebhookIntake>()("svc/WebhookIntake", { effect: make }) {}
