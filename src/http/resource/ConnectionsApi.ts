/** Connections: customers' accounts at connectors. Records never hold the credential. Specification: Surface C. */
import { HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { statuses } from "../../domain/connection/Connection.js"
import { CreateConnection, ReconnectConnection, UpdateConnection } from "../../domain/connection/Requests.js"
import { ConnectionId, CustomerId } from "../../domain/Ids.js"
import { JsonObject } from "../../domain/Json.js"
import { Audited, audited, Form, NoStore, Permit, read, Scoped, Shared } from "../Endpoint.js"
import { created, Data, listParams, NullableTime, Page, replacing, strict, Time } from "./Shapes.js"

const nullable = Schema.NullOr(Schema.String)
const Status = Schema.Literal(...statuses)

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

/** With the link of a pending connection; `expiresAt` is then the link's. */
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

const Revealed = Schema.Struct({
  id: ConnectionId,
  authMethod: Schema.String,
  credential: Schema.Record({ key: Schema.String, value: Schema.String })
}).annotations({ identifier: "RevealedCredential" })

const at = "/api/v1/connections"
const path = Schema.Struct({ conn: Schema.String })
/** A connection is in the scope of a key by its own id and by its connector. */
const ofOne = { connection: "record", connector: "record" } as const
const one = <const Name extends string>(name: Name) => HttpApiEndpoint.post(name, `${at}/:conn/${name}`).setPath(path)
const switched = <const Name extends string>(name: Name) =>
  one(name)
    .addSuccess(Data(ConnectionView))
    .annotate(Form, { idempotency: "lease" })
    .annotate(Permit, "connections:update")
    .annotate(Audited, audited(`connection.${name}`))
    .annotate(Shared, "customers")
    .annotate(Scoped, ofOne)

export const ConnectionsApi = HttpApiGroup.make("connections")
  .add(
    HttpApiEndpoint.get("list", at)
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
      .annotate(Audited, read("connection"))
      .annotate(Shared, "customers")
      .annotate(Scoped, { connection: "list", connector: "list" })
  )
  .add(
    HttpApiEndpoint.post("create", at)
      .setPayload(strict(CreateConnection))
      .addSuccess(created(OpenedConnection))
      .annotate(Form, { idempotency: "lease" })
      .annotate(Permit, "connections:create")
      .annotate(Audited, audited("connection.create"))
      .annotate(Shared, "customers")
      .annotate(Scoped, { connection: "create", connector: "record" })
  )
  .add(
    HttpApiEndpoint.get("get", `${at}/:conn`)
      .setPath(path)
      .addSuccess(Data(ConnectionView))
      .annotate(Permit, "connections:read")
      .annotate(Audited, read("connection"))
      .annotate(Shared, "customers")
      .annotate(Scoped, ofOne)
  )
  .add(
    HttpApiEndpoint.put("update", `${at}/:conn`)
      .setPath(path)
      .setPayload(replacing(UpdateConnection, ConnectionView))
      .addSuccess(Data(ConnectionView))
      .annotate(Permit, "connections:update")
      .annotate(Audited, audited("connection.update"))
      .annotate(Shared, "customers")
      .annotate(Scoped, ofOne)
  )
  .add(
    HttpApiEndpoint.del("delete", `${at}/:conn`)
      .setPath(path)
      .addSuccess(Data(ConnectionView))
      .annotate(Permit, "connections:delete")
      .annotate(Audited, audited("connection.delete"))
      .annotate(Shared, "customers")
      .annotate(Scoped, ofOne)
  )
  .add(
    one("test")
      .addSuccess(Data(TestOutcome))
      .annotate(Form, { idempotency: "lease" })
      .annotate(Permit, "connections:update")
      .annotate(Audited, audited("connection.test"))
      .annotate(Shared, "customers")
      .annotate(Scoped, ofOne)
  )
  .add(
    one("reconnect")
      .setPayload(strict(ReconnectConnection))
      .addSuccess(Data(OpenedConnection))
      .annotate(Form, { idempotency: "lease" })
      .annotate(Permit, "connections:update")
      .annotate(Audited, audited("connection.reconnect"))
      .annotate(Shared, "customers")
      .annotate(Scoped, ofOne)
  )
  .add(switched("refresh"))
  .add(switched("enable"))
  .add(switched("disable"))
  .add(
    one("reveal")
      .addSuccess(Data(Revealed))
      .annotate(Permit, "connections:decrypt")
      .annotate(Audited, audited("connection.decrypt"))
      .annotate(NoStore, true)
      .annotate(Shared, "customers")
      .annotate(Scoped, ofOne)
  )
