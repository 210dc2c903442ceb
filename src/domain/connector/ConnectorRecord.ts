/** Records of an organisation's connectors, their versions and OAuth clients (auth providers). Contract: connector record. */
import { Effect, Schema } from "effect"
import { Conflict, invalid, type ValidationFailed } from "../Failure.js"
import { AuthProviderId, ConnectorId, OrganisationId } from "../Ids.js"
import { canonicalJson, Json, type JsonObject, StoredObject } from "../Json.js"
import { derivedValue, generatedValue, hidden, owner, recordOf } from "../Record.js"
import { AnsweredTime } from "../Time.js"
import { Counter } from "../Scalars.js"
import { ConnectorDefinition as Definition, type ConnectorDefinition, definitionForm } from "./Definition.js"
import { isReadOnly } from "./ConnectorOffer.js"
import { withoutPresetScheme } from "./Webhook.js"
import { compareVersions, nextVersion } from "./Versions.js"

/** The stored connector; its definition is a `ConnectorVersion`. Times are RFC 3339. */
export const ConnectorRecord = Schema.Struct({
  id: ConnectorId,
  organisationId: OrganisationId,
  slug: Schema.String,
  name: Schema.String,
  description: Schema.String,
  kind: Schema.String,
  /** The part of the definition that lists show. */
  summary: StoredObject,
  /** The number of the draft's version, or of the published version without a draft. */
  current: Schema.Number,
  semver: Schema.String,
  latestVersion: Schema.NullOr(Schema.String),
  createdBy: Schema.String,
  createdAt: AnsweredTime,
  updatedAt: AnsweredTime,
  deletedAt: Schema.NullOr(AnsweredTime),
  version: Schema.Number
})
export type ConnectorRecord = typeof ConnectorRecord.Type

/** One version of the definition, immutable once it is published. */
export const ConnectorVersion = Schema.Struct({
  organisationId: OrganisationId,
  connectorId: ConnectorId,
  number: Schema.Number,
  semver: Schema.String,
  definition: StoredObject,
  /** `definitionForm` of the release that stored the definition. */
  form: Schema.Number,
  /** Each action's version. */
  actions: Schema.Record({ key: Schema.String, value: Schema.Number }),
  contentHash: Schema.String,
  notes: Schema.NullOr(Schema.String),
  /** `null` while it is the draft. */
  publishedAt: Schema.NullOr(AnsweredTime),
  publishedBy: Schema.NullOr(Schema.String)
})
export type ConnectorVersion = typeof ConnectorVersion.Type

/** The organisation's OAuth client at a provider, for one of its own connectors or a built-in one: its record and view. */
export const AuthProvider = recordOf("AuthProvider", {
  id: generatedValue(AuthProviderId, Schema.String),
  organisationId: owner(OrganisationId),
  /** The connector's slug. */
  connector: generatedValue(Schema.String),
  name: generatedValue(Schema.String),
  methodId: generatedValue(Schema.String),
  clientId: generatedValue(Schema.String),
  clientSecret: hidden(Schema.NullOr(Schema.Uint8ArrayFromSelf)),
  hasClientSecret: derivedValue(Schema.Boolean),
  scopes: generatedValue(Schema.Array(Schema.String)),
  /** Used by connections that name no auth provider. */
  isDefault: generatedValue(Schema.Boolean),
  redirectUri: derivedValue(
    Schema.String.annotations({ description: "the redirect URI to register for the client at the provider" })
  ),
  createdAt: generatedValue(AnsweredTime),
  updatedAt: generatedValue(AnsweredTime),
  version: generatedValue(Schema.Number)
})
/** The stored client. */
export type AuthProvider = typeof AuthProvider.stored.Type

/** The place to which a client's secret is sealed. */
export const clientSecretPlace = (organisation: string, provider: string) => ({
  organisation,
  table: "auth_providers",
  column: "client_secret",
  row: provider
})

/** The name of the auth provider that is created from a method's own `clientId`. */
export const inlineProviderName = "default"

/** The body that stores an auth provider. */
export const UpsertAuthProvider = Schema.Struct({
  name: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(100)),
  methodId: Schema.optional(
    Schema.String.annotations({ description: "The OAuth2 method of the connector; absent: its default one." })
  ),
  clientId: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(1_000)),
  /** Write-only. Absent: the stored one stays; null: it is removed. */
  clientSecret: Schema.optional(Schema.NullOr(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(10_000)))),
  clientSecretName: Schema.optional(
    Schema.String.annotations({
      description:
        "Instead of `clientSecret`: the name of the organisation's secret whose present value is stored. It also needs `secrets:read`."
    })
  ),
  scopes: Schema.optional(Schema.Array(Schema.String)),
  isDefault: Schema.optional(Schema.Boolean),
  version: Schema.optional(Counter)
}).annotations({ identifier: "UpsertAuthProvider" })
export type UpsertAuthProvider = typeof UpsertAuthProvider.Type

