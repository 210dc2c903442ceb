/** Connectors, which are data and published in versions, and the organisation's OAuth clients. Specification: Surface C. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { Schema, SchemaAST } from "effect"
import { ImportRequest, UpsertAuthProvider } from "../../domain/connector/Connector.js"
import { ConnectorKind } from "../../domain/connector/Definition.js"
import { ConnectorFile } from "../../domain/connector/FileSchema.js"
import { Json, JsonObject } from "../../domain/Json.js"
import { Audited, audited, Form, Permit, read, Scoped, Shared } from "../Endpoint.js"
import { Data, listParams, NullableTime, Page, replacing, strict, Time } from "./Shapes.js"

const nullable = Schema.NullOr(Schema.String)

const summary = {
  id: Schema.String,
  slug: Schema.String,
  name: Schema.String,
  description: Schema.String,
  kind: ConnectorKind,
  protocol: Schema.String,
  visibility: Schema.Literal("private", "managed"),
  domain: nullable,
  iconUrl: nullable,
  version: Schema.String,
  latestVersion: nullable,
  status: Schema.Literal("draft", "published"),
  actions: Schema.Array(JsonObject),
  authMethods: Schema.Array(JsonObject),
  events: Schema.Array(JsonObject),
  entities: Schema.Array(JsonObject),
  toolActions: Schema.Union(Schema.Literal("all"), Schema.Array(Schema.String)),
  createdAt: Time,
  updatedAt: NullableTime
} as const

const ConnectorSummary = Schema.Struct(summary).annotations({
  identifier: "ConnectorSummary",
  description: "Actions are told by name, version and title; whole with include=actions."
})

const ConnectorView = Schema.Struct({
  ...summary,
  transport: Schema.String,
  baseUrl: Schema.String,
  redirectUri: nullable.annotations({
    description: "what an OAuth client is registered with at the provider; null where people are not sent there"
  }),
  connectionConfig: Schema.NullOr(JsonObject),
  test: Schema.NullOr(JsonObject),
  rateLimit: Schema.NullOr(JsonObject),
  retry: JsonObject,
  webhooks: Schema.Array(JsonObject),
  schemas: JsonObject
}).annotations({ identifier: "Connector" })

const Offer = Schema.Struct({
  connector: Schema.String,
  version: Schema.String,
  entities: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      cdm: nullable,
      unified: nullable,
      operations: Schema.Array(Schema.String),
      fields: Schema.Array(Schema.String)
    })
  ),
  actions: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      version: Schema.Number,
      title: Schema.String,
      readOnly: Schema.Boolean,
      inputSchema: JsonObject,
      outputSchema: JsonObject
    })
  ),
  events: Schema.Array(
    Schema.Struct({ id: Schema.String, title: Schema.String, delivery: Schema.String, payloadSchema: JsonObject })
  ),
  coverage: Schema.Array(
    Schema.Struct({
      cdm: Schema.String,
      score: Schema.Number,
      mapped: Schema.Array(Schema.String),
      missing: Schema.Array(Schema.String)
    })
  ),
  schemas: JsonObject
}).annotations({ identifier: "ConnectorOffer" })

const AuthProviderView = Schema.Struct({
  id: Schema.String,
  connector: Schema.String,
  name: Schema.String,
  methodId: Schema.String,
  clientId: Schema.String,
  hasClientSecret: Schema.Boolean,
  scopes: Schema.Array(Schema.String),
  isDefault: Schema.Boolean,
  redirectUri: Schema.String.annotations({ description: "what the client is registered with at the provider" }),
  createdAt: Time,
  updatedAt: Time,
  version: Schema.Number
}).annotations({ identifier: "AuthProvider" })

/** Any JSON object: the connector's own validation reports every mistake. The documents show the definition's schema. */
const ConnectorBody = Schema.declare(Schema.is(JsonObject), {
  identifier: "ConnectorBody",
  description: "A connector definition, or the import of one.",
  [SchemaAST.SurrogateAnnotationId]: Schema.Union(ConnectorFile, Schema.Struct({ import: ImportRequest })).ast
})

const DiscoverBody = Schema.Struct({
  connector: Schema.optional(Schema.String),
  connectionId: Schema.optional(Schema.String),
  openapi: Schema.optional(Json)
}).annotations({
  identifier: "Discover",
  description:
    "One of these: a connector, a connection (then the version that it uses), or an OpenAPI document or its URL."
})

const ImportWarning = Schema.Struct({
  path: Schema.String.annotations({ description: "Where the document has it." }),
  message: Schema.String.annotations({ description: "What was left out or replaced, and what follows from it." })
}).annotations({ identifier: "ImportWarning" })

const Imported = <A, I, R>(data: Schema.Schema<A, I, R>) =>
  Schema.Struct({
    data,
    warnings: Schema.optional(Schema.Array(ImportWarning)).annotations({
      description: "With an import only: what the definition does not have of the document."
    })
  })

