/** What a provider tells by itself: its events, and the webhooks or polls that bring them. Contract: connector definition. */
import { Schema } from "effect"
import { Condition } from "./Condition.js"
import { filled, maybe, needed, part } from "./Members.js"
import { Json, JsonObject } from "../Json.js"

const text = Schema.String
const args = maybe(Schema.Record({ key: text, value: Json }), "The action's arguments; every text is a template.")

export const EventDefinition = Schema.Struct({
  id: text,
  title: maybe(text),
  description: maybe(text),
  delivery: Schema.Literal("webhook", "poll"),
  entity: maybe(text, "The name of the entity that it tells of."),
  payloadSchema: filled(JsonObject, () => ({}), "JSON Schema of one event."),
  webhook: maybe(text, "The id of the webhook that brings it; needed where there are several."),
  key: maybe(text, "What the webhook's `eventKey` says for this event; default the id."),
  poll: maybe(
    Schema.Struct({
      action: text,
      args,
      key: needed(text, "A path into an item: what tells one from another."),
      changedAt: maybe(text, "A path into an item: when it changed last."),
      intervalSeconds: filled(Schema.Int.pipe(Schema.between(30, 86_400)), () => 300)
    }),
    "Needed by the delivery poll."
  )
}).annotations({ identifier: "EventDefinition" })
export type EventDefinition = typeof EventDefinition.Type

/** How a received webhook is proved to be the provider's. Contract: inbound webhooks. */
export const WebhookVerification = Schema.Struct({
  preset: maybe(
    Schema.Literal("standard-webhooks", "stripe", "slack", "github", "shopify", "svc"),
    "Whatever stands beside it overrides the preset."
  ),
  scheme: filled(Schema.Literal("standard", "hmac", "token", "none"), () => "standard" as const),
  secretName: maybe(text, "The secret is one of the organisation's, of this name."),
  clientSecret: maybe(Schema.Boolean, "The secret is the OAuth client's."),
  subscriptionSecret: maybe(Schema.Boolean, "The secret is the one that the subscription made."),
  header: maybe(text, "Needed by the schemes hmac and token."),
  algorithm: maybe(Schema.Literal("sha256", "sha1", "sha512")),
  encoding: maybe(Schema.Literal("hex", "base64")),
  prefix: maybe(text),
  payload: maybe(text, "What is signed, as `{timestamp}.{body}`."),
  timestampHeader: maybe(text),
  timestampFormat: maybe(Schema.Literal("unix", "ms", "iso")),
  maxAgeSeconds: filled(Schema.Int.pipe(Schema.between(1, 300)), () => 300),
  idHeader: maybe(text)
}).annotations({ identifier: "Verification" })
export type WebhookVerification = typeof WebhookVerification.Type

export const WebhookDefinition = Schema.Struct({
  id: text,
  type: needed(
    Schema.Literal("app", "per_event"),
    "`app`: one address for all accounts of the provider's app. `per_event`: subscribed for each trigger."
  ),
  items: maybe(
    text,
    "The list of events in a delivery that brings several: each is then read as a payload of its own. Absent: one event."
  ),
  eventKey: maybe(text, "Where a delivery says which event it is: a path into the payload."),
  eventHeader: maybe(text, "The same, as a header."),
  account: maybe(
    Schema.Struct({ payload: maybe(text), header: maybe(text), connection: text }),
    "Which connection a delivery belongs to: equal values at these two paths."
  ),
  subscribe: maybe(
    Schema.Struct({
      action: text,
      args,
      idFrom: maybe(text, "A path into the action's result: the subscription's id."),
      expiresFrom: maybe(text, "A path into the action's result: when the subscription ends."),
      secretFrom: maybe(text, "A path to a secret that the provider makes itself, instead of `webhook.secret`.")
    }),
    "Templates over `args.*` of the trigger, `event.key`, `webhook.url`, and `webhook.secret`, made anew each time."
  ),
  unsubscribe: maybe(
    Schema.Struct({ action: text, args }),
    "Templates over the same and `subscription.id`; so are those of `renew`."
  ),
  renew: maybe(
    Schema.Struct({
      action: text,
      args,
      beforeSeconds: filled(Schema.Int.pipe(Schema.positive()), () => 86_400)
    })
  ),
  verify: part(WebhookVerification, () => WebhookVerification.make({})),
  challenge: maybe(Schema.Struct({ when: Condition, respond: text }), "How the provider's first question is answered.")
}).annotations({ identifier: "WebhookDefinition" })
export type WebhookDefinition = typeof WebhookDefinition.Type
