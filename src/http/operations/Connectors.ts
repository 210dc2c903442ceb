/** The operations on connectors. Specification: Surface C. */
import { HttpApiSchema } from "@effect/platform"
import { NullableText } from "../../domain/Scalars.js"
import { ConnectorList } from "../../actors/management/connector/ConnectorPages.js"
import { Schema, SchemaAST, Effect } from "effect"
import { ImportRequest } from "../../domain/connector/ConnectorRecord.js"
import { ConnectorKind, semverPattern } from "../../domain/connector/Definition.js"
import { ConnectorFile } from "../../domain/connector/FileSchema.js"
import { JsonObject } from "../../domain/Json.js"
import { BrokenPair } from "../../domain/mapping/FieldMapRecord.js"
import { auditAction } from "../operation/Contract.js"
import { operationsOf } from "../operation/Operation.js"
import { PatchBody, setRevision } from "./connector/PartSchemas.js"
import { NullableTime, Time } from "../Shapes.js"
import { strictPayload } from "../PayloadSchema.js"
import type { SavedConnector } from "../../actors/management/connector/ConnectorDrafts.js"
import { ConnectorAuthoring, type ConnectorPreview } from "../../actors/management/connector/ConnectorAuthoring.js"
import { ConnectorCatalogue } from "../../actors/management/connector/ConnectorCatalogue.js"
import { ConnectorDiscovery, DiscoverRequest } from "../../actors/management/connector/ConnectorDiscovery.js"
import { exampleConnector } from "./ConnectorExample.js"
import type { Exchange } from "../pipeline/Exchange.js"
import { EmbeddedConnectorList, EmbeddedConnectors } from "../../actors/management/embed/EmbeddedConnectors.js"
import { EmbeddedConnector, EmbeddedConnectorSummary } from "../../domain/connector/EmbeddedConnector.js"
import { record, page, bareValue, bareValues, empty } from "../operation/Output.js"
import { ConnectorOffer } from "../../domain/connector/ConnectorOffer.js"

