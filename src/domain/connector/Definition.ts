/**
 * A connector as a value: everything that tells how to speak to a system over HTTP, and nothing that does it.
 * The form of the file `*.connector.json`, of import and of export. Contract: connector definition.
 */
import { Schema } from "effect"
import { slugPattern } from "../Workflow.js"
import { ActionDefinition } from "./Action.js"
import { AuthMethod, ConnectionConfig } from "./AuthMethod.js"
import { filled, list, maybe, needed, part } from "./Members.js"
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
  limit: maybe(text),
  remaining: maybe(text),
  reset: maybe(text),
  usage: maybe(text, "A header of the form `32/40`: used, of so many."),
  resetFormat: filled(
    Schema.Literal("unix", "seconds", "ms", "duration", "http-date", "iso"),
    () => "unix" as const,
    "`unix` and `ms`: an instant since 1970; `seconds`: from now; `duration`: from now, as in `6m0.5s`; the others as called."
  ),
  retryAfter: filled(text, () => "retry-after")
}).annotations({ identifier: "RateHeaders" })

/** What the provider takes. */
export const RateLimit = Schema.Struct({
  scope: filled(
    Schema.Literal("connection", "connector"),
    () => "connection" as const,
    "Whether the provider counts each account, or the organisation's client over all of them."
  ),
  requests: maybe(Schema.Int.pipe(Schema.positive()), "Absent: only what the provider's headers tell is observed."),
  perSeconds: filled(Schema.Number.pipe(Schema.positive()), () => 1),
  concurrency: maybe(Schema.Int.pipe(Schema.positive()), "How many calls may be under way at once."),
  headers: part(RateHeaders, () => RateHeaders.make({}), "The response headers that tell of the limit.")
}).annotations({ identifier: "RateLimit" })
export type RateLimit = typeof RateLimit.Type

/** When a failed call is tried again, and after which pause. */
export const RetryRule = Schema.Struct({
  on: filled(
    Schema.Array(Schema.Union(Schema.Int, Schema.Literal("network", "timeout"))),
    () => [429, 502, 503, 504, "network" as const],
    "Statuses; `network`: nobody answered."
  ),
  maxAttempts: filled(Schema.Int.pipe(Schema.between(1, 10)), () => 4, "With the first one."),
  backoff: filled(Schema.Literal("exponential", "linear", "fixed"), () => "exponential" as const),
  initialMs: filled(Schema.Int.pipe(Schema.between(0, 3_600_000)), () => 500),
  coefficient: filled(Schema.Number.pipe(Schema.between(1, 10)), () => 2),
  maxMs: filled(Schema.Int.pipe(Schema.between(0, 3_600_000)), () => 30_000),
  jitter: filled(Schema.Number.pipe(Schema.between(0, 1)), () => 0.2, "The share by which a pause is varied.")
}).annotations({ identifier: "RetryRule" })
export type RetryRule = typeof RetryRule.Type

const Transform = Schema.Union(
  text,
  Schema.Struct({ fn: text, args: filled(Schema.Array(Json), () => []) }).annotations({ identifier: "TransformCall" })
)

/** One pair of a field map. */
export const FieldMap = Schema.Struct({
  from: needed(text, "A path into the provider's record; `[*]` in both paths is every item of a list."),
  to: needed(text, "A path into the common record."),
  transforms: list(Transform),
  enum: maybe(Schema.Record({ key: text, value: text }), "The provider's value → the common one."),
  fallback: maybe(Json),
  dateFormat: maybe(Schema.Literal("MM-DD-YYYY", "DD-MM-YYYY")),
  minorUnits: maybe(
    Schema.Boolean,
    "The provider's value is an amount in the smallest unit of the entity's currency, the common one its decimal amount."
  )
}).annotations({ identifier: "FieldMap" })
export type FieldMap = typeof FieldMap.Type

