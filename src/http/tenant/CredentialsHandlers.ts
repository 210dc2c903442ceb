/** A tenant's credentials: storing one makes or renews its connection. */
import { Clock, Effect, Option, Redacted } from "effect"
import { AuditTrail } from "../../actors/ports/AuditTrail.js"
import { Connections, type Secrets } from "../../actors/ports/Connections.js"
import { CustomerReads } from "../../actors/ports/CustomerReads.js"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import { Records, type Tx } from "../../actors/ports/Records.js"
import { type Connection, type CredentialRecord, livingStatuses } from "../../domain/connection/Connection.js"
import { type Failure, NotFound } from "../../domain/Failure.js"
import type { ConnectionId, CredentialId, CustomerId } from "../../domain/Ids.js"
import { customerReference } from "../../domain/Tenancy.js"
import { Current } from "../auth/Authenticated.js"
import { actorOf, missing, outOfScope, reaches } from "../../actors/management/Caller.js"
import { recordedByActor } from "../../actors/management/CallContext.js"
import type { Exchange } from "../pipeline/Exchange.js"
import { type ListParams, Pages } from "../../actors/management/Pages.js"
import { group } from "../pipeline/Dispatch.js"
import { TenantApi } from "./Api.js"
import type { StoreCredential } from "./CredentialsApi.js"

/** A tenant has a connection or two for each connector. */
const mostShown = 1_000

const secretsOf = (input: { readonly [name: string]: string | number }): Secrets =>
  Object.fromEntries(Object.entries(input).map(([name, value]) => [name, Redacted.make(String(value))]))

const byOf = ({ caller }: Exchange) => ({ actor: actorOf(caller), requestId: caller.requestId })

const viewOf = (credential: CredentialRecord, connection: Connection) => ({
  id: credential.id,
  connectionId: connection.id,
  connector: connection.connector,
  authMethod: connection.authMethod,
  label: connection.label,
  status: connection.status,
  fields: credential.members,
  fingerprint: credential.fingerprint,
  expiresAt: credential.expiresAt,
  createdAt: credential.createdAt,
  rotatedAt: credential.rotatedAt
})

