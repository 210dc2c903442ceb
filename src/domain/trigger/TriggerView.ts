/** Triggers as the API shows them. Contract: trigger record and states. */
import { withoutPresetScheme } from "../connector/Webhook.js"
import type { SpaceId, TriggerId } from "../Ids.js"
import type { Trigger, TriggerState } from "./Trigger.js"

/** The id of a trigger's webhook: the trigger's, with a prefix of its own. */
export const webhookIdOf = (id: TriggerId): string => `whk_${id.slice(id.indexOf("_") + 1)}`

/** The id of the trigger of a webhook, unless the text has another form. */
export const triggerOfWebhook = (webhookId: string): string | undefined =>
  webhookId.startsWith("whk_") ? `trg_${webhookId.slice(4)}` : undefined

/** The path of a trigger's webhook. */
export const webhookPath = (space: SpaceId, id: TriggerId): string =>
  `/api/v1/clients/${space}/webhooks/${webhookIdOf(id)}`

/** States of an app event's subscription. */
export const subscriptionStates = [
  "none",
  "pending",
  "subscribed",
  "renewing",
  "failed",
  "suspended",
  "unsubscribed"
] as const
export type SubscriptionState = (typeof subscriptionStates)[number]

/** What the view shows beside the record. */
export interface TriggerFacts {
  readonly origin: string
  readonly state: TriggerState | undefined
  readonly subscription: SubscriptionState
}

/** The trigger as the API shows it. */
export const triggerView = (trigger: Trigger, { origin, state, subscription }: TriggerFacts) => ({
  id: trigger.id,
  type: trigger.type,
  name: trigger.name,
  description: trigger.description,
  customerId: trigger.customerId,
  status: trigger.status,
  routes: trigger.routes,
  delivery: trigger.delivery,
  autoReplay: trigger.autoReplay,
  webhook: trigger.webhook === null ? null : webhookView(trigger, trigger.webhook, origin),
  schedule: trigger.schedule === null ? null : scheduleView(trigger.schedule),
  appEvent: trigger.appEvent === null ? null : appEventView(trigger.appEvent, subscription),
  event: trigger.event,
  stats: {
    lastFiredAt: state?.lastFiredAt ?? null,
    nextFireAt: state?.nextFireAt ?? null,
    consecutiveFailures: state?.consecutiveFailures ?? 0
  },
  createdBy: trigger.createdBy,
  createdAt: trigger.createdAt,
  updatedAt: trigger.updatedAt,
  version: trigger.version
})
export type TriggerView = ReturnType<typeof triggerView>

/** The trigger with its new access key, which is shown once; `null`: it has no new one. */
export interface TriggerWithKey extends TriggerView {
  readonly accessKey: string | null
}

const webhookView = (
  { id, spaceId }: Trigger,
  { accessKeyHash: _hash, verify, ...webhook }: NonNullable<Trigger["webhook"]>,
  origin: string
) => ({
  id: webhookIdOf(id),
  url: `${origin}${webhookPath(spaceId, id)}`,
  ...webhook,
  bigIntegers: webhook.bigIntegers ?? "number",
  verify: verify === null ? null : withoutPresetScheme(verify)
})

const appEventView = (
  { delivery: _delivery, ...appEvent }: NonNullable<Trigger["appEvent"]>,
  subscription: SubscriptionState
) => ({ ...appEvent, subscription })

/** A `startsAt` that an earlier release stored in another form is shown as it is read, so that it can be sent back. */
const scheduleView = ({ anchorAt: _anchor, startsAt, ...schedule }: NonNullable<Trigger["schedule"]>) => ({
  ...schedule,
  startsAt: startsAt === null ? null : new Date(startsAt).toISOString()
})
