/**
 * The schema of a connector definition: a system's API described as data. It is the format of `*.connector.json` files,
 * of import and of export. Contract: connector definition.
 */
import { Schema } from "effect"
import { slugPattern } from "../Slug.js"
import { ActionDefinition } from "./Action.js"
import { AuthMethod, ConnectionConfig } from "./AuthMethod.js"
import { withDefault, optionalList, optional, required, partWithDefault } from "./Members.js"
import { Json, JsonObject } from "../Json.js"
import { EntityDefinition } from "./Entity.js"
import { EventDefinition, WebhookDefinition } from "./Webhook.js"

const text = Schema.String

/** What the connected system is for: the catalogue is filtered by it. */
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

/** The form of a connector's version. */
export const semverPattern = /^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})$/

const RateHeaders = Schema.Struct({
  limit: optional(text),
  remaining: optional(text),
  reset: optional(text),
  usage: optional(text, "A header of the form `32/40`: calls used, and the limit."),
  resetFormat: withDefault(
    Schema.Literal("unix", "seconds", "ms", "duration", "http-date", "iso"),
    () => "unix" as const,
    "`unix` and `ms`: a time since 1970 in seconds or milliseconds; `seconds`: from now; `duration`: from now, as in `6m0.5s`; `http-date` and `iso`: a date."
  ),
  retryAfter: withDefault(text, () => "retry-after")
}).annotations({ identifier: "RateHeaders" })

/** The provider's rate limit. */
export const RateLimit = Schema.Struct({
  scope: withDefault(
    Schema.Literal("connection", "connector"),
    () => "connection" as const,
    "`connection`: the provider counts each account. `connector`: it counts all accounts of the organisation's client together."
  ),
  requests: optional(Schema.Int.pipe(Schema.positive()), "Absent: only the limits in the provider's headers apply."),
  perSeconds: withDefault(Schema.Number.pipe(Schema.positive()), () => 1),
  concurrency: optional(Schema.Int.pipe(Schema.positive()), "The most calls in flight."),
  headers: partWithDefault(RateHeaders, () => RateHeaders.make({}), "The response headers with the provider's quota.")
}).annotations({ identifier: "RateLimit" })
export type RateLimit = typeof RateLimit.Type

/** When and after which pause a failed call is retried. */
export const RetryRule = Schema.Struct({
  on: withDefault(
    Schema.Array(Schema.Union(Schema.Int, Schema.Literal("network", "timeout"))),
    () => [429, 502, 503, 504, "network" as const],
    "Statuses that are retried; `network`: no answer."
  ),
  maxAttempts: withDefault(Schema.Int.pipe(Schema.between(1, 10)), () => 4, "The number of attempts, with the first."),
  backoff: withDefault(Schema.Literal("exponential", "linear", "fixed"), () => "exponential" as const),
  initialMs: withDefault(Schema.Int.pipe(Schema.between(0, 3_600_000)), () => 500),
  coefficient: withDefault(Schema.Number.pipe(Schema.between(1, 10)), () => 2),
  maxMs: withDefault(Schema.Int.pipe(Schema.between(0, 3_600_000)), () => 30_000),
  jitter: withDefault(
    Schema.Number.pipe(Schema.between(0, 1)),
    () => 0.2,
    "The share by which a pause varies randomly."
  )
}).annotations({ identifier: "RetryRule" })
export type RetryRule = typeof RetryRule.Type

/** Incremented when definitions get a member with a default, so that stored ones are completed when they are read. */
export const definitionForm = 1

