/** Connections: read from their records, changed by their actors. */
import { Effect, Option, Redacted } from "effect"
import { Connections, type OpenedSession, type Secrets } from "../../actors/ports/Connections.js"
import type { Tx } from "../../actors/ports/Records.js"
import { type Connection, connectionView, statuses } from "../../domain/connection/Connection.js"
import { type Failure, invalid, NotFound } from "../../domain/Failure.js"
import type { ConnectionId, CustomerId } from "../../domain/Ids.js"
import { Current } from "../auth/Authenticated.js"
import { actorOf, outOfScope, type Principal, reaches } from "../../actors/management/Caller.js"
import type { Exchange } from "../pipeline/Exchange.js"
import { Origin } from "../../actors/ports/Origin.js"
import { ResourceApi } from "./Api.js"
import { checkVersion, recordedByActor } from "../../actors/management/CallContext.js"
import { Changes } from "../../actors/management/Changes.js"
import { findCustomer } from "../../actors/management/CustomerRecords.js"
import { Pages } from "../../actors/management/Pages.js"
import { group } from "../pipeline/Dispatch.js"

const gone = () => new NotFound({ what: "connection" })

/** The connection that a path names, if the caller reaches it: another's is one that is not there. */
const findConnection = (tx: Tx, caller: Principal, id: string): Effect.Effect<Connection, Failure> => {
  const outside = outOfScope(caller, "connection", id)
  if (outside !== undefined) return Effect.fail(outside)
  // Any text: no other row matches.
  return Effect.flatMap(
    tx.connections.find({ id: id as ConnectionId }),
    Option.match({
      onNone: gone,
      onSome: (connection) => (reaches(caller, connection.customerId) ? Effect.succeed(connection) : gone())
    })
  )
}

const viewOf = (connection: Connection) => ({
  ...connectionView(connection),
  scope: connection.userId === null ? ("customer" as const) : ("user" as const)
})

const secretsOf = (input: { readonly [name: string]: string | number }): Secrets =>
  Object.fromEntries(Object.entries(input).map(([name, value]) => [name, Redacted.make(String(value))]))

const byOf = ({ caller }: Exchange) => ({ actor: actorOf(caller), requestId: caller.requestId })

const living = statuses.filter((status) => status !== "disconnected")

/** The connections to which a key is narrowed, if it is. */
const scopeOf = ({ key }: Principal): ReadonlyArray<ConnectionId> | undefined => {
  const scope = key.resourceScope.filter(({ type }) => type === "connection")
  // Any text: no other row matches.
  return scope.length === 0 ? undefined : scope.flatMap(({ ids }) => ids.map((id) => id as ConnectionId))
}

