/**
 * A connector as a value: everything that tells how to speak to a system over HTTP, and nothing that does it.
 * The form of the file `*.connector.json`, of import and of export. Contract: connector definition.
 */
import { Schema } from "effect"
import { slugPattern } from "../Workflow.js"
import { ActionDefinition } from "./Action.js"
import { AuthMethod, ConnectionConfig } from "./AuthMethod.js"
import { withDefault, optionalList, optional, required, partWithDefault } from "./Members.js"
import { Json, JsonObject } from "../Json.js"
import { EventDefinition, WebhookDefinition } from "./Webhook.js"

const text = Schema.String

export const ConnectorKind = Schema.Literal(
  "ecommerce",
  "payments",
  "accounting",
  "inventory",
  "fulfillment",
  "source_hosting",
  "chat",
  "email",
  "http",
  "ai",
  "crm",
  "documents",
  "knowledge_base",
  "messaging",
  "project_management",
  "custom"
)
export type ConnectorKind = typeof ConnectorKind.Type

export const semverPattern = /^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})$/

const RateHeaders = Schema.Struct({
  limit: optional(text),
  remaining: optional(text),
  reset: optional(text),
  usage: optional(text, "A header of the form `32/40`: used, of so many."),
  resetFormat: withDefault(
    Schema.Literal("unix", "seconds", "ms", "duration", "http-date", "iso"),
    () => "unix" as const,
    "`unix` and `ms`: an instant since 1970; `seconds`: from now; `duration`: from now, as in `6m0.5s`; the others as called."
  ),
  retryAfter: withDefault(text, () => "retry-after")
}).annotations({ identifier: "RateHeaders" })

/** What the provider takes. */
export const RateLimit = Schema.Struct({
  scope: withDefault(
    Schema.Literal("connection", "connector"),
    () => "connection" as const,
    "Whether the provider counts each account, or the organisation's client over all of them."
  ),
  requests: optional(Schema.Int.pipe(Schema.positive()), "Absent: only what the provider's headers tell is observed."),
  perSeconds: withDefault(Schema.Number.pipe(Schema.positive()), () => 1),
  concurrency: optional(Schema.Int.pipe(Schema.positive()), "How many calls may be under way at once."),
  headers: partWithDefault(RateHeaders, () => RateHeaders.make({}), "The response headers that tell of the limit.")
}).annotations({ identifier: "RateLimit" })
export type RateLimit = typeof RateLimit.Type

/** When a failed call is tried again, and after which pause. */
export const RetryRule = Schema.Struct({
  on: withDefault(
    Schema.Array(Schema.Union(Schema.Int, Schema.Literal("network", "timeout"))),
    () => [429, 502, 503, 504, "network" as const],
    "Statuses; `network`: nobody answered."
  ),
  maxAttempts: withDefault(Schema.Int.pipe(Schema.between(1, 10)), () => 4, "With the first one."),
  backoff: withDefault(Schema.Literal("exponential", "linear", "fixed"), () => "exponential" as const),
  initialMs: withDefault(Schema.Int.pipe(Schema.between(0, 3_600_000)), () => 500),
  coefficient: withDefault(Schema.Number.pipe(Schema.between(1, 10)), () => 2),
  maxMs: withDefault(Schema.Int.pipe(Schema.between(0, 3_600_000)), () => 30_000),
  jitter: withDefault(Schema.Number.pipe(Schema.between(0, 1)), () => 0.2, "The share by which a pause is varied.")
}).annotations({ identifier: "RetryRule" })
export type RetryRule = typeof RetryRule.Type

const Transform = Schema.Union(
  text,
  Schema.Struct({ fn: text, args: withDefault(Schema.Array(Json), () => []) }).annotations({
    identifier: "TransformCall"
  })
)

/** One pair of a field map. */
export const FieldMap = Schema.Struct({
  from: required(text, "A path into the provider's record; `[*]` in both paths is every item of a list."),
  to: required(text, "A path into the common record."),
  transforms: optionalList(Transform),
  enum: optional(Schema.Record({ key: text, value: text }), "The provider's value → the common one."),
  fallback: optional(Json),
  dateFormat: optional(Schema.Literal("MM-DD-YYYY", "DD-MM-YYYY")),
  minorUnits: optional(
    Schema.Boolean,
    "The provider's value is an amount in the smallest unit of the entity's currency, the common one its decimal amount."
  )
}).annotations({ identifier: "FieldMap" })
export type FieldMap = typeof FieldMap.Type

