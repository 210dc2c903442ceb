/**
 * A connector as a value: everything that tells how to speak to a system over HTTP, and nothing that does it.
 * The form of the file `*.connector.json`, of import and of export. Contract: connector definition.
 */
import { Schema } from "effect"
import { Json, JsonObject } from "./PlainJson.js"
import { slugPattern } from "../Workflow.js"
import { ActionDefinition } from "./Action.js"
import { AuthMethod, ConnectionConfig } from "./AuthMethod.js"
import { EventDefinition, WebhookDefinition } from "./Webhook.js"

const text = Schema.String
const maybe = <A, I, R>(schema: Schema.Schema<A, I, R>) => Schema.optionalWith(schema, { exact: true })
const list = <A, I, R>(schema: Schema.Schema<A, I, R>) =>
  Schema.optionalWith(Schema.Array(schema), { default: () => [] })

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
  /** A header of the form `32/40`: used, of so many. */
  usage: maybe(text),
  /** `unix` and `ms`: an instant since 1970; `seconds`: from now; `duration`: from now, as in `6m0.5s`; the others as called. */
  resetFormat: Schema.optionalWith(Schema.Literal("unix", "seconds", "ms", "duration", "http-date", "iso"), {
    default: () => "unix" as const
  }),
  retryAfter: Schema.optionalWith(text, { default: () => "retry-after" })
})

/** What the provider takes. Without `requests` only what its headers tell is observed. */
export const RateLimit = Schema.Struct({
  /** Whether the provider counts each account, or the organisation's client over all of them. */
  scope: Schema.optionalWith(Schema.Literal("connection", "connector"), { default: () => "connection" as const }),
  requests: maybe(Schema.Int.pipe(Schema.positive())),
  perSeconds: Schema.optionalWith(Schema.Number.pipe(Schema.positive()), { default: () => 1 }),
  concurrency: maybe(Schema.Int.pipe(Schema.positive())),
  headers: Schema.optionalWith(RateHeaders, { default: () => RateHeaders.make({}) })
})
export type RateLimit = typeof RateLimit.Type

/** When a failed call is tried again, and after which pause. */
export const RetryRule = Schema.Struct({
  on: Schema.optionalWith(Schema.Array(Schema.Union(Schema.Int, Schema.Literal("network", "timeout"))), {
    default: () => [429, 502, 503, 504, "network" as const]
  }),
  maxAttempts: Schema.optionalWith(Schema.Int.pipe(Schema.between(1, 10)), { default: () => 4 }),
  backoff: Schema.optionalWith(Schema.Literal("exponential", "linear", "fixed"), {
    default: () => "exponential" as const
  }),
  initialMs: Schema.optionalWith(Schema.Int.pipe(Schema.between(0, 3_600_000)), { default: () => 500 }),
  coefficient: Schema.optionalWith(Schema.Number.pipe(Schema.between(1, 10)), { default: () => 2 }),
  maxMs: Schema.optionalWith(Schema.Int.pipe(Schema.between(0, 3_600_000)), { default: () => 30_000 }),
  jitter: Schema.optionalWith(Schema.Number.pipe(Schema.between(0, 1)), { default: () => 0.2 })
})
export type RetryRule = typeof RetryRule.Type

const Transform = Schema.Union(
  text,
  Schema.Struct({ fn: text, args: Schema.optionalWith(Schema.Array(Json), { default: () => [] }) })
)

/** One pair of a field map: paths on either side; `[*]` in both is every item of a list. */
export const FieldMap = Schema.Struct({
  from: text,
  to: text,
  transforms: list(Transform),
  /** The provider's value → the common one. */
  enum: maybe(Schema.Record({ key: text, value: text })),
  fallback: maybe(Json),
  dateFormat: maybe(Schema.Literal("MM-DD-YYYY", "DD-MM-YYYY")),
  /** The provider's value is an amount in the smallest unit of the entity's currency, the common one its decimal amount. */
  minorUnits: maybe(Schema.Boolean)
})
export type FieldMap = typeof FieldMap.Type

export const EntityDefinition = Schema.Struct({
  name: text,
  cdm: maybe(text),
  /** `category/entity` of the unified API. */
  unified: maybe(text),
  read: maybe(text),
  get: maybe(text),
  create: maybe(text),
  update: maybe(text),
  delete: maybe(text),
  /** For pairs in `minorUnits`: where a record tells its currency, and which currencies have not two decimals there. */
  minorUnits: maybe(
    Schema.Struct({
      currency: text,
      decimals: Schema.optionalWith(
        Schema.Record({
          key: text.pipe(Schema.pattern(/^[A-Z]{3}$/)),
          value: Schema.Int.pipe(Schema.between(0, 4))
        }),
        { default: () => ({}) }
      )
    })
  ),
  fields: list(FieldMap),
  /** The map for writing; absent: `fields` in reverse, which takes pairs without transforms only. */
  fieldsOut: maybe(Schema.Array(FieldMap))
})
export type EntityDefinition = typeof EntityDefinition.Type

export const ConnectorDefinition = Schema.Struct({
  svcConnector: Schema.Literal(1),
  slug: text.pipe(Schema.pattern(slugPattern)),
  name: text.pipe(Schema.minLength(1), Schema.maxLength(200)),
  description: Schema.optionalWith(text, { default: () => "" }),
  kind: ConnectorKind,
  version: text.pipe(Schema.pattern(semverPattern, { message: () => "must be MAJOR.MINOR.PATCH" })),
  protocol: Schema.optionalWith(Schema.Literal("rest", "mcp", "database", "ftp", "builtin"), {
    default: () => "rest" as const
  }),
  transport: Schema.optionalWith(Schema.Literal("http", "smtp"), { default: () => "http" as const }),
  /** The provider's site. */
  domain: maybe(text),
  iconUrl: maybe(text),
  /** A template over `connection.config.*`. */
  baseUrl: text,
  connectionConfig: maybe(ConnectionConfig),
  auth: Schema.Array(AuthMethod),
  test: maybe(
    Schema.Struct({
      action: text,
      args: maybe(Schema.Record({ key: text, value: Json })),
      /** A path into the action's result: what the customer calls the account. */
      accountLabel: maybe(text),
      /** Members of the connection's config taken from the result: config member → path. */
      config: Schema.optionalWith(Schema.Record({ key: text, value: text }), { default: () => ({}) })
    })
  ),
  rateLimit: maybe(RateLimit),
  retry: Schema.optionalWith(RetryRule, { default: () => RetryRule.make({}) }),
  actions: Schema.Array(ActionDefinition),
  events: list(EventDefinition),
  webhooks: list(WebhookDefinition),
  entities: list(EntityDefinition),
  /** JSON Schemas that those of actions and events share, as `#/$defs/NAME`. */
  schemas: Schema.optionalWith(JsonObject, { default: () => ({}) }),
  /** Which actions agents may be offered as tools. */
  toolActions: Schema.optionalWith(Schema.Union(Schema.Literal("all"), Schema.Array(text)), {
    default: () => "all" as const
  })
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