export const CredentialsLive = group(TenantApi, "credentials", (handlers) =>
  Effect.gen(function* () {
    const connections = yield* Connections
    const customers = yield* CustomerReads
    const identifiers = yield* Identifiers
    const records = yield* Records
    const trail = yield* AuditTrail
    const listing = yield* Pages

    /** The tenant that a path names: one that the key does not reach is one that is not there. */
    const tenantOf = Effect.fnUntraced(function* (
      exchange: Exchange,
      tid: string
    ): Effect.fn.Return<CustomerId, Failure> {
      const found = yield* customers.find(exchange.caller.organisationId, customerReference(tid))
      if (Option.isNone(found) || !reaches(exchange.caller, found.value.id))
        return yield* new NotFound({ what: "tenant" })
      exchange.customerId = found.value.id
      return found.value.id
    })

    /** The living connections of a tenant, as far as the key reaches. */
    const living = (tx: Tx, exchange: Exchange, customerId: CustomerId, connector: string | undefined) =>
      Effect.map(
        tx.connections.list({
          where: { customerId, status: livingStatuses, ...(connector === undefined ? {} : { connector }) },
          limit: mostShown
        }),
        (found) => found.filter(({ id }) => outOfScope(exchange.caller, "connection", id) === undefined)
      )

    const withConnections = (credentials: ReadonlyArray<CredentialRecord>, seen: ReadonlyArray<Connection>) =>
      credentials.flatMap((credential) => {
        const connection = seen.find(({ id }) => id === credential.connectionId)
        return connection === undefined ? [] : [{ credential, connection }]
      })

    const stored = (exchange: Exchange, customerId: CustomerId, connector: string | undefined) =>
      records.transact(exchange.caller.organisationId, (tx) =>
        Effect.gen(function* () {
          const seen = yield* living(tx, exchange, customerId, connector)
          const where = { connectionId: seen.map(({ id }) => id) }
          return withConnections(yield* tx.credentials.list({ where, limit: mostShown }), seen)
        })
      )

    const paged = (exchange: Exchange, customerId: CustomerId, connector: string | undefined, params: ListParams) =>
      records.transact(exchange.caller.organisationId, (tx) =>
        Effect.gen(function* () {
          const seen = yield* living(tx, exchange, customerId, connector)
          const where = { connectionId: seen.map(({ id }) => id) }
          const page = yield* listing.list(tx.credentials, params, { where })
          return { ...page, data: withConnections(page.data, seen) }
        })
      )

    const shown = (exchange: Exchange, customerId: CustomerId, id: ConnectionId) =>
      Effect.flatMap(stored(exchange, customerId, undefined), (all) => {
        const one = all.find(({ connection }) => connection.id === id)
        return one === undefined
          ? new NotFound({ what: "credential" })
          : Effect.succeed({ data: viewOf(one.credential, one.connection) })
      })

    const revealed = Effect.fnUntraced(function* (exchange: Exchange, { id, label }: Connection) {
      const { organisationId, requestId } = exchange.caller
      const secrets = yield* connections.reveal({ organisationId, connectionId: id, by: byOf(exchange) })
      trail.note({
        id: identifiers.next("aud"),
        organisationId,
        at: new Date(yield* Clock.currentTimeMillis).toISOString(),
        actor: actorOf(exchange.caller),
        action: "credential.reveal",
        resource: { type: "credential", id, name: label },
        customerId: exchange.customerId,
        outcome: "success",
        requestId,
        changes: [],
        count: 1
      })
      return Object.fromEntries(Object.entries(secrets).map(([name, value]) => [name, Redacted.value(value)]))
    })

    /** Renews the connection of the same method and label; makes it where there is none. */
    const placed = Effect.fnUntraced(function* (
      exchange: Exchange,
      customerId: CustomerId,
      payload: StoreCredential
    ): Effect.fn.Return<{ readonly data: ReturnType<typeof viewOf> }, Failure> {
      const { organisationId } = exchange.caller
      const { authMethod, config, connector, label = null } = payload
      const credential = secretsOf(payload.credential)
      const by = byOf(exchange)
      const known = (yield* stored(exchange, customerId, connector)).find(
        ({ connection }) =>
          connection.authMethod === authMethod &&
          connection.userId === null &&
          (label === null ? connection.isDefault : connection.label === label)
      )
      if (known === undefined) {
        const { id } = yield* connections.connect({
          organisationId,
          customerId,
          connector,
          authMethod,
          label,
          credential,
          config: config ?? {},
          userId: null,
          authProvider: null,
          tags: {},
          metadata: {},
          redirectUrl: null,
          by
        })
        return yield* shown(exchange, customerId, id)
      }
      const { id } = known.connection
      yield* connections.storeCredential({
        organisationId,
        connectionId: id,
        credential,
        config: config ?? null,
        authMethod: null,
        skipTest: false,
        by
      })
      return yield* shown(exchange, customerId, id)
    })

    return handlers
      .handle("store", ({ path, payload }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const outside = outOfScope(exchange.caller, "connector", payload.connector)
          if (outside !== undefined) return yield* outside
          const customerId = yield* tenantOf(exchange, path.tid)
          return yield* recordedByActor(exchange, placed(exchange, customerId, payload))
        })
      )
      .handle("list", ({ path, urlParams }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const reveals = urlParams.reveal === "true"
          const refused = reveals ? missing(exchange.caller, "connections:decrypt") : undefined
          if (refused !== undefined) return yield* refused
          const customerId = yield* tenantOf(exchange, path.tid)
          if (reveals) exchange.replyHeaders["cache-control"] = "no-store"
          const { data: all, page } = yield* paged(exchange, customerId, urlParams.connector, urlParams)
          const data = yield* Effect.forEach(
            all,
            ({ connection, credential }) => {
              const view = viewOf(credential, connection)
              return reveals
                ? Effect.map(revealed(exchange, connection), (plain) => ({ ...view, credential: plain }))
                : Effect.succeed(view)
            },
            { concurrency: 8 }
          )
          return { data, page }
        })
      )
      .handle("rotate", ({ path, payload }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const customerId = yield* tenantOf(exchange, path.tid)
          // Any text: no other row matches.
          const wanted = path.cred as CredentialId
          const found = (yield* stored(exchange, customerId, undefined)).find(
            ({ credential }) => credential.id === wanted
          )
          if (found === undefined) return yield* new NotFound({ what: "credential" })
          const { id } = found.connection
          const rotation = connections.storeCredential({
            organisationId: exchange.caller.organisationId,
            connectionId: id,
            credential: secretsOf(payload.credential),
            config: null,
            authMethod: null,
            skipTest: payload.skipTest ?? false,
            by: byOf(exchange)
          })
          return yield* recordedByActor(exchange, Effect.zipRight(rotation, shown(exchange, customerId, id)))
        })
      )
  })
)
