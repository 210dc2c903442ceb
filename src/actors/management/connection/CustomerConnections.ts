/**
 * Use cases of customers' connections. Reads come from their records; changes are commands to their actors, which also
 * write the audit entries. Contract: connection record and states; surface C bodies.
 */
import { Effect, Redacted, Schema } from "effect"
import { type Connection, type UpdateConnection, connectionStatuses } from "../../../domain/connection/Connection.js"
import type { CreateConnection, ReconnectConnection } from "../../../domain/connection/Requests.js"
import { type Failure, invalid, refuseWith } from "../../../domain/Failure.js"
import type { ConnectionId } from "../../../domain/Ids.js"
import { Connections, type OpenedSession, type ConnectionRequest } from "../../ports/connection/Connections.js"
import { Origin } from "../../ports/Origin.js"
import { type CallContext, checkVersion, runAuditedCommand } from "../CallContext.js"
import { outOfScope } from "../Caller.js"
import { Changes } from "../Changes.js"
import {
  connectionListFilter,
  type ConnectionView,
  findConnection,
  findLivingConnection,
  livingConnections,
  type OpenedConnection,
  initiatorOf,
  pickConnectionChanges,
  plainCredential,
  redactedCredential,
  viewOfConnection
} from "./ConnectionRecords.js"
import { customerOfBody, customerListFilter } from "../organisation/CustomerRecords.js"
import { listQuery, optionalText, Pages } from "../Pages.js"
import { checkCustomerConnector } from "../organisation/CustomerLimits.js"

export const ConnectionList = listQuery({
  status: Schema.optional(Schema.Literal(...connectionStatuses)),
  customer_id: optionalText,
  user_id: optionalText,
  connector: optionalText
})
type ConnectionList = typeof ConnectionList.Type

