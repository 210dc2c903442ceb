/** Triggers as the API shows them. Contract: trigger record and states. */
import { withoutPresetScheme } from "../connector/Webhook.js"
import type { SpaceId, TriggerId } from "../Ids.js"
import { type SubscriptionState, Trigger, type TriggerState } from "./Trigger.js"

/** The id of a trigger's webhook: the trigger's, with a prefix of its own. */
export const webhookIdOf = (id: TriggerId): string => `whk_${id.slice(id.indexOf("_") + 1)}`

/** The id of the trigger of a webhook, unless the text has another form. */
export const triggerOfWebhook = (webhookId: string): string | undefined =>
  webhookId.startsWith("whk_") ? `trg_${webhookId.slice(4)}` : undefined

/** The path of a trigger's webhook. */
export const webhookPath = (space: SpaceId, id: TriggerId): string =>
  `/api/v1/clients/${space}/webhooks/${webhookIdOf(id)}`

/** What the view shows beside the record. */
export interface TriggerFacts {
  readonly origin: string
  readonly state: TriggerState | undefined
  readonly subscription: SubscriptionState
}

/** The trigger as the API shows it. */
export const triggerView = (trigger: Trigger, { origin, state, subscription }: TriggerFacts) => ({
  ...Trigger.show(trigger, {
    webhook: trigger.webhook && webhookView(trigger, trigger.webhook, origin),
    appEvent: trigger.appEvent && appEventView(trigger.appEvent, subscription),
    managedBy: trigger.managedBy === null ? null : { kind: "workflow" as const, id: trigger.managedBy },
    stats: {
      lastFiredAt: state?.lastFiredAt ?? null,
      nextFireAt: state?.nextFireAt ?? null,
      consecutiveFailures: state?.consecutiveFailures ?? 0
    }
  }),
  schedule: trigger.schedule && scheduleView(trigger.schedule)
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