export const EntityDefinition = Schema.Struct({
  name: text,
  cdm: optional(text, "The common entity that its records become."),
  unified: optional(text, "`category/entity` of the unified API."),
  read: optional(text, "The action that lists; the others likewise."),
  get: optional(text),
  create: optional(text),
  update: optional(text),
  delete: optional(text),
  minorUnits: optional(
    Schema.Struct({
      currency: required(text, "A path into the record: its currency."),
      decimals: withDefault(
        Schema.Record({
          key: text.pipe(Schema.pattern(/^[A-Z]{3}$/)),
          value: Schema.Int.pipe(Schema.between(0, 4))
        }),
        () => ({}),
        "Currencies whose amounts have not two decimals there."
      )
    }),
    "Needed where a pair of the map is in `minorUnits`."
  ),
  fields: optionalList(FieldMap, "The map for reading."),
  fieldsOut: optional(
    Schema.Array(FieldMap),
    "The map for writing; absent: `fields` in reverse, which takes pairs without transforms only."
  )
}).annotations({ identifier: "EntityDefinition" })
export type EntityDefinition = typeof EntityDefinition.Type

/** Raised whenever a definition gets a member with a default: what is stored in an earlier form is completed when read. */
export const definitionForm = 1

export const ConnectorDefinition = Schema.Struct({
  svcConnector: required(Schema.Literal(1), "The version of this form."),
  slug: required(
    text.pipe(Schema.pattern(slugPattern)),
    "Names the connector in requests and, in camel case too, in code. It cannot be changed."
  ),
  name: text.pipe(Schema.minLength(1), Schema.maxLength(200)),
  description: withDefault(text, () => ""),
  kind: ConnectorKind,
  version: required(
    text.pipe(Schema.pattern(semverPattern, { message: () => "must be MAJOR.MINOR.PATCH" })),
    "MAJOR.MINOR.PATCH; above the one that is published."
  ),
  protocol: withDefault(
    Schema.Literal("rest", "mcp", "database", "ftp", "builtin"),
    () => "rest" as const,
    "What lists show; calls do not depend on it."
  ),
  transport: withDefault(
    Schema.Literal("http", "smtp"),
    () => "http" as const,
    "`smtp`: the actions send mail, by the methods SEND and VERIFY."
  ),
  domain: optional(text, "The provider's site."),
  iconUrl: optional(text),
  baseUrl: required(
    text,
    "A template over `connection.config.*`. Begins with https://, or is the connection's config; http:// only to a server of the operator's networks (SVC_EGRESS_ALLOW)."
  ),
  connectionConfig: optional(
    ConnectionConfig,
    "A JSON Schema of `connection.config`: the customer's own part of URLs and the like."
  ),
  auth: required(Schema.Array(AuthMethod), "At least one; of the type none where nobody signs in."),
  test: optional(
    Schema.Struct({
      action: text,
      args: optional(Schema.Record({ key: text, value: Json })),
      accountLabel: optional(text, "A path into the action's result: what the customer calls the account."),
      config: withDefault(
        Schema.Record({ key: text, value: text }),
        () => ({}),
        "Members of the connection's config taken from the result: config member → path."
      )
    }),
    "The call that proves a credential before it is stored."
  ),
  rateLimit: optional(RateLimit),
  retry: partWithDefault(
    RetryRule,
    () => RetryRule.make({}),
    "When a failed call is tried again, and after which pause."
  ),
  actions: Schema.Array(ActionDefinition),
  events: optionalList(EventDefinition),
  webhooks: optionalList(WebhookDefinition),
  entities: optionalList(EntityDefinition),
  schemas: withDefault(
    JsonObject,
    () => ({}),
    "JSON Schemas that those of actions and events share, as `#/$defs/NAME`."
  ),
  toolActions: withDefault(
    Schema.Union(Schema.Literal("all"), Schema.Array(text)),
    () => "all" as const,
    "Which actions agents may be offered as tools."
  )
}).annotations({ identifier: "ConnectorDefinition" })
export type ConnectorDefinition = typeof ConnectorDefinition.Type
/** As it is written: defaults may be left out. */
export type ConnectorManifest = typeof ConnectorDefinition.Encoded

/** A manifest of the program's own with its defaults filled in. Throws where it is no definition: a bug. */
export const decodeManifest: (manifest: ConnectorManifest) => ConnectorDefinition =
  Schema.decodeSync(ConnectorDefinition)

/** A connector that comes with the service. */
export interface BuiltInConnector {
  readonly slug: string
  /** Read when it is first needed: a start of the service needs none. */
  readonly definition: () => ConnectorDefinition
  /** Actions as they were in earlier releases, for the workflows that are bound to them. */
  readonly previous: () => ReadonlyArray<ActionDefinition>
}

type PreviousAction = typeof ActionDefinition.Encoded & { readonly version: number }
const decodeActions = Schema.decodeSync(Schema.Array(ActionDefinition))

/** A change of an action in the manifest gives it the next version and adds the one before to `previous`. */
export const defineBuiltIn = (
  manifest: ConnectorManifest,
  previous: ReadonlyArray<PreviousAction> = []
): BuiltInConnector => {
  let read: ConnectorDefinition | undefined
  let before: ReadonlyArray<ActionDefinition> | undefined
  return {
    slug: manifest.slug,
    definition: () => (read ??= decodeManifest(manifest)),
    previous: () => (before ??= decodeActions(previous))
  }
}

/** The action of that name. */
export const findAction = (definition: ConnectorDefinition, name: string): ActionDefinition | undefined =>
  definition.actions.find((action) => action.name === name)
