/** The endpoints of connections. Only `reveal` answers with a credential. Specification: Surface C. */
import { HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { connectionStatuses } from "../../domain/connection/Connection.js"
import { CreateConnection, ReconnectConnection, UpdateConnection } from "../../domain/connection/Requests.js"
import { ConnectionId, CustomerId } from "../../domain/Ids.js"
import { JsonObject } from "../../domain/Json.js"
import { Audited, auditAction, Form, NoStore, Permit, auditRead, Scoped, Shared } from "../Endpoint.js"
import { CreatedData, Data, listParams, NullableTime, Page, putPayload, strictPayload, Time } from "./Shapes.js"

const nullable = Schema.NullOr(Schema.String)
const Status = Schema.Literal(...connectionStatuses)

const members = {
  id: ConnectionId,
  connector: Schema.String,
  connectorVersion: Schema.String,
  customerId: CustomerId,
  userId: nullable,
  scope: Schema.Literal("customer", "user"),
  label: Schema.String,
  accountLabel: nullable,
  authMethod: Schema.String,
  authProvider: nullable,
  status: Status,
  health: Schema.Struct({
    state: Schema.Literal("ok", "degraded"),
    lastCheckedAt: NullableTime,
    lastError: nullable,
    consecutiveFailures: Schema.Number
  }),
  config: JsonObject,
  scopes: Schema.Array(Schema.String),
  isDefault: Schema.Boolean,
  expiresAt: NullableTime,
  lastRefreshAt: NullableTime,
  refreshFailedAt: NullableTime,
  lastUsedAt: NullableTime,
  metadata: JsonObject,
  tags: Schema.Record({ key: Schema.String, value: Schema.String }),
  credentialFingerprint: nullable,
  createdBy: Schema.String,
  createdAt: Time,
  updatedAt: Time,
  version: Schema.Number
} as const

const ConnectionView = Schema.Struct(members).annotations({ identifier: "Connection" })

/** A pending connection also has its link; `expiresAt` is then the link's expiry. */
const OpenedConnection = Schema.Struct({
  ...members,
  connectUrl: Schema.optional(Schema.String),
  connectSessionId: Schema.optional(Schema.String)
}).annotations({ identifier: "OpenedConnection" })

const TestOutcome = Schema.Struct({
  ok: Schema.Boolean,
  message: nullable,
  accountLabel: nullable,
  connection: ConnectionView
}).annotations({ identifier: "ConnectionTest" })

const RevealedCredential = Schema.Struct({
  id: ConnectionId,
  authMethod: Schema.String,
  credential: Schema.Record({ key: Schema.String, value: Schema.String })
}).annotations({ identifier: "RevealedCredential" })

const basePath = "/api/v1/connections"
const path = Schema.Struct({ conn: Schema.String })
/** A key's scope applies to a connection by its own id and by its connector. */
const recordScope = { connection: "record", connector: "record" } as const
const postToConnection = <const Name extends string>(name: Name) =>
  HttpApiEndpoint.post(name, `${basePath}/:conn/${name}`).setPath(path)
const connectionCommand = <const Name extends string>(name: Name) =>
  postToConnection(name)
    .addSuccess(Data(ConnectionView))
    .annotate(Form, { idempotency: "lease" })
    .annotate(Permit, "connections:update")
    .annotate(Audited, auditAction(`connection.${name}`))
    .annotate(Shared, "customers")
    .annotate(Scoped, recordScope)

/** Connections on surface C. */
export const ConnectionsApi = HttpApiGroup.make("connections")
  .add(
    HttpApiEndpoint.get("list", basePath)
      .setUrlParams(
        Schema.Struct({
          ...listParams,
          status: Schema.optional(Status),
          customer_id: Schema.optional(Schema.String),
          user_id: Schema.optional(Schema.String),
          connector: Schema.optional(Schema.String)
        })
      )
      .addSuccess(Page(ConnectionView))
      .annotate(Permit, "connections:read")
      .annotate(Audited, auditRead("connection"))
      .annotate(Shared, "customers")
      .annotate(Scoped, { connection: "list", connector: "list" })
  )
  .add(
    HttpApiEndpoint.post("create", basePath)
      .setPayload(strictPayload(CreateConnection))
      .addSuccess(CreatedData(OpenedConnection))
      .annotate(Form, { idempotency: "lease" })
      .annotate(Permit, "connections:create")
      .annotate(Audited, auditAction("connection.create"))
      .annotate(Shared, "customers")
      .annotate(Scoped, { connection: "create", connector: "record" })
  )
  .add(
    HttpApiEndpoint.get("get", `${basePath}/:conn`)
      .setPath(path)
      .addSuccess(Data(ConnectionView))
      .annotate(Permit, "connections:read")
      .annotate(Audited, auditRead("connection"))
      .annotate(Shared, "customers")
      .annotate(Scoped, recordScope)
  )
  .add(
    HttpApiEndpoint.put("update", `${basePath}/:conn`)
      .setPath(path)
      .setPayload(putPayload(UpdateConnection, ConnectionView))
      .addSuccess(Data(ConnectionView))
      .annotate(Permit, "connections:update")
      .annotate(Audited, auditAction("connection.update"))
      .annotate(Shared, "customers")
      .annotate(Scoped, recordScope)
  )
  .add(
    HttpApiEndpoint.del("delete", `${basePath}/:conn`)
      .setPath(path)
      .addSuccess(Data(ConnectionView))
      .annotate(Permit, "connections:delete")
      .annotate(Audited, auditAction("connection.delete"))
      .annotate(Shared, "customers")
      .annotate(Scoped, recordScope)
  )
  .add(
    postToConnection("test")
      .addSuccess(Data(TestOutcome))
      .annotate(Form, { idempotency: "lease" })
      .annotate(Permit, "connections:update")
      .annotate(Audited, auditAction("connection.test"))
      .annotate(Shared, "customers")
      .annotate(Scoped, recordScope)
  )
  .add(
    postToConnection("reconnect")
      .setPayload(strictPayload(ReconnectConnection))
      .addSuccess(Data(OpenedConnection))
      .annotate(Form, { idempotency: "lease" })
      .annotate(Permit, "connections:update")
      .annotate(Audited, auditAction("connection.reconnect"))
      .annotate(Shared, "customers")
      .annotate(Scoped, recordScope)
  )
  .add(connectionCommand("refresh"))
  .add(connectionCommand("enable"))
  .add(connectionCommand("disable"))
  .add(
    postToConnection("reveal")
      .addSuccess(Data(RevealedCredential))
      .annotate(Permit, "connections:decrypt")
      .annotate(Audited, auditAction("connection.decrypt"))
      .annotate(NoStore, true)
      .annotate(Shared, "customers")
      .annotate(Scoped, recordScope)
  )
