/**
 * Creates connections: active at once where the credential is given and passes its test, else pending with a connect
 * session in which a person gives it.
 */
import { Clock, Effect } from "effect"
import { type Connection } from "../../domain/connection/Connection.js"
import { evolve } from "../../domain/connection/ConnectionStates.js"
import { credentialLifetime } from "../../domain/connection/Credential.js"
import { nextCheckAt } from "../../domain/connection/Refresh.js"
import { type AuthMethod, needsClient } from "../../domain/connector/AuthMethod.js"
import type { ConnectorDefinition } from "../../domain/connector/Definition.js"
import type { CustomerId, OrganisationId } from "../../domain/Ids.js"
import type { By, Connect } from "../ports/Connections.js"
import { ConnectionStore } from "../ports/ConnectionStore.js"
import { Connectors } from "../ports/Connectors.js"
import { type Candidate, CredentialBuilder } from "./CredentialBuilder.js"
import { busy, isRenewable, type ConnectionOwner, ConnectionOwners } from "./ConnectionOwner.js"
import type { CommandRefusal } from "./Protocol.js"
import { TokenRefresh } from "./TokenRefresh.js"
import { ConnectSessions } from "./ConnectSessions.js"

/** The order as a message carries it, with ids as plain text. */
export interface Creation extends Omit<Connect, "organisationId" | "customerId"> {
  readonly organisationId: string
  readonly customerId: string
}

export const make = Effect.gen(function* () {
  const owners = yield* ConnectionOwners
  const store = yield* ConnectionStore
  const connectors = yield* Connectors
  const { checkConfig, entered } = yield* CredentialBuilder
  const { clientOf } = yield* TokenRefresh
  const sessions = yield* ConnectSessions

  const available = <A>(effect: Effect.Effect<A, { readonly reason: string }>): Effect.Effect<A, CommandRefusal> =>
    Effect.mapError(effect, ({ reason }) => busy(reason))

  /** Whether the connection works without a person's credential: with the organisation's own client, or without any. */
  const needsNobody = (connection: Connection, method: AuthMethod): Effect.Effect<boolean, CommandRefusal> => {
    if (method.type === "none") return Effect.succeed(true)
    if (method.type !== "oauth2" || method.grant !== "client_credentials") return Effect.succeed(false)
    const { connector, organisationId, authProvider } = connection
    return Effect.map(
      available(connectors.clientOf(organisationId, connector, method.id, authProvider)),
      ({ _tag }) => _tag === "Some"
    )
  }

  const pending = (
    self: ConnectionOwner,
    asked: Creation,
    definition: ConnectorDefinition,
    method: AuthMethod,
    at: string
  ): Connection => ({
    id: self.id,
    // The use case has found both among the records.
    organisationId: asked.organisationId as OrganisationId,
    customerId: asked.customerId as CustomerId,
    connector: definition.slug,
    connectorVersion: definition.version,
    userId: asked.userId,
    label: asked.label ?? definition.name,
    accountLabel: null,
    authMethod: method.id,
    authProvider: asked.authProvider,
    status: "pending",
    health: { state: "ok", lastCheckedAt: null, lastError: null, consecutiveFailures: 0 },
    config: asked.config,
    scopes: [],
    isDefault: false,
    expiresAt: null,
    lastRefreshAt: null,
    refreshFailedAt: null,
    lastUsedAt: null,
    metadata: asked.metadata,
    tags: asked.tags,
    credentialFingerprint: null,
    createdBy: asked.by.actor.id,
    createdAt: at,
    updatedAt: at,
    version: 1
  })

  const storeActive = Effect.fnUntraced(function* (
    made: Connection,
    { facts, value }: Candidate,
    method: AuthMethod,
    by: By,
    now: number
  ): Effect.fn.Return<void, CommandRefusal> {
    const at = new Date(now).toISOString()
    const connection = { ...evolve(made, { _tag: "Activated", facts }, at), version: 1 }
    const margin = method.type === "oauth2" ? method.refresh.marginSeconds : 0
    const renewable = isRenewable(method, value)
    yield* available(
      store.insert({
        connection,
        credential: yield* owners.sealed(made.organisationId, null, { value, rotated: false }),
        session: null,
        nextLookAt: nextCheckAt({ ...credentialLifetime(value), renewable }, margin, true, now),
        events: owners.told("connection.created", connection, at),
        audit: owners.audited({ action: "connection.create", by }, null, connection, at)
      })
    )
  })

  const create = Effect.fnUntraced(function* (self: ConnectionOwner, asked: Creation) {
    // An organisation's id: it came from a request's caller.
    const organisation = asked.organisationId as OrganisationId
    const definition = yield* owners.definitionOf(organisation, asked.connector, undefined)
    const method = yield* owners.methodOf(definition, asked.authMethod)
    const now = yield* Clock.currentTimeMillis
    const at = new Date(now).toISOString()
    const made = pending(self, asked, definition, method, at)
    const given = asked.credential ?? ((yield* needsNobody(made, method)) ? {} : null)
    if (given !== null) {
      const candidate = yield* entered(definition, method, made, given)
      yield* storeActive(made, candidate, method, asked.by, yield* Clock.currentTimeMillis)
      return null
    }
    // Members that are given must fit the schema; the session asks for the others.
    yield* checkConfig(definition, organisation, asked.config, { incomplete: true })
    if (method.type === "oauth2" && needsClient(method)) yield* clientOf(made, method, {})
    const { opened, session } = yield* sessions.fresh({
      organisationId: organisation,
      connectionId: self.id,
      authMethod: method.id,
      authProvider: asked.authProvider,
      config: asked.config,
      redirectUrl: asked.redirectUrl,
      reconnects: false,
      by: asked.by
    })
    yield* available(
      store.insert({
        connection: made,
        credential: null,
        session,
        nextLookAt: null,
        events: [],
        audit: owners.audited({ action: "connection.create", by: asked.by }, null, made, at)
      })
    )
    return opened
  })

  return { create }
})
