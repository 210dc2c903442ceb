/** The operations on connections. Only `reveal` answers with a credential. Specification: Surface C. */
import { Schema } from "effect"
import { Connection } from "../../domain/connection/Connection.js"
import {
  ConnectAccount,
  EmbeddedConnection,
  OpenedEmbeddedConnection,
  RenameAccount
} from "../../domain/connection/EmbeddedConnection.js"
import { ConnectionTest } from "../../domain/connection/ConnectionTest.js"
import { CreateConnection, ReconnectAccount, ReconnectConnection } from "../../domain/connection/Requests.js"
import { auditAction } from "../operation/Contract.js"
import { operationsOf } from "../operation/Operation.js"
import { putPayload, strictPayload } from "../PayloadSchema.js"
import { ConnectionList, CustomerConnections } from "../../actors/management/connection/CustomerConnections.js"
import { EmbeddedConnectionList, EmbeddedConnections } from "../../actors/management/embed/EmbeddedConnections.js"
import { record, newRecord, page } from "../operation/Output.js"
import { RevealedCredential } from "../../actors/management/connection/ConnectionRecords.js"

/** A pending connection also has its link; `expiresAt` is then the link's expiry. */
const OpenedConnection = Schema.Struct({
  ...Connection.View.fields,
  connectUrl: Schema.optional(Schema.String),
  connectSessionId: Schema.optional(Schema.String)
}).annotations({ identifier: "OpenedConnection" })

/** A key's scope applies to a connection by its own id and by its connector. */
const recordScope = { connection: "record", connector: "record" } as const

const ofCustomerConnections = operationsOf({
  parameters: { conn: "The id of the connection." },
  with: CustomerConnections,
  resource: "connection",
  sharing: "customers",
  scoped: recordScope
})

