/** The endpoints of connectors. Specification: Surface C. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { Schema, SchemaAST } from "effect"
import { ImportRequest } from "../../domain/connector/ConnectorRecord.js"
import { ConnectorKind } from "../../domain/connector/Definition.js"
import { ConnectorFile } from "../../domain/connector/FileSchema.js"
import { Json, JsonObject } from "../../domain/Json.js"
import { Audited, auditAction, Form, Permit, auditRead, Scoped, Shared } from "../Endpoint.js"
import { Data, listParams, NullableTime, Page, strictPayload, Time } from "./Shapes.js"

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
  description: "Actions have name, version and title only; all members with include=actions."
})

const ConnectorView = Schema.Struct({
  ...summary,
  transport: Schema.String,
  baseUrl: Schema.String,
  redirectUri: nullable.annotations({
    description: "the redirect URI to register for an OAuth client at the provider; null without a sign-in there"
  }),
  connectionConfig: Schema.NullOr(JsonObject),
  test: Schema.NullOr(JsonObject),
  rateLimit: Schema.NullOr(JsonObject),
  retry: JsonObject,
  webhooks: Schema.Array(JsonObject),
  webhookUrls: Schema.Record({ key: Schema.String, value: Schema.String }).annotations({
    description: "the address of each webhook of the type app, by its id, to enter in the provider's app"
  }),
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

/** Decodes any JSON object, since the connector's validation reports every mistake; the documents show the real schema. */
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
    "Exactly one of: a connector, a connection (for the version that it uses), an OpenAPI document or its URL."
})

const ImportWarning = Schema.Struct({
  path: Schema.String.annotations({ description: "The place in the document." }),
  message: Schema.String.annotations({ description: "What was left out or replaced, and the consequence." })
}).annotations({ identifier: "ImportWarning" })

const DataWithWarnings = <A, I, R>(data: Schema.Schema<A, I, R>) =>
  Schema.Struct({
    data,
    warnings: Schema.optional(Schema.Array(ImportWarning)).annotations({
      description: "With an import only: parts of the document that the definition does not have."
    })
  })

const path = Schema.Struct({ ctr: Schema.String })
const version = Schema.Struct({ version: Schema.optional(Schema.String) })
const basePath = "/api/v1/connectors"

/** Connectors on surface C. */
export const ConnectorsApi = HttpApiGroup.make("connectors")
  .add(
    HttpApiEndpoint.get("list", basePath)
      .setUrlParams(
        Schema.Struct({
          ...listParams,
          kind: Schema.optional(ConnectorKind),
          include: Schema.optional(Schema.String)
        })
      )
      .addSuccess(Page(ConnectorSummary))
      .annotate(Permit, "connectors:read")
      .annotate(Audited, auditRead("connector"))
      .annotate(Shared, "read")
      .annotate(Scoped, { connector: "list" })
  )
  .add(
    HttpApiEndpoint.post("create", basePath)
      .setPayload(ConnectorBody)
      .addSuccess(DataWithWarnings(ConnectorView).annotations(HttpApiSchema.annotations({ status: 201 })))
      .annotate(Form, { idempotency: "lease" })
      .annotate(Permit, "connectors:create")
      .annotate(Audited, auditAction("connector.create"))
      .annotate(Shared, "change")
      .annotate(Scoped, { connector: "create" })
  )
  .add(
    HttpApiEndpoint.post("discover", `${basePath}/discover`)
      .setPayload(strictPayload(DiscoverBody))
      .addSuccess(DataWithWarnings(Offer))
      .annotate(Form, { idempotency: "lease" })
      .annotate(Permit, "connectors:read")
      .annotate(Audited, auditAction("connector.discover"))
      .annotate(Shared, "read")
      .annotate(Scoped, { connector: "record", connection: "record" })
  )
  .add(
    HttpApiEndpoint.get("get", `${basePath}/:ctr`)
      .setPath(path)
      .setUrlParams(version)
      .addSuccess(Data(ConnectorView))
      .annotate(Permit, "connectors:read")
      .annotate(Audited, auditRead("connector"))
      .annotate(Shared, "read")
      .annotate(Scoped, { connector: "record" })
  )
  .add(
    HttpApiEndpoint.put("update", `${basePath}/:ctr`)
      .setPath(path)
      .setPayload(ConnectorBody)
      .addSuccess(DataWithWarnings(ConnectorView))
      .annotate(Form, { idempotency: "lease" })
      .annotate(Permit, "connectors:update")
      .annotate(Audited, auditAction("connector.update"))
      .annotate(Shared, "change")
      .annotate(Scoped, { connector: "record" })
  )
  .add(
    HttpApiEndpoint.del("delete", `${basePath}/:ctr`)
      .setPath(path)
      .addSuccess(HttpApiSchema.NoContent)
      .annotate(Permit, "connectors:delete")
      .annotate(Audited, auditAction("connector.delete"))
      .annotate(Shared, "change")
      .annotate(Scoped, { connector: "record" })
  )
  .add(
    HttpApiEndpoint.post("publish", `${basePath}/:ctr/publish`)
      .setPath(path)
      .setPayload(
        strictPayload(Schema.Struct({ notes: Schema.optional(Schema.String.pipe(Schema.maxLength(10_000))) }))
      )
      .addSuccess(Data(ConnectorView))
      .annotate(Permit, "connectors:write")
      .annotate(Audited, auditAction("connector.publish"))
      .annotate(Shared, "change")
      .annotate(Scoped, { connector: "record" })
  )
  .add(
    HttpApiEndpoint.get("export", `${basePath}/:ctr/export`)
      .setPath(path)
      .setUrlParams(version)
      .addSuccess(JsonObject)
      .annotate(Permit, "connectors:read")
      .annotate(Audited, auditRead("connector"))
      .annotate(Shared, "read")
      .annotate(Scoped, { connector: "record" })
  )