const path = Schema.Struct({ ctr: Schema.String })
const version = Schema.Struct({ version: Schema.optional(Schema.String) })
const at = "/api/v1/connectors"

export const ConnectorsApi = HttpApiGroup.make("connectors")
  .add(
    HttpApiEndpoint.get("list", at)
      .setUrlParams(
        Schema.Struct({
          ...listParams,
          kind: Schema.optional(ConnectorKind),
          include: Schema.optional(Schema.String)
        })
      )
      .addSuccess(Page(ConnectorSummary))
      .annotate(Permit, "connectors:read")
      .annotate(Audited, read("connector"))
      .annotate(Shared, "read")
      .annotate(Scoped, { connector: "list" })
  )
  .add(
    HttpApiEndpoint.post("create", at)
      .setPayload(ConnectorBody)
      .addSuccess(Imported(ConnectorView).annotations(HttpApiSchema.annotations({ status: 201 })))
      .annotate(Form, { idempotency: "lease" })
      .annotate(Permit, "connectors:create")
      .annotate(Audited, audited("connector.create"))
      .annotate(Shared, "change")
      .annotate(Scoped, { connector: "create" })
  )
  .add(
    HttpApiEndpoint.post("discover", `${at}/discover`)
      .setPayload(strict(DiscoverBody))
      .addSuccess(Imported(Offer))
      .annotate(Form, { idempotency: "lease" })
      .annotate(Permit, "connectors:read")
      .annotate(Audited, audited("connector.discover"))
      .annotate(Shared, "read")
      .annotate(Scoped, { connector: "record", connection: "record" })
  )
  .add(
    HttpApiEndpoint.get("get", `${at}/:ctr`)
      .setPath(path)
      .setUrlParams(version)
      .addSuccess(Data(ConnectorView))
      .annotate(Permit, "connectors:read")
      .annotate(Audited, read("connector"))
      .annotate(Shared, "read")
      .annotate(Scoped, { connector: "record" })
  )
  .add(
    HttpApiEndpoint.put("update", `${at}/:ctr`)
      .setPath(path)
      .setPayload(ConnectorBody)
      .addSuccess(Imported(ConnectorView))
      .annotate(Form, { idempotency: "lease" })
      .annotate(Permit, "connectors:update")
      .annotate(Audited, audited("connector.update"))
      .annotate(Shared, "change")
      .annotate(Scoped, { connector: "record" })
  )
  .add(
    HttpApiEndpoint.del("delete", `${at}/:ctr`)
      .setPath(path)
      .addSuccess(HttpApiSchema.NoContent)
      .annotate(Permit, "connectors:delete")
      .annotate(Audited, audited("connector.delete"))
      .annotate(Shared, "change")
      .annotate(Scoped, { connector: "record" })
  )
  .add(
    HttpApiEndpoint.post("publish", `${at}/:ctr/publish`)
      .setPath(path)
      .setPayload(strict(Schema.Struct({ notes: Schema.optional(Schema.String.pipe(Schema.maxLength(10_000))) })))
      .addSuccess(Data(ConnectorView))
      .annotate(Permit, "connectors:write")
      .annotate(Audited, audited("connector.publish"))
      .annotate(Shared, "change")
      .annotate(Scoped, { connector: "record" })
  )
  .add(
    HttpApiEndpoint.get("export", `${at}/:ctr/export`)
      .setPath(path)
      .setUrlParams(version)
      .addSuccess(JsonObject)
      .annotate(Permit, "connectors:read")
      .annotate(Audited, read("connector"))
      .annotate(Shared, "read")
      .annotate(Scoped, { connector: "record" })
  )

export const AuthProvidersApi = HttpApiGroup.make("authProviders")
  .add(
    HttpApiEndpoint.get("list", `${at}/:ctr/auth-providers`)
      .setPath(path)
      .addSuccess(Page(AuthProviderView))
      .annotate(Permit, "connectors:read")
      .annotate(Audited, read("auth_provider"))
      .annotate(Shared, "read")
      .annotate(Scoped, { connector: "record" })
  )
  .add(
    HttpApiEndpoint.put("upsert", `${at}/:ctr/auth-providers`)
      .setPath(path)
      .setPayload(replacing(UpsertAuthProvider, AuthProviderView))
      .addSuccess(Data(AuthProviderView))
      .annotate(Permit, "connectors:write")
      .annotate(Audited, audited("auth_provider.upsert"))
      .annotate(Shared, "change")
      .annotate(Scoped, { connector: "record" })
  )
  .add(
    HttpApiEndpoint.del("delete", `${at}/:ctr/auth-providers/:aid`)
      .setPath(Schema.Struct({ ctr: Schema.String, aid: Schema.String }))
      .addSuccess(HttpApiSchema.NoContent)
      .annotate(Permit, "connectors:write")
      .annotate(Audited, audited("auth_provider.delete"))
      .annotate(Shared, "change")
      .annotate(Scoped, { connector: "record" })
  )