const summary = {
  id: Schema.String,
  slug: Schema.String,
  name: Schema.String,
  description: Schema.String,
  kind: ConnectorKind,
  protocol: Schema.String,
  visibility: Schema.Literal("private", "managed"),
  domain: NullableText,
  iconUrl: NullableText,
  version: Schema.String,
  latestVersion: NullableText,
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
  redirectUri: NullableText.annotations({
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

const PublishedConnector = Schema.Struct({
  data: ConnectorView,
  brokenFieldMaps: Schema.Array(BrokenPair).annotations({
    description: "parts of published field maps that do not fit the version"
  }),
  isComplete: Schema.Boolean.annotations({
    description: "false: there are more field maps, or parts, than were looked at"
  })
}).annotations({ identifier: "PublishedConnector" })

/** Decodes any JSON object, since the connector's validation reports every mistake; the documents show the real schema. */
const ConnectorBody = Schema.declare(Schema.is(JsonObject), {
  identifier: "ConnectorBody",
  description: "A connector definition, or the import of one.",
  [SchemaAST.SurrogateAnnotationId]: Schema.Union(ConnectorFile, Schema.Struct({ import: ImportRequest })).ast
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

/** The definition as an export has it; the documents show the real schema, by which megabytes are not encoded again. */
const DryRun = DataWithWarnings(
  Schema.declare(Schema.is(JsonObject), {
    [SchemaAST.SurrogateAnnotationId]: ConnectorFile.ast
  })
)

const version = Schema.Struct({ version: Schema.optional(Schema.String) })

const Publication = Schema.Struct({
  notes: Schema.optional(Schema.String.pipe(Schema.maxLength(10_000))),
  version: Schema.optional(
    Schema.String.pipe(Schema.pattern(semverPattern, { message: () => "must be MAJOR.MINOR.PATCH" }))
  ).annotations({
    description: "The version to publish the draft as, above the published one. Without it: the draft's."
  })
}).annotations({ identifier: "PublishConnector" })

const savedReply = (exchange: Exchange) => (saved: SavedConnector | ConnectorPreview) => {
  if ("definition" in saved) {
    exchange.status = 200
    return { data: saved.definition, warnings: saved.warnings }
  }
  const { revision, view, ...warnings } = saved
  setRevision(exchange, revision)
  return { data: view, ...warnings }
}

const ofConnectorCatalogue = operationsOf({
  with: ConnectorCatalogue,
  resource: "connector",
  sharing: "read",
  scoped: { connector: "record" },
  permit: "connectors:read"
})

const ofConnectorAuthoring = operationsOf({
  with: ConnectorAuthoring,
  resource: "connector",
  sharing: "change",
  scoped: { connector: "record" }
})

/** The operations of the group `connectors`, in the order of the documents. */
export const connectorsOperations = [
  ofConnectorCatalogue({
    name: "connectors.list",
    summary: "List connectors",
    description: "Lists the built-in connectors and those of the organisation.",
    answers: { 200: "A page of connectors." },
    route: "GET /api/v1/connectors",
    query: ConnectorList,
    output: page(ConnectorSummary),
    scoped: { connector: "list" },
    use: (catalogue, { context, query }) => catalogue.list(context, query),
    sessions: {
      with: EmbeddedConnectors,
      query: EmbeddedConnectorList,
      output: page(EmbeddedConnectorSummary),
      use: (connectors, { context, query }) => connectors.list(context, query)
    }
  }),
  ofConnectorAuthoring({
    name: "connectors.create",
    summary: "Create or import a connector",
    description:
      "Creates the draft of a connector from its definition, from an OpenAPI document or from a Postman collection. An import lists in `warnings` what it left out; with `dryRun` it stores nothing, and answers with the definition as an export has it. docs/connectors.md explains the definition.",
    answers: {
      201: "The draft of the connector is created.",
      200: "Of an import with `dryRun`: the definition that it would create. Nothing is stored."
    },
    example: exampleConnector,
    route: "POST /api/v1/connectors",
    body: ConnectorBody,
    output: bareValues(DataWithWarnings(ConnectorView).annotations(HttpApiSchema.annotations({ status: 201 })), DryRun),
    form: { idempotency: "lease" },
    permit: "connectors:create",
    scoped: { connector: "create" },
    use: (authoring, { context, body }) => Effect.map(authoring.create(context, body), savedReply(context))
  }),
  operationsOf({ with: ConnectorDiscovery, resource: "connector", sharing: "read", permit: "connectors:read" })({
    name: "connectors.discover",
    summary: "Discover what a connector offers",
    description:
      "Lists the entities, actions and events of a connector, of the version that a connection uses, or of an OpenAPI document before its import. `coverage` says how much of each model the map in force fills and what it cannot write back. Of a connection whose connector can tell, `account` has the account's own fields, which are read at the provider and also need `unified_api:read`.",
    answers: { 200: "Entities, actions and events." },
    example: { connector: "acme-crm" },
    route: "POST /api/v1/connectors/discover",
    body: strictPayload(DiscoverRequest),
    output: bareValue(DataWithWarnings(ConnectorOffer)),
    form: { idempotency: "lease" },
    scoped: { connector: "record", connection: "record" },
    use: (discovery, { context, body }) =>
      Effect.map(discovery.discover(context, body), ({ offer, ...warnings }) => ({ data: offer, ...warnings }))
  }),
  ofConnectorCatalogue({
    name: "connectors.get",
    summary: "Read a connector",
    description: "Reads a connector with all parts of its definition, by id or slug.",
    answers: { 200: "The connector." },
    route: "GET /api/v1/connectors/:ctr",
    query: version,
    output: record(ConnectorView),
    use: (catalogue, { context, path, query }) =>
      Effect.map(catalogue.get(context, path.ctr, query.version), ({ revision, view }) => {
        setRevision(context, revision)
        return view
      }),
    sessions: {
      with: EmbeddedConnectors,
      query: Schema.Struct({}),
      output: record(EmbeddedConnector),
      use: (connectors, { context, path }) => connectors.get(context, path.ctr)
    }
  }),
  ofConnectorAuthoring({
    name: "connectors.update",
    summary: "Change a connector",
    description:
      "Replaces the draft of a connector. Its published versions stay as they are. An import with `dryRun` changes nothing, and answers with the definition as an export has it.",
    answers: { 200: "The draft of the connector, or the definition of a dry run." },
    example: { ...exampleConnector, version: "1.1.0", description: "Contacts of Acme" },
    route: "PUT /api/v1/connectors/:ctr",
    body: ConnectorBody,
    output: bareValue(Schema.Union(DataWithWarnings(ConnectorView), DryRun)),
    form: { idempotency: "lease" },
    permit: "connectors:update",
    use: (authoring, { context, path, body }) =>
      Effect.map(authoring.update(context, path.ctr, body), savedReply(context))
  }),
  ofConnectorAuthoring({
    name: "connectors.patch",
    summary: "Change members of a connector",
    description:
      "Changes the draft of a connector by a JSON merge patch (RFC 7396) of its definition: members that it names replace those of the draft, or of the newest version without one, and null removes a member. Without `version`, the draft gets the version that the change needs.",
    answers: { 200: "The draft of the connector." },
    example: { description: "Contacts and companies of Acme", rateLimit: { requests: 10, perSeconds: 1 } },
    route: "PATCH /api/v1/connectors/:ctr",
    body: PatchBody,
    output: record(ConnectorView),
    form: { idempotency: "lease" },
    permit: "connectors:update",
    audit: auditAction("connector.update"),
    use: (authoring, { context, path, body }) =>
      Effect.map(authoring.patch(context, path.ctr, body), ({ revision, view }) => {
        setRevision(context, revision)
        return view
      })
  }),
  ofConnectorAuthoring({
    name: "connectors.delete",
    summary: "Delete a connector",
    description:
      "Deletes a connector of the organisation with its auth providers. Built-in connectors cannot be deleted.",
    answers: { 204: "The connector is deleted." },
    route: "DELETE /api/v1/connectors/:ctr",
    output: empty,
    permit: "connectors:delete",
    use: (authoring, { context, path }) => authoring.remove(context, path.ctr)
  }),
  ofConnectorAuthoring({
    name: "connectors.publish",
    summary: "Publish a connector",
    description:
      "Publishes the draft under its version, or as `version`, so that connections can be created with it. `brokenFieldMaps` names the parts of published field maps that do not fit it: these parts have no effect, and records that are read say so in `meta.warnings`. `FIELD_GONE`: a pair reads a field that the version before declared and this one does not, so that it may be null.",
    answers: { 200: "The published connector." },
    example: { notes: "First version" },
    route: "POST /api/v1/connectors/:ctr/publish",
    body: strictPayload(Publication),
    output: bareValue(PublishedConnector),
    permit: "connectors:write",
    use: (authoring, { context, path, body }) =>
      Effect.map(authoring.publish(context, path.ctr, body), ({ fieldMaps, revision, view }) => {
        setRevision(context, revision)
        return { data: view, brokenFieldMaps: fieldMaps.broken, isComplete: fieldMaps.isComplete }
      })
  }),
  ofConnectorCatalogue({
    name: "connectors.export",
    summary: "Export a connector",
    description: "Answers with the definition as a file that `POST /api/v1/connectors` takes.",
    answers: { 200: "The definition, without an envelope." },
    route: "GET /api/v1/connectors/:ctr/export",
    query: version,
    output: bareValue(JsonObject),
    use: (catalogue, { context, path, query }) =>
      Effect.map(catalogue.definition(context, path.ctr, query.version), (definition) => {
        context.replyHeaders["content-disposition"] = `attachment; filename="${definition.slug}.connector.json"`
        return definition
      })
  })
] as const