/** The operations of the group `connections`, in the order of the documents. */
export const connectionsOperations = [
  ofCustomerConnections({
    name: "connections.list",
    summary: "List connections",
    description: "Lists the connections that the key reaches, newest first, without credentials.",
    answers: { 200: "A page of connections." },
    parameters: { user_id: "Only records of this person." },
    route: "GET /api/v1/connections",
    query: ConnectionList,
    output: page(Connection.View),
    permit: "connections:read",
    scoped: { connection: "list", connector: "list" },
    use: (connections, { context, query }) => connections.list(context, query),
    sessions: {
      with: EmbeddedConnections,
      query: EmbeddedConnectionList,
      output: page(EmbeddedConnection),
      use: (connections, { context, query }) => connections.list(context, query)
    }
  }),
  ofCustomerConnections({
    name: "connections.create",
    summary: "Create a connection",
    description:
      "Connects a customer's account. With a credential that passes its test the connection is active at once. Without one it is pending, and `connectUrl` is a page for the customer.",
    answers: { 201: "The connection is created, active or pending." },
    example: {
      connector: "acme-crm",
      customerId: "cus_01k0000000000000000000000a",
      authMethod: "key",
      label: "Main account"
    },
    route: "POST /api/v1/connections",
    body: strictPayload(CreateConnection),
    output: newRecord(OpenedConnection),
    form: { idempotency: "lease" },
    permit: "connections:create",
    scoped: { connection: "create", connector: "record" },
    use: (connections, { context, body }) => connections.create(context, body),
    sessions: {
      with: EmbeddedConnections,
      body: strictPayload(ConnectAccount),
      output: newRecord(OpenedEmbeddedConnection),
      use: (connections, { context, body }) => connections.create(context, body)
    }
  }),
  ofCustomerConnections({
    name: "connections.get",
    summary: "Read a connection",
    description: "Reads a connection with its health, without its credential.",
    answers: { 200: "The connection." },
    route: "GET /api/v1/connections/:conn",
    output: record(Connection.View),
    permit: "connections:read",
    use: (connections, { context, path }) => connections.get(context, path.conn),
    sessions: {
      with: EmbeddedConnections,
      output: record(EmbeddedConnection),
      use: (connections, { context, path }) => connections.get(context, path.conn)
    }
  }),
  ofCustomerConnections({
    name: "connections.update",
    summary: "Change a connection",
    description: "Changes the label or the tags, or makes the connection its customer's default.",
    answers: { 200: "The connection after the change." },
    example: { label: "Head office", tags: { team: "sales" } },
    route: "PUT /api/v1/connections/:conn",
    body: putPayload(Connection.Update, Connection.View),
    output: record(Connection.View),
    permit: "connections:update",
    use: (connections, { context, path, body }) => connections.update(context, path.conn, body),
    sessions: {
      with: EmbeddedConnections,
      body: strictPayload(RenameAccount),
      output: record(EmbeddedConnection),
      use: (connections, { context, path, body }) => connections.rename(context, path.conn, body)
    }
  }),
  ofCustomerConnections({
    name: "connections.delete",
    summary: "Delete a connection",
    description: "Deletes a connection and its credential, and revokes the credential where the provider can.",
    answers: { 200: "The connection before it was deleted." },
    parameters: { revoke: "`false`: the credential is not revoked at the provider." },
    route: "DELETE /api/v1/connections/:conn",
    query: Schema.Struct({ revoke: Schema.optional(Schema.Literal("true", "false")) }),
    output: record(Connection.View),
    permit: "connections:delete",
    use: (connections, { context, path, query }) =>
      connections.disconnect(context, path.conn, query.revoke !== "false"),
    sessions: {
      with: EmbeddedConnections,
      output: record(EmbeddedConnection),
      use: (connections, { context, path }) => connections.disconnect(context, path.conn)
    }
  }),
  ofCustomerConnections({
    name: "connections.test",
    summary: "Test a connection",
    description: "Calls the provider with the connection's credential, which is refreshed first if it is due.",
    answers: { 200: "The outcome of the test." },
    route: "POST /api/v1/connections/:conn/test",
    output: record(ConnectionTest),
    form: { idempotency: "lease" },
    permit: "connections:update",
    use: (connections, { context, path }) => connections.test(context, path.conn)
  }),
  ofCustomerConnections({
    name: "connections.reconnect",
    summary: "Reconnect a connection",
    description:
      "Replaces the credential of a connection: with the one that is sent, or through a page for the customer.",
    answers: { 200: "The connection, with the link of the page if there is one." },
    example: { redirectUrl: "https://app.example.com/connected" },
    route: "POST /api/v1/connections/:conn/reconnect",
    body: strictPayload(ReconnectConnection),
    output: record(OpenedConnection),
    form: { idempotency: "lease" },
    permit: "connections:update",
    use: (connections, { context, path, body }) => connections.reconnect(context, path.conn, body),
    sessions: {
      with: EmbeddedConnections,
      body: strictPayload(ReconnectAccount),
      output: record(OpenedEmbeddedConnection),
      use: (connections, { context, path, body }) => connections.reconnect(context, path.conn, body)
    }
  }),
  ofCustomerConnections({
    name: "connections.refresh",
    summary: "Refresh a credential",
    description: "Renews the access token of a connection: now, or with `force=false` only if it is due.",
    answers: { 200: "The connection." },
    parameters: { force: "`false`: only if it is due; the connection's `health` says whether that failed." },
    route: "POST /api/v1/connections/:conn/refresh",
    query: Schema.Struct({ force: Schema.optional(Schema.Literal("true", "false")) }),
    output: record(Connection.View),
    form: { idempotency: "lease" },
    permit: "connections:update",
    use: (connections, { context, path, query }) => connections.refresh(context, path.conn, query.force !== "false")
  }),
  ofCustomerConnections({
    name: "connections.enable",
    summary: "Enable a connection",
    description: "Tests a disabled connection and makes it active.",
    answers: { 200: "The connection." },
    route: "POST /api/v1/connections/:conn/enable",
    output: record(Connection.View),
    form: { idempotency: "lease" },
    permit: "connections:update",
    use: (connections, { context, path }) => connections.enable(context, path.conn)
  }),
  ofCustomerConnections({
    name: "connections.disable",
    summary: "Disable a connection",
    description: "Disables a connection: no run can use it until it is enabled.",
    answers: { 200: "The connection." },
    route: "POST /api/v1/connections/:conn/disable",
    output: record(Connection.View),
    form: { idempotency: "lease" },
    permit: "connections:update",
    use: (connections, { context, path }) => connections.disable(context, path.conn)
  }),
  ofCustomerConnections({
    name: "connections.reveal",
    summary: "Reveal a credential",
    description: "Answers with the credential of a connection. The call is audited, and no cache may keep the answer.",
    answers: { 200: "The credential." },
    route: "POST /api/v1/connections/:conn/reveal",
    output: record(RevealedCredential),
    permit: "connections:decrypt",
    audit: auditAction("connection.decrypt"),
    noStore: true,
    use: (connections, { context, path }) => connections.reveal(context, path.conn)
  })
] as const
