/** Schemas of a provider's events, and of the webhooks or polls that deliver them. Contract: connector definition. */
import { Schema } from "effect"
import { Condition } from "../expression/Condition.js"
import { withDefault, optional, required, partWithDefault } from "./Members.js"
import { Json, JsonObject } from "../Json.js"

const text = Schema.String
const args = optional(Schema.Record({ key: text, value: Json }), "The action's arguments; every string is a template.")

/** An event of the provider. */
export const EventDefinition = Schema.Struct({
  id: text,
  title: optional(text),
  description: optional(text),
  delivery: Schema.Literal("webhook", "poll"),
  entity: optional(text, "The name of the entity that the event is about."),
  payloadSchema: withDefault(JsonObject, () => ({}), "JSON Schema of one event."),
  webhook: optional(text, "The id of the webhook that delivers the event; required if there are several."),
  key: optional(text, "The value of the webhook's `eventKey` for this event; default: the id."),
  poll: optional(
    Schema.Struct({
      action: text,
      args,
      key: required(text, "A path into an item to its unique key."),
      changedAt: optional(text, "A path into an item to the time of its last change."),
      intervalSeconds: withDefault(Schema.Int.pipe(Schema.between(30, 86_400)), () => 300)
    }),
    "Required by the delivery poll."
  )
}).annotations({ identifier: "EventDefinition" })
export type EventDefinition = typeof EventDefinition.Type

/** How a received webhook is verified. Contract: inbound webhooks. */
export const WebhookVerification = Schema.Struct({
  preset: optional(
    Schema.Literal("standard-webhooks", "stripe", "slack", "github", "shopify", "svc"),
    "It determines the scheme; the other members override those of the preset."
  ),
  scheme: optional(
    Schema.Literal("standard", "hmac", "token", "none"),
    "Default: `standard`; must be absent beside `preset`."
  ),
  secretName: optional(text, "The name of the organisation's secret to verify with."),
  clientSecret: optional(Schema.Boolean, "Whether to verify with the OAuth client's secret."),
  subscriptionSecret: optional(Schema.Boolean, "Whether to verify with the secret of the subscription."),
  header: optional(text, "The header with the signature or token; required by the schemes hmac and token."),
  algorithm: optional(Schema.Literal("sha256", "sha1", "sha512")),
  encoding: optional(Schema.Literal("hex", "base64")),
  prefix: optional(text),
  payload: optional(text, "The signed text, such as `{timestamp}.{body}`."),
  timestampHeader: optional(text),
  timestampFormat: optional(Schema.Literal("unix", "ms", "iso")),
  maxAgeSeconds: withDefault(Schema.Int.pipe(Schema.between(1, 300)), () => 300),
  idHeader: optional(text)
}).annotations({ identifier: "Verification" })
export type WebhookVerification = typeof WebhookVerification.Type

/** How it is shown. An earlier release stored a scheme beside each preset, which a request must not have. */
export const withoutPresetScheme = (verify: WebhookVerification): WebhookVerification => {
  if (verify.preset === undefined) return verify
  const { scheme: _scheme, ...shown } = verify
  return shown
}

/** A webhook: its subscription, its verification and how its payload is read. */
export const WebhookDefinition = Schema.Struct({
  id: text,
  type: required(
    Schema.Literal("app", "per_event"),
    "`app`: one URL for all accounts of the provider's app. `per_event`: a subscription for each trigger."
  ),
  items: optional(
    text,
    "A path to the list of events in a delivery; each is read as a payload of its own. Absent: a delivery is one event."
  ),
  eventKey: optional(text, "A path into the payload to the event's key."),
  eventHeader: optional(text, "The header with the event's key."),
  account: optional(
    Schema.Struct({ payload: optional(text), header: optional(text), connection: text }),
    "How a delivery is matched with a connection: the values at these two places are equal."
  ),
  subscribe: optional(
    Schema.Struct({
      action: text,
      args,
      idFrom: optional(text, "A path into the action's result to the subscription's id."),
      expiresFrom: optional(text, "A path into the action's result to the subscription's expiry."),
      secretFrom: optional(text, "A path to a secret that the provider creates, instead of `webhook.secret`.")
    }),
    "Templates over `args.*` of the trigger, `event.key`, `webhook.url`, and `webhook.secret`, which is new for each subscription."
  ),
  unsubscribe: optional(
    Schema.Struct({ action: text, args }),
    "Templates over the same and `subscription.id`; also those of `renew`."
  ),
  renew: optional(
    Schema.Struct({
      action: text,
      args,
      beforeSeconds: withDefault(Schema.Int.pipe(Schema.positive()), () => 86_400)
    })
  ),
  verify: partWithDefault(WebhookVerification, () => WebhookVerification.make({})),
  challenge: optional(Schema.Struct({ when: Condition, respond: text }), "How the provider's challenge is answered.")
}).annotations({ identifier: "WebhookDefinition" })
export type WebhookDefinition = typeof WebhookDefinition.Type