export const ConnectionsLive = group(ResourceApi, "connections", (handlers) =>
  Effect.gen(function* () {
    const { change, read: view } = yield* Changes
    const listing = yield* Pages
    const connections = yield* Connections
    const origin = yield* Origin

    const opened = (session: OpenedSession | null) =>
      session === null
        ? {}
        : {
            connectUrl: `${origin}/connect/${Redacted.value(session.token)}`,
            connectSessionId: session.id,
            expiresAt: session.expiresAt
          }

    /** One that still lives, for an order about it. */
    const target = (exchange: Exchange, id: string) =>
      view(exchange, (tx) => findConnection(tx, exchange.caller, id)).pipe(
        Effect.filterOrFail(({ status }) => status !== "disconnected", gone),
        Effect.tap(({ customerId }) =>
          Effect.sync(() => {
            exchange.customerId = customerId
          })
        )
      )

    const shown = (exchange: Exchange, id: string) =>
      view(exchange, (tx) => Effect.map(findConnection(tx, exchange.caller, id), viewOf))

    /** Gives an order to the actor, and answers the record as it is then. */
    const ordered = Effect.fnUntraced(function* (
      id: string,
      order: (
        addressed: {
          readonly organisationId: Connection["organisationId"]
          readonly connectionId: ConnectionId
          readonly by: ReturnType<typeof byOf>
        },
        exchange: Exchange
      ) => Effect.Effect<unknown, Failure>
    ) {
      const exchange = yield* Current
      const connection = yield* target(exchange, id)
      const data = yield* recordedByActor(
        exchange,
        Effect.zipRight(
          order(
            {
              organisationId: exchange.caller.organisationId,
              connectionId: connection.id,
              by: byOf(exchange)
            },
            exchange
          ),
          shown(exchange, connection.id)
        )
      )
      return { data }
    })

    /** For whom a new connection is: unknown and unreachable customers are the same. */
    const customerOf = (exchange: Exchange, named: string): Effect.Effect<CustomerId, Failure> =>
      view(exchange, (tx) => findCustomer(tx, exchange.caller, named)).pipe(
        Effect.map(({ id }) => id),
        Effect.catchTag("NotFound", () => invalid("customerId", "NOT_FOUND", "names no customer"))
      )

    const filters = Effect.fnUntraced(function* (
      exchange: Exchange,
      params: {
        readonly status?: Connection["status"] | undefined
        readonly customer_id?: string | undefined
        readonly user_id?: string | undefined
        readonly connector?: string | undefined
      }
    ) {
      const { caller } = exchange
      const named = params.customer_id
      const customer =
        named === undefined ? undefined : yield* view(exchange, (tx) => Effect.option(findCustomer(tx, caller, named)))
      if (customer !== undefined && Option.isNone(customer)) return undefined
      const scope = scopeOf(caller)
      return {
        status: params.status ?? living,
        ...(customer !== undefined
          ? { customerId: customer.value.id }
          : caller.customers === "all"
            ? {}
            : { customerId: [...caller.customers] }),
        ...(scope === undefined ? {} : { id: scope }),
        ...(params.user_id === undefined ? {} : { userId: params.user_id }),
        ...(params.connector === undefined ? {} : { connector: params.connector })
      }
    })

    return handlers
      .handle("list", ({ urlParams }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const where = yield* filters(exchange, urlParams)
          const { q } = urlParams
          const page = yield* view(exchange, (tx) =>
            listing.list(tx.connections, urlParams, {
              // Of a customer that is not there nothing is.
              where: where ?? { id: [] },
              ...(q === undefined ? {} : { search: { text: q, in: ["label", "connector", "accountLabel"] } })
            })
          )
          return { ...page, data: page.data.map(viewOf) }
        })
      )
      .handle("create", ({ payload }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const outside = outOfScope(exchange.caller, "connector", payload.connector)
          if (outside !== undefined) return yield* outside
          const { organisationId } = exchange.caller
          const customerId = yield* customerOf(exchange, payload.customerId)
          exchange.customerId = customerId
          const data = yield* recordedByActor(
            exchange,
            Effect.gen(function* () {
              const { id, session } = yield* connections.connect({
                organisationId,
                customerId,
                connector: payload.connector,
                userId: payload.userId ?? null,
                authMethod: payload.authMethod ?? null,
                authProvider: payload.authProvider ?? null,
                label: payload.label ?? null,
                config: payload.config ?? {},
                tags: payload.tags ?? {},
                metadata: payload.metadata ?? {},
                credential: payload.credential === undefined ? null : secretsOf(payload.credential),
                redirectUrl: payload.redirectUrl ?? null,
                by: byOf(exchange)
              })
              return { ...(yield* shown(exchange, id)), ...opened(session) }
            })
          )
          return { data }
        })
      )
      .handle("get", ({ path }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          yield* target(exchange, path.conn)
          return { data: yield* shown(exchange, path.conn) }
        })
      )
      .handle("update", ({ path, payload }) =>
        ordered(path.conn, (addressed, exchange) =>
          Effect.gen(function* () {
            const { version } = yield* target(exchange, path.conn)
            yield* checkVersion(exchange, payload.version, version)
            yield* connections.edit({
              ...addressed,
              label: payload.label ?? null,
              tags: payload.tags ?? null,
              isDefault: payload.isDefault ?? false,
              version: payload.version ?? null
            })
          })
        )
      )
      .handle("delete", ({ path }) =>
        ordered(path.conn, (addressed) => connections.disconnect({ ...addressed, version: null }))
      )
      .handle("test", ({ path }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const { id } = yield* target(exchange, path.conn)
          const { organisationId } = exchange.caller
          const data = yield* recordedByActor(
            exchange,
            Effect.gen(function* () {
              const tested = yield* connections.test({ organisationId, connectionId: id, by: byOf(exchange) })
              return { ...tested, connection: yield* shown(exchange, id) }
            })
          )
          return { data }
        })
      )
      .handle("reconnect", ({ path, payload }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const { id } = yield* target(exchange, path.conn)
          const addressed = { organisationId: exchange.caller.organisationId, connectionId: id, by: byOf(exchange) }
          const data = yield* recordedByActor(
            exchange,
            Effect.gen(function* () {
              const { authMethod = null, config = null, credential, redirectUrl = null } = payload
              if (credential !== undefined) {
                yield* connections.storeCredential({
                  ...addressed,
                  authMethod,
                  credential: secretsOf(credential),
                  config,
                  skipTest: false
                })
                return yield* shown(exchange, id)
              }
              const session = yield* connections.reconnect({ ...addressed, redirectUrl, authMethod, config })
              return { ...(yield* shown(exchange, id)), ...opened(session) }
            })
          )
          return { data }
        })
      )
      .handle("refresh", ({ path }) => ordered(path.conn, connections.refresh))
      .handle("enable", ({ path }) => ordered(path.conn, connections.enable))
      .handle("disable", ({ path }) => ordered(path.conn, connections.disable))
      .handle("reveal", ({ path }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const { authMethod, id, label } = yield* target(exchange, path.conn)
          const { organisationId } = exchange.caller
          const secrets = yield* connections.reveal({ organisationId, connectionId: id, by: byOf(exchange) })
          // Told before it is shown.
          yield* change(exchange, () =>
            Effect.succeed({ value: null, resource: { id, name: label, customerId: exchange.customerId } })
          )
          return {
            data: {
              id,
              authMethod,
              credential: Object.fromEntries(
                Object.entries(secrets).map(([name, value]) => [name, Redacted.value(value)])
              )
            }
          }
        })
      )
  })
)