const make = Effect.gen(function* () {
  const { change, read } = yield* Changes
  const pages = yield* Pages
  const connections = yield* Connections
  const origin = yield* Origin

  /** The link to the connect session, if one was opened. */
  const linkOf = (session: OpenedSession | null) =>
    session === null
      ? {}
      : {
          connectUrl: `${origin}/connect/${Redacted.value(session.token)}`,
          connectSessionId: session.id,
          expiresAt: session.expiresAt
        }

  /** The current record, also of a disconnected connection. */
  const readView = (context: CallContext, id: ConnectionId): Effect.Effect<ConnectionView, Failure> =>
    read(context, (tx) => Effect.map(findConnection(tx, context.caller, id), viewOfConnection))

  /** Sends a command to the actor of a connection that is not disconnected. */
  const sendCommand = <A>(
    context: CallContext,
    id: string,
    order: (target: ConnectionRequest, connection: Connection) => Effect.Effect<A, Failure>
  ): Effect.Effect<A, Failure> =>
    Effect.flatMap(
      read(context, (tx) => findLivingConnection(tx, context, id)),
      (connection) => {
        const { organisationId } = context.caller
        return order({ organisationId, connectionId: connection.id, by: initiatorOf(context) }, connection)
      }
    )

  /** Sends a command of which the actor writes the audit entry. */
  const executeCommand = <A>(
    context: CallContext,
    id: string,
    order: (target: ConnectionRequest, connection: Connection) => Effect.Effect<A, Failure>
  ): Effect.Effect<A, Failure> =>
    sendCommand(context, id, (target, connection) => runAuditedCommand(context, order(target, connection)))

  /** Like `executeCommand`, and returns the record after it. */
  const executeAndView = (
    context: CallContext,
    id: string,
    order: (target: ConnectionRequest, connection: Connection) => Effect.Effect<void, Failure>
  ): Effect.Effect<ConnectionView, Failure> =>
    executeCommand(context, id, (target, connection) =>
      Effect.zipRight(order(target, connection), readView(context, connection.id))
    )

  /** Newest first; disconnected ones only if the filter asks for that status. */
  const list = (context: CallContext, params: ConnectionList) =>
    read(context, function* (tx) {
      const query = {
        where: {
          ...(params.status === undefined ? livingConnections : { status: params.status }),
          ...(yield* customerListFilter(tx, context.caller, params.customer_id)),
          ...connectionListFilter(context.caller, params.connector)
        },
        filters: { userId: params.user_id },
        searchIn: ["label", "connector", "accountLabel"] as const
      }
      return yield* pages.views(tx.connections, params, query, viewOfConnection)
    })

  const create = Effect.fnUntraced(function* (context: CallContext, input: CreateConnection) {
    yield* refuseWith(outOfScope(context.caller, "connector", input.connector))
    const customerId = yield* read(context, (tx) => customerOfBody(tx, context.caller, input.customerId))
    context.customerId = customerId
    yield* read(context, (tx) => checkCustomerConnector(tx, customerId, input.connector))
    const opened = connections.connect({
      organisationId: context.caller.organisationId,
      customerId,
      connector: input.connector,
      userId: input.userId ?? null,
      authMethod: input.authMethod ?? null,
      authProvider: input.authProvider ?? null,
      label: input.label ?? null,
      config: input.config ?? {},
      tags: input.tags ?? {},
      metadata: input.metadata ?? {},
      credential: input.credential === undefined ? null : redactedCredential(input.credential),
      redirectUrl: input.redirectUrl ?? null,
      by: initiatorOf(context)
    })
    return yield* runAuditedCommand(
      context,
      Effect.flatMap(opened, ({ id, session }) =>
        Effect.map(readView(context, id), (view) => ({ ...view, ...linkOf(session) }))
      )
    )
  })

  const get = (context: CallContext, id: string) =>
    read(context, (tx) => Effect.map(findLivingConnection(tx, context, id), viewOfConnection))

  /** The actor audits a refresh as the service's own; the pipeline's entry names the caller. `isForced`: also if it is not due. */
  const refresh = (context: CallContext, id: string, isForced: boolean) =>
    sendCommand(context, id, (target, { id: known }) =>
      Effect.zipRight(isForced ? connections.refresh(target) : connections.refreshDue(target), readView(context, known))
    )

  const update = (context: CallContext, id: string, input: UpdateConnection) =>
    executeAndView(context, id, (target, connection) =>
      Effect.gen(function* () {
        yield* checkVersion(context, input.version, connection.version)
        const { isDefault = false, label, tags } = yield* pickConnectionChanges(connection, input)
        const version = input.version ?? null
        yield* connections.edit({ ...target, label: label ?? null, tags: tags ?? null, isDefault, version })
      })
    )

  /** Returns the disconnected record. `revokes`: whether the token is revoked at the provider. */
  const disconnect = (context: CallContext, id: string, revokes = true) =>
    executeAndView(context, id, (target) =>
      connections.disconnect({ ...target, version: null, ...(revokes ? {} : { revokes }) })
    )

  /** A credential that does not work is a result, not a failure. */
  const test = (context: CallContext, id: string) =>
    executeCommand(context, id, (target) =>
      Effect.flatMap(connections.test(target), (tested) =>
        Effect.map(readView(context, target.connectionId), (connection) => ({ ...tested, connection }))
      )
    )

  /** Fails if the request names another connector or customer than the connection has. */
  const checkNamed = Effect.fnUntraced(function* (
    context: CallContext,
    { connector, customerId }: Connection,
    named: ReconnectConnection
  ): Effect.fn.Return<void, Failure> {
    if (named.connector !== undefined && named.connector !== connector)
      return yield* invalid("connector", "INVALID_VALUE", `is not ${connector}, to which the connection belongs`)
    if (named.customerId === undefined) return
    const owner = yield* read(context, (tx) => customerOfBody(tx, context.caller, named.customerId ?? ""))
    if (owner !== customerId)
      return yield* invalid("customerId", "INVALID_VALUE", "is not the customer to whom the connection belongs")
  })

  /** Stores the credential of the body; without one, opens a session in which a person enters it. */
  const reconnect = (context: CallContext, id: string, input: ReconnectConnection) => {
    const { authMethod = null, config = null, credential, redirectUrl = null } = input
    return executeCommand(context, id, (target, connection): Effect.Effect<OpenedConnection, Failure> => {
      const done =
        credential === undefined
          ? Effect.map(connections.reconnect({ ...target, redirectUrl, authMethod, config }), (session) =>
              linkOf(session)
            )
          : Effect.as(
              connections.storeCredential({
                ...target,
                authMethod,
                credential: redactedCredential(credential),
                config,
                skipTest: false
              }),
              {}
            )
      return Effect.flatMap(Effect.zipRight(checkNamed(context, connection, input), done), (link) =>
        Effect.map(readView(context, target.connectionId), (view) => ({ ...view, ...link }))
      )
    })
  }

  /** The credential in the clear. Its audit entry is committed first. */
  const reveal = Effect.fnUntraced(function* (context: CallContext, named: string) {
    const connection = yield* read(context, (tx) => findLivingConnection(tx, context, named))
    const { authMethod, customerId, id, label } = connection
    const { organisationId } = context.caller
    const secrets = yield* connections.reveal({ organisationId, connectionId: id, by: initiatorOf(context) })
    yield* change(context, () => Effect.succeed({ value: null, resource: { id, name: label, customerId } }))
    return { id, authMethod, credential: plainCredential(secrets) }
  })

  return {
    list,
    create,
    get,
    update,
    disconnect,
    test,
    reconnect,
    refresh,
    enable: (context: CallContext, id: string) => executeAndView(context, id, connections.enable),
    disable: (context: CallContext, id: string) => executeAndView(context, id, connections.disable),
    reveal
  }
})

/** Each use case fails with `NotFound` if the connection does not exist, is disconnected, or is not reached by the caller. */
export class CustomerConnections extends Effect.Service<CustomerConnections>()("svc/CustomerConnections", {
  effect: make
}) {}
