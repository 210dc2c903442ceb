/** The addresses that providers' apps deliver to: one for each webhook of the type `app` and organisation. */
import type { WebhookDefinition } from "../connector/Webhook.js"
import type { OrganisationId, SpaceId } from "../Ids.js"

const prefix = "whc_"

/** The path of a connector's app webhook. It names the organisation, whose definition, secrets and connections count. */
export const appWebhookPath = (organisation: OrganisationId, connector: string, webhook: string): string =>
  `/api/v1/clients/${organisation}/webhooks/${prefix}${connector}.${encodeURIComponent(webhook)}`

/** Whether the id of a webhook, as sent, is that of a connector's. */
export const isAppWebhook = (id: string): boolean => id.startsWith(prefix)

/** The connector's slug and the webhook's id; `undefined` if the text has another form. A slug has no dots. */
export const readAppWebhookId = (id: string): { readonly connector: string; readonly webhook: string } | undefined => {
  const at = id.indexOf(".")
  if (!isAppWebhook(id) || at < 0) return undefined
  try {
    return { connector: id.slice(prefix.length, at), webhook: decodeURIComponent(id.slice(at + 1)) }
  } catch {
    return undefined
  }
}

/** The addresses of a definition's app webhooks, by their ids. */
export const appWebhookUrls = (
  origin: string,
  organisation: OrganisationId,
  { slug, webhooks }: { readonly slug: string; readonly webhooks: ReadonlyArray<WebhookDefinition> }
): { readonly [webhook: string]: string } =>
  Object.fromEntries(
    webhooks
      .filter(({ type }) => type === "app")
      .map(({ id }) => [id, `${origin}${appWebhookPath(organisation, slug, id)}`])
  )

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
