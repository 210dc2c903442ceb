/** What a provider tells by itself: its events, and the webhooks or polls that bring them. Contract: connector definition. */
import { Schema } from "effect"
import { Condition } from "./Condition.js"
import { withDefault, optional, required, partWithDefault } from "./Members.js"
import { Json, JsonObject } from "../Json.js"

const text = Schema.String
const args = optional(Schema.Record({ key: text, value: Json }), "The action's arguments; every text is a template.")

export const EventDefinition = Schema.Struct({
  id: text,
  title: optional(text),
  description: optional(text),
  delivery: Schema.Literal("webhook", "poll"),
  entity: optional(text, "The name of the entity that it tells of."),
  payloadSchema: withDefault(JsonObject, () => ({}), "JSON Schema of one event."),
  webhook: optional(text, "The id of the webhook that brings it; needed where there are several."),
  key: optional(text, "What the webhook's `eventKey` says for this event; default the id."),
  poll: optional(
    Schema.Struct({
      action: text,
      args,
      key: required(text, "A path into an item: what tells one from another."),
      changedAt: optional(text, "A path into an item: when it changed last."),
      intervalSeconds: withDefault(Schema.Int.pipe(Schema.between(30, 86_400)), () => 300)
    }),
    "Needed by the delivery poll."
  )
}).annotations({ identifier: "EventDefinition" })
export type EventDefinition = typeof EventDefinition.Type

/** How a received webhook is proved to be the provider's. Contract: inbound webhooks. */
export const WebhookVerification = Schema.Struct({
  preset: optional(
    Schema.Literal("standard-webhooks", "stripe", "slack", "github", "shopify", "svc"),
    "Whatever stands beside it overrides the preset."
  ),
  scheme: withDefault(Schema.Literal("standard", "hmac", "token", "none"), () => "standard" as const),
  secretName: optional(text, "The secret is one of the organisation's, of this name."),
  clientSecret: optional(Schema.Boolean, "The secret is the OAuth client's."),
  subscriptionSecret: optional(Schema.Boolean, "The secret is the one that the subscription made."),
  header: optional(text, "Needed by the schemes hmac and token."),
  algorithm: optional(Schema.Literal("sha256", "sha1", "sha512")),
  encoding: optional(Schema.Literal("hex", "base64")),
  prefix: optional(text),
  payload: optional(text, "What is signed, as `{timestamp}.{body}`."),
  timestampHeader: optional(text),
  timestampFormat: optional(Schema.Literal("unix", "ms", "iso")),
  maxAgeSeconds: withDefault(Schema.Int.pipe(Schema.between(1, 300)), () => 300),
  idHeader: optional(text)
}).annotations({ identifier: "Verification" })
export type WebhookVerification = typeof WebhookVerification.Type

export const WebhookDefinition = Schema.Struct({
  id: text,
  type: required(
    Schema.Literal("app", "per_event"),
    "`app`: one address for all accounts of the provider's app. `per_event`: subscribed for each trigger."
  ),
  items: optional(
    text,
    "The list of events in a delivery that brings several: each is then read as a payload of its own. Absent: one event."
  ),
  eventKey: optional(text, "Where a delivery says which event it is: a path into the payload."),
  eventHeader: optional(text, "The same, as a header."),
  account: optional(
    Schema.Struct({ payload: optional(text), header: optional(text), connection: text }),
    "Which connection a delivery belongs to: equal values at these two paths."
  ),
  subscribe: optional(
    Schema.Struct({
      action: text,
      args,
      idFrom: optional(text, "A path into the action's result: the subscription's id."),
      expiresFrom: optional(text, "A path into the action's result: when the subscription ends."),
      secretFrom: optional(text, "A path to a secret that the provider makes itself, instead of `webhook.secret`.")
    }),
    "Templates over `args.*` of the trigger, `event.key`, `webhook.url`, and `webhook.secret`, made anew each time."
  ),
  unsubscribe: optional(
    Schema.Struct({ action: text, args }),
    "Templates over the same and `subscription.id`; so are those of `renew`."
  ),
  renew: optional(
    Schema.Struct({
      action: text,
      args,
      beforeSeconds: withDefault(Schema.Int.pipe(Schema.positive()), () => 86_400)
    })
  ),
  verify: partWithDefault(WebhookVerification, () => WebhookVerification.make({})),
  challenge: optional(
    Schema.Struct({ when: Condition, respond: text }),
    "How the provider's first question is answered."
  )
}).annotations({ identifier: "WebhookDefinition" })
export type WebhookDefinition = typeof WebhookDefinition.Type