/** A connector definition; decoding fills in defaults. */
export const ConnectorDefinition = Schema.Struct({
  svcConnector: required(Schema.Literal(1), "The version of this format."),
  slug: required(
    text.pipe(
      Schema.pattern(slugPattern, {
        message: () => "must be lower-case letters, digits and hyphens, at most 63, and begin with a letter or a digit"
      })
    ),
    "The name of the connector in requests, and in code, there also in camel case. It cannot be changed."
  ),
  name: text.pipe(Schema.minLength(1), Schema.maxLength(200)),
  description: withDefault(text, () => ""),
  kind: ConnectorKind,
  version: required(
    text.pipe(Schema.pattern(semverPattern, { message: () => "must be MAJOR.MINOR.PATCH" })),
    "MAJOR.MINOR.PATCH, above the published version."
  ),
  protocol: withDefault(
    Schema.Literal("rest", "mcp", "database", "ftp", "builtin"),
    () => "rest" as const,
    "Shown in lists; calls do not depend on it."
  ),
  transport: withDefault(
    Schema.Literal("http", "smtp"),
    () => "http" as const,
    "`smtp`: the actions send mail with the methods SEND and VERIFY."
  ),
  domain: optional(text, "The provider's site."),
  iconUrl: optional(text),
  baseUrl: required(
    text,
    "A template over `connection.config.*`. It begins with https://, or is a value of the config; http:// is allowed only for servers in the operator's networks (SVC_EGRESS_ALLOW)."
  ),
  connectionConfig: optional(
    ConnectionConfig,
    "The JSON Schema of `connection.config`, such as the customer's subdomain."
  ),
  auth: required(Schema.Array(AuthMethod), "At least one; of the type none if no credential is needed."),
  test: optional(
    Schema.Struct({
      action: text,
      args: optional(Schema.Record({ key: text, value: Json })),
      accountLabel: optional(text, "A path into the action's result to a name of the account."),
      config: withDefault(
        Schema.Record({ key: text, value: text }),
        () => ({}),
        "Members of the connection's config taken from the result: config member → path."
      )
    }),
    "The call that tests a credential before it is stored."
  ),
  rateLimit: optional(RateLimit),
  retry: partWithDefault(RetryRule, () => RetryRule.make({}), "When and after which pause a failed call is retried."),
  actions: Schema.Array(ActionDefinition),
  events: optionalList(EventDefinition),
  webhooks: optionalList(WebhookDefinition),
  entities: optionalList(EntityDefinition),
  schemas: withDefault(
    JsonObject,
    () => ({}),
    "JSON Schemas that schemas of actions and events refer to as `#/$defs/NAME`."
  ),
  toolActions: withDefault(
    Schema.Union(Schema.Literal("all"), Schema.Array(text)),
    () => "all" as const,
    "The actions that are offered to agents as tools."
  )
}).annotations({ identifier: "ConnectorDefinition" })
export type ConnectorDefinition = typeof ConnectorDefinition.Type
/** A definition as it is written, in which members with defaults may be absent. */
export type ConnectorManifest = typeof ConnectorDefinition.Encoded

/** Decodes a manifest of the program. Throws if it is not a definition, which is a bug. */
export const decodeManifest: (manifest: ConnectorManifest) => ConnectorDefinition =
  Schema.decodeSync(ConnectorDefinition)

/** A connector that comes with the service. */
export interface BundledConnector {
  readonly slug: string
  /** Decoded on first use, since starting the service needs none. */
  readonly definition: () => ConnectorDefinition
  /** Earlier versions of actions, for workflows that are bound to them. */
  readonly previous: () => ReadonlyArray<ActionDefinition>
}

type PreviousAction = typeof ActionDefinition.Encoded & { readonly version: number }
const decodeActions = Schema.decodeSync(Schema.Array(ActionDefinition))

/** Defines a built-in connector. A changed action gets the next version, and its old form is added to `previous`. */
export const defineBuiltIn = (
  manifest: ConnectorManifest,
  previous: ReadonlyArray<PreviousAction> = []
): BundledConnector => {
  let definition: ConnectorDefinition | undefined
  let earlier: ReadonlyArray<ActionDefinition> | undefined
  return {
    slug: manifest.slug,
    definition: () => (definition ??= decodeManifest(manifest)),
    previous: () => (earlier ??= decodeActions(previous))
  }
}

/** The action with this name. */
export const findAction = (definition: ConnectorDefinition, name: string): ActionDefinition | undefined =>
  definition.actions.find((action) => action.name === name)
