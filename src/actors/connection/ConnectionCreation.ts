/**
 * Creates connections: active if the request has a credential that passes its test, else pending with a connect session
 * in which a person enters one. The node that has the request does it: a connection has no owner before its record, and a
 * message whose answer is lost would leave a connection of which its caller does not know.
 */
import { Clock, Effect, Layer } from "effect"
import { type Connection } from "../../domain/connection/Connection.js"
import { evolve } from "../../domain/connection/ConnectionStates.js"
import { credentialLifetime } from "../../domain/connection/Credential.js"
import { nextCheckAt } from "../../domain/connection/Refresh.js"
import { type AuthMethod, needsClient } from "../../domain/connector/AuthMethod.js"
import type { ConnectorDefinition } from "../../domain/connector/Definition.js"
import type { ConnectionId } from "../../domain/Ids.js"
import type { ConnectRequest, Initiator } from "../ports/connection/Connections.js"
import { ConnectionStore } from "../ports/connection/ConnectionStore.js"
import { Connectors } from "../ports/connection/Connectors.js"
import { type CredentialCandidate, CredentialBuilder } from "./credential/CredentialBuilder.js"
import { isRenewable, orBusy } from "./ConnectionOwner.js"
import { ConnectionOwners } from "./ConnectionOwners.js"
import type { CommandRefusal } from "./Protocol.js"
import { CredentialTest } from "./credential/CredentialTest.js"
import { TokenRequests } from "./credential/TokenRequests.js"
import { ConnectSessions } from "./ConnectSessions.js"

const pendingConnection = (
  id: ConnectionId,
  request: ConnectRequest,
  definition: ConnectorDefinition,
  method: AuthMethod,
  at: string
): Connection => ({
  id,
  organisationId: request.organisationId,
  customerId: request.customerId,
  connector: definition.slug,
  connectorVersion: definition.version,
  userId: request.userId,
  label: request.label ?? definition.name,
  accountLabel: null,
  authMethod: method.id,
  authProvider: request.authProvider,
  status: "pending",
  health: { state: "ok", lastCheckedAt: null, lastError: null, consecutiveFailures: 0 },
  config: request.config,
  scopes: [],
  isDefault: false,
  expiresAt: null,
  lastRefreshAt: null,
  refreshFailedAt: null,
  lastUsedAt: null,
  metadata: request.metadata,
  tags: request.tags,
  credentialFingerprint: null,
  createdBy: request.by.actor.id,
  createdAt: at,
  updatedAt: at,
  version: 1
})

const make = Effect.gen(function* () {
  const owners = yield* ConnectionOwners
  const store = yield* ConnectionStore
  const connectors = yield* Connectors
  const { checkConfig, buildFromInput } = yield* CredentialBuilder
  const { clientOf } = yield* TokenRequests
  const sessions = yield* ConnectSessions

  /** Whether the connection needs no person's credential: none at all, or only the organisation's OAuth client. */
  const connectsWithoutPerson = (connection: Connection, method: AuthMethod) => {
    if (method.type === "none") return Effect.succeed(true)
    if (method.type !== "oauth2" || method.grant !== "client_credentials") return Effect.succeed(false)
    const { connector, organisationId, authProvider } = connection
    return Effect.map(
      orBusy(connectors.clientOf(organisationId, connector, method.id, authProvider)),
      ({ _tag }) => _tag === "Some"
    )
  }

  const storeActive = Effect.fnUntraced(function* (
    pending: Connection,
    { facts, value }: CredentialCandidate,
    method: AuthMethod,
    by: Initiator,
    now: number
  ): Effect.fn.Return<void, CommandRefusal> {
    const at = new Date(now).toISOString()
    const connection = { ...evolve(pending, { _tag: "Activated", facts }, at), version: 1 }
    const margin = method.type === "oauth2" ? method.refresh.marginSeconds : 0
    const renewable = isRenewable(method, value)
    yield* orBusy(
      store.insert({
        connection,
        credential: yield* owners.sealCredential(pending.organisationId, null, { value, rotated: false }),
        session: null,
        nextLookAt: nextCheckAt({ ...credentialLifetime(value), renewable }, margin, true, now),
        events: owners.eventsOf("connection.created", connection, at),
        audit: owners.auditOf({ action: "connection.create", by }, null, connection, at)
      })
    )
  })

  const create = Effect.fnUntraced(function* (id: ConnectionId, request: ConnectRequest) {
    const organisation = request.organisationId
    const definition = yield* owners.definitionOf(organisation, request.connector, undefined)
    const method = yield* owners.methodOf(definition, request.authMethod)
    const now = yield* Clock.currentTimeMillis
    const at = new Date(now).toISOString()
    const pending = pendingConnection(id, request, definition, method, at)
    const credential = request.credential ?? ((yield* connectsWithoutPerson(pending, method)) ? {} : null)
    if (credential !== null) {
      const candidate = yield* buildFromInput(definition, method, pending, credential)
      yield* storeActive(pending, candidate, method, request.by, yield* Clock.currentTimeMillis)
      return null
    }
    // Members that the request has must satisfy the schema; the session asks for the missing ones.
    yield* checkConfig(definition, organisation, request.config, { incomplete: true })
    if (method.type === "oauth2" && needsClient(method)) yield* clientOf(pending, method, {})
    const { link, session } = yield* sessions.makeSession({
      organisationId: organisation,
      connectionId: id,
      authMethod: method.id,
      authProvider: request.authProvider,
      config: request.config,
      redirectUrl: request.redirectUrl,
      reconnects: false,
      by: request.by
    })
    yield* orBusy(
      store.insert({
        connection: pending,
        credential: null,
        session,
        nextLookAt: null,
        events: [],
        audit: owners.auditOf({ action: "connection.create", by: request.by }, null, pending, at)
      })
    )
    return link
  })

  return { create }
})

/** `create` returns the link of the connect session; `null`: the connection is active. */
export class ConnectionCreation extends Effect.Service<ConnectionCreation>()("svc/connection/ConnectionCreation", {
  effect: make
}) {}

export const layer = ConnectionCreation.Default.pipe(
  Layer.provide(ConnectSessions.Default),
  Layer.provide(CredentialBuilder.Default),
  Layer.provide(Layer.merge(CredentialTest.Default, TokenRequests.Default)),
  Layer.provide(ConnectionOwners.Default)
)