export const EntityDefinition = Schema.Struct({
  name: text,
  cdm: maybe(text, "The common entity that its records become."),
  unified: maybe(text, "`category/entity` of the unified API."),
  read: maybe(text, "The action that lists; the others likewise."),
  get: maybe(text),
  create: maybe(text),
  update: maybe(text),
  delete: maybe(text),
  minorUnits: maybe(
    Schema.Struct({
      currency: needed(text, "A path into the record: its currency."),
      decimals: filled(
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
  fields: list(FieldMap, "The map for reading."),
  fieldsOut: maybe(
    Schema.Array(FieldMap),
    "The map for writing; absent: `fields` in reverse, which takes pairs without transforms only."
  )
}).annotations({ identifier: "EntityDefinition" })
export type EntityDefinition = typeof EntityDefinition.Type

/** Raised whenever a definition gets a member with a default: what is stored in an earlier form is completed when read. */
export const definitionForm = 1

export const ConnectorDefinition = Schema.Struct({
  svcConnector: needed(Schema.Literal(1), "The version of this form."),
  slug: needed(
    text.pipe(Schema.pattern(slugPattern)),
    "Names the connector in requests and, in camel case too, in code. It cannot be changed."
  ),
  name: text.pipe(Schema.minLength(1), Schema.maxLength(200)),
  description: filled(text, () => ""),
  kind: ConnectorKind,
  version: needed(
    text.pipe(Schema.pattern(semverPattern, { message: () => "must be MAJOR.MINOR.PATCH" })),
    "MAJOR.MINOR.PATCH; above the one that is published."
  ),
  protocol: filled(
    Schema.Literal("rest", "mcp", "database", "ftp", "builtin"),
    () => "rest" as const,
    "What lists show; calls do not depend on it."
  ),
  transport: filled(
    Schema.Literal("http", "smtp"),
    () => "http" as const,
    "`smtp`: the actions send mail, by the methods SEND and VERIFY."
  ),
  domain: maybe(text, "The provider's site."),
  iconUrl: maybe(text),
  baseUrl: needed(
    text,
    "A template over `connection.config.*`. Begins with https://, or is the connection's config; http:// only to a server of the operator's networks (SVC_EGRESS_ALLOW)."
  ),
  connectionConfig: maybe(
    ConnectionConfig,
    "A JSON Schema of `connection.config`: the customer's own part of URLs and the like."
  ),
  auth: needed(Schema.Array(AuthMethod), "At least one; of the type none where nobody signs in."),
  test: maybe(
    Schema.Struct({
      action: text,
      args: maybe(Schema.Record({ key: text, value: Json })),
      accountLabel: maybe(text, "A path into the action's result: what the customer calls the account."),
      config: filled(
        Schema.Record({ key: text, value: text }),
        () => ({}),
        "Members of the connection's config taken from the result: config member → path."
      )
    }),
    "The call that proves a credential before it is stored."
  ),
  rateLimit: maybe(RateLimit),
  retry: part(RetryRule, () => RetryRule.make({}), "When a failed call is tried again, and after which pause."),
  actions: Schema.Array(ActionDefinition),
  events: list(EventDefinition),
  webhooks: list(WebhookDefinition),
  entities: list(EntityDefinition),
  schemas: filled(JsonObject, () => ({}), "JSON Schemas that those of actions and events share, as `#/$defs/NAME`."),
  toolActions: filled(
    Schema.Union(Schema.Literal("all"), Schema.Array(text)),
    () => "all" as const,
    "Which actions agents may be offered as tools."
  )
}).annotations({ identifier: "ConnectorDefinition" })
export type ConnectorDefinition = typeof ConnectorDefinition.Type
/** As it is written: defaults may be left out. */
export type ConnectorManifest = typeof ConnectorDefinition.Encoded

/** A manifest of the program's own with its defaults filled in. Throws where it is no definition: a bug. */
export const define: (manifest: ConnectorManifest) => ConnectorDefinition = Schema.decodeSync(ConnectorDefinition)

/** A connector that comes with the service. */
export interface BuiltIn {
  readonly slug: string
  /** Read when it is first needed: a start of the service needs none. */
  readonly definition: () => ConnectorDefinition
  /** Actions as they were in earlier releases, for the workflows that are bound to them. */
  readonly previous: () => ReadonlyArray<ActionDefinition>
}

type PreviousAction = typeof ActionDefinition.Encoded & { readonly version: number }
const decodeActions = Schema.decodeSync(Schema.Array(ActionDefinition))

/** A change of an action in the manifest gives it the next version and adds the one before to `previous`. */
export const builtIn = (manifest: ConnectorManifest, previous: ReadonlyArray<PreviousAction> = []): BuiltIn => {
  let read: ConnectorDefinition | undefined
  let before: ReadonlyArray<ActionDefinition> | undefined
  return {
    slug: manifest.slug,
    definition: () => (read ??= define(manifest)),
    previous: () => (before ??= decodeActions(previous))
  }
}

/** The action of that name. */
export const actionOf = (definition: ConnectorDefinition, name: string): ActionDefinition | undefined =>
  definition.actions.find((action) => action.name === name)