/** A client to be stored, whose method and secret are known. */
export type StoredClient = Omit<UpsertAuthProvider, "clientSecretName" | "methodId"> & { readonly methodId: string }

/** An OAuth client in a definition. */
export interface InlineClient {
  readonly methodId: string
  readonly clientId: string
  readonly clientSecret: string | undefined
}

/** Removes the secrets of clients from a definition. Only that definition may be stored or shown. */
export const extractClients = (
  definition: ConnectorDefinition
): { readonly definition: ConnectorDefinition; readonly clients: ReadonlyArray<InlineClient> } => {
  const clients: Array<InlineClient> = []
  const auth = definition.auth.map((method) => {
    if (method.type !== "oauth2" || method.clientId === undefined) return method
    const { clientSecret, ...rest } = method
    clients.push({ methodId: method.id, clientId: method.clientId, clientSecret })
    return rest
  })
  return { definition: { ...definition, auth }, clients }
}

/** The definition of a stored version. One of an earlier release gets the defaults of members that were added since. */
export const readStoredDefinition = ({
  definition,
  form
}: Pick<ConnectorVersion, "definition" | "form">): Effect.Effect<ConnectorDefinition> =>
  Effect.map(
    form === definitionForm
      ? // It was validated and completed when it was stored; decoding megabytes again would block the main loop.
        Effect.succeed(definition as unknown as ConnectorDefinition)
      : Effect.orDie(Schema.decodeUnknown(Definition)(definition)),
    withoutPresetSchemes
  )

const withoutPresetSchemes = (definition: ConnectorDefinition): ConnectorDefinition =>
  definition.webhooks.some(({ verify }) => verify.preset !== undefined && verify.scheme !== undefined)
    ? {
        ...definition,
        webhooks: definition.webhooks.map((webhook) => ({ ...webhook, verify: withoutPresetScheme(webhook.verify) }))
      }
    : definition

/** The part of a definition that lists show: names of actions, methods, events and entities. */
export const connectorSummary = (definition: ConnectorDefinition): JsonObject => ({
  protocol: definition.protocol,
  domain: definition.domain ?? null,
  iconUrl: definition.iconUrl ?? null,
  toolActions: definition.toolActions,
  actions: definition.actions.map((action) => ({
    name: action.name,
    version: action.version,
    title: action.title ?? action.name,
    readOnly: isReadOnly(action)
  })),
  authMethods: definition.auth.map(({ default: isDefault, id, type }) => ({ id, type, default: isDefault })),
  events: definition.events.map(({ delivery, id, title }) => ({ id, title: title ?? id, delivery })),
  entities: definition.entities.map(({ cdm, name, unified }) => ({ name, cdm: cdm ?? null, unified: unified ?? null }))
})

/** The text of the content hash, without version numbers. */
export const definitionText = (definition: ConnectorDefinition): string =>
  canonicalJson({
    ...definition,
    version: "",
    actions: definition.actions.map((action) => ({ ...action, version: 0 }))
  })

/** The refusal of a draft that changes the slug, or whose version is not above the published one. */
export const draftRefusal = (
  record: Pick<ConnectorRecord, "slug" | "latestVersion">,
  published: ConnectorDefinition | undefined,
  draft: ConnectorDefinition
): ValidationFailed | undefined => {
  if (draft.slug !== record.slug)
    return invalid("slug", "IMMUTABLE_FIELD", `is ${record.slug} and cannot be changed`, "IMMUTABLE_FIELD")
  if (record.latestVersion === null || published === undefined) return undefined
  return compareVersions(draft.version, record.latestVersion) > 0
    ? undefined
    : invalid(
        "version",
        "OUT_OF_RANGE",
        `must be above ${record.latestVersion}, which is published: this change makes it ${nextVersion(published, draft)}`
      )
}

/** The id of a built-in connector, the same in every installation. */
export const builtInConnectorId = (slug: string, sha256Hex: (text: string) => string): string =>
  `ctr_0${sha256Hex(`connector|${slug}`).slice(0, 25)}`

/** The refusal to change a built-in connector. */
export const builtInRefusal = (slug: string) =>
  new Conflict({ code: "CONFLICT", message: `${slug} is a built-in connector: import a copy of it to change it` })

/** The request to import a connector. */
export const ImportRequest = Schema.Struct({
  format: Schema.Literal("svc", "openapi", "postman"),
  source: Schema.propertySignature(Json).annotations({
    description: "The document, its text in JSON or YAML, or its URL. Of Postman: a collection of version 2.1."
  }),
  slug: Schema.optional(Schema.String).annotations({
    description: "The slug of the new connector. Without slug, name and kind: those of the document."
  }),
  name: Schema.optional(Schema.String),
  kind: Schema.optional(Schema.String),
  dryRun: Schema.optional(Schema.Boolean).annotations({
    description: "Answers 200 with the definition, and stores nothing. Plan, slug and version are not checked."
  })
}).annotations({ identifier: "ConnectorImport" })
export type ImportRequest = typeof ImportRequest.Type
