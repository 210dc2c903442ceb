/** What a provider tells by itself: its events, and the webhooks or polls that bring them. Contract: connector definition. */
import { Schema } from "effect"
import { Json, JsonObject } from "./PlainJson.js"
import { Condition } from "./Condition.js"

const text = Schema.String
const maybe = <A, I, R>(schema: Schema.Schema<A, I, R>) => Schema.optionalWith(schema, { exact: true })
const args = maybe(Schema.Record({ key: text, value: Json }))

export const EventDefinition = Schema.Struct({
  id: text,
  title: maybe(text),
  description: maybe(text),
  delivery: Schema.Literal("webhook", "poll"),
  entity: maybe(text),
  payloadSchema: Schema.optionalWith(JsonObject, { default: () => ({}) }),
  /** The id of the webhook that brings it; needed where there are several. */
  webhook: maybe(text),
  /** What the webhook's `eventKey` says for this event; default the id. */
  key: maybe(text),
  poll: maybe(
    Schema.Struct({
      action: text,
      args,
      key: text,
      changedAt: maybe(text),
      intervalSeconds: Schema.optionalWith(Schema.Int.pipe(Schema.between(30, 86_400)), { default: () => 300 })
    })
  )
})
export type EventDefinition = typeof EventDefinition.Type

/** How a received webhook is proved to be the provider's. Contract: inbound webhooks. */
export const Verification = Schema.Struct({
  /** Whatever stands beside it overrides the preset. */
  preset: maybe(Schema.Literal("standard-webhooks", "stripe", "slack", "github", "shopify", "svc")),
  scheme: Schema.optionalWith(Schema.Literal("standard", "hmac", "token", "none"), {
    default: () => "standard" as const
  }),
  /** The secret: one of the organisation's, the OAuth client's, or the one that the subscription made. */
  secretName: maybe(text),
  clientSecret: maybe(Schema.Boolean),
  subscriptionSecret: maybe(Schema.Boolean),
  header: maybe(text),
  algorithm: maybe(Schema.Literal("sha256", "sha1", "sha512")),
  encoding: maybe(Schema.Literal("hex", "base64")),
  prefix: maybe(text),
  payload: maybe(text),
  timestampHeader: maybe(text),
  timestampFormat: maybe(Schema.Literal("unix", "ms", "iso")),
  maxAgeSeconds: Schema.optionalWith(Schema.Int.pipe(Schema.between(1, 300)), { default: () => 300 }),
  idHeader: maybe(text)
})
export type Verification = typeof Verification.Type

export const WebhookDefinition = Schema.Struct({
  id: text,
  /** `app`: one address for all accounts of the provider's app. `per_event`: subscribed for each trigger. */
  type: Schema.Literal("app", "per_event"),
  /** The list of events in a delivery that brings several: each is then read as a payload of its own. Absent: one event. */
  items: maybe(text),
  /** Where a delivery says which event it is: a path into the payload, or a header. */
  eventKey: maybe(text),
  eventHeader: maybe(text),
  /** Which connection a delivery belongs to: equal values at these two paths. */
  account: maybe(Schema.Struct({ payload: maybe(text), header: maybe(text), connection: text })),
  /**
   * Templates over `args.*` of the trigger, `event.key`, `webhook.url`, and `webhook.secret`, made anew each time;
   * `secretFrom` is where the provider answers a secret of its own instead.
   */
  subscribe: maybe(
    Schema.Struct({ action: text, args, idFrom: maybe(text), expiresFrom: maybe(text), secretFrom: maybe(text) })
  ),
  /** Templates over the same and `subscription.id`; so are those of `renew`. */
  unsubscribe: maybe(Schema.Struct({ action: text, args })),
  renew: maybe(
    Schema.Struct({
      action: text,
      args,
      beforeSeconds: Schema.optionalWith(Schema.Int.pipe(Schema.positive()), { default: () => 86_400 })
    })
  ),
  verify: Schema.optionalWith(Verification, { default: () => Verification.make({}) }),
  /** How the provider's first question is answered. */
  challenge: maybe(Schema.Struct({ when: Condition, respond: text }))
})
export type WebhookDefinition = typeof WebhookDefinition.Type
