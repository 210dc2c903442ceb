/** The addresses that providers deliver to for subscriptions, and the places of their secrets. */
import type { OrganisationId, SpaceId } from "../Ids.js"

/** The path of a subscription's webhook. */
export const subscriptionAddress = (space: SpaceId, number: string): string =>
  `/api/v1/clients/${space}/webhooks/${number}`

/** Whether the id of a webhook is the number of a subscription. */
export const isSubscriptionNumber = (webhookId: string): boolean => webhookId.startsWith("whs_")

/** The place to which the secret of a subscription is sealed. */
export const subscriptionPlace = (organisation: OrganisationId, number: string) => ({
  organisation,
  table: "subscriptions",
  column: "secret",
  row: number
})
