/**
 * Use cases of an embed session's connections: of those of its customer, the ones of its own person and the ones without a
 * person. Each looks the connection up among these, then runs the use case that keys have. Contract: embed.
 */
import { Clock, Effect, Option, Schema } from "effect"
import { connectionStatuses } from "../../../domain/connection/Connection.js"
import { connectProgress } from "../../../domain/connection/ConnectSession.js"
import {
  type ConnectAccount,
  embeddedConnection,
  type RenameAccount
} from "../../../domain/connection/EmbeddedConnection.js"
import type { ReconnectAccount } from "../../../domain/connection/Requests.js"
import { actorOf } from "../../../domain/access/Caller.js"
import { type Failure, Forbidden, NotFound } from "../../../domain/Failure.js"
import type { ConnectSessionId } from "../../../domain/Ids.js"
import type { CallContext } from "../CallContext.js"
import { Changes } from "../Changes.js"
import {
  connectionListFilter,
  findConnection,
  findLivingConnection,
  livingConnections,
  type OpenedConnection,
  viewOfConnection
} from "../connection/ConnectionRecords.js"
import { CustomerConnections } from "../connection/CustomerConnections.js"
import { listQuery, optionalText, Pages } from "../Pages.js"
import { embeddedOf, widgetOfSession } from "./SessionWidget.js"

export const EmbeddedConnectionList = listQuery({
  status: Schema.optional(Schema.Literal(...connectionStatuses)),
  connector: optionalText
})
type EmbeddedConnectionList = typeof EmbeddedConnectionList.Type

const openedView = ({ connectSessionId, connectUrl, expiresAt, ...view }: OpenedConnection) => ({
  ...embeddedConnection({ ...view, expiresAt }),
  ...(connectUrl === undefined || connectSessionId === undefined ? {} : { connectUrl, connectSessionId, expiresAt })
})

const make = Effect.gen(function* () {
  const { read } = yield* Changes
  const pages = yield* Pages
  const connections = yield* CustomerConnections

  /** Newest first; disconnected ones only if the filter asks for that status. */
  const list = Effect.fnUntraced(function* (context: CallContext, params: EmbeddedConnectionList) {
    const { customerId, userId } = yield* embeddedOf(context.caller)
    return yield* read(context, (tx) =>
      pages.views(
        tx.connections,
        params,
        {
          where: {
            ...(params.status === undefined ? livingConnections : { status: params.status }),
            customerId,
            userId: userId === null ? null : [null, userId],
            ...connectionListFilter(context.caller, params.connector)
          },
          searchIn: ["label", "connector", "accountLabel"] as const
        },
        (one) => embeddedConnection(viewOfConnection(one))
      )
    )
  })

  /** Does something with a connection of the session; one of another person is as good as absent. */
  const withOwn = <A>(context: CallContext, id: string, use: Effect.Effect<A, Failure>): Effect.Effect<A, Failure> =>
    Effect.gen(function* () {
      const { userId } = yield* embeddedOf(context.caller)
      const found = yield* read(context, (tx) => findLivingConnection(tx, context, id))
      if (found.userId !== null && found.userId !== userId) return yield* new NotFound({ what: "connection" })
      return yield* use
    })

  const get = (context: CallContext, id: string) =>
    withOwn(context, id, Effect.map(connections.get(context, id), embeddedConnection))

  const create = Effect.fnUntraced(function* (context: CallContext, input: ConnectAccount) {
    const { customerId, userId } = yield* embeddedOf(context.caller)
    return openedView(yield* connections.create(context, { ...input, customerId, userId }))
  })

  const rename = (context: CallContext, id: string, input: RenameAccount) =>
    withOwn(context, id, Effect.map(connections.update(context, id, input), embeddedConnection))

  const reconnect = (context: CallContext, id: string, input: ReconnectAccount) =>
    withOwn(context, id, Effect.map(connections.reconnect(context, id, input), openedView))

  const disconnect = (context: CallContext, id: string) =>
    withOwn(
      context,
      id,
      Effect.gen(function* () {
        const widget = yield* read(context, (tx) => widgetOfSession(tx, context.caller))
        if (widget?.features.disconnect === false)
          return yield* new Forbidden({
            code: "FORBIDDEN",
            message: "accounts are not disconnected here: the widget of this session does not offer it"
          })
        return embeddedConnection(yield* connections.disconnect(context, id))
      })
    )

  /**
   * How far a connect session has come. For sessions those that the same person of the customer opened, also in an earlier
   * session: a page that got a new token still waits for it.
   */
  const progress = (context: CallContext, id: string) =>
    read(context, function* (tx) {
      const { caller } = context
      const notFound = new NotFound({ what: "connect session" })
      // Unchecked text from the request: an id of another form matches no row.
      const found = yield* tx.connectSessionStates.find({ id: id as ConnectSessionId })
      const session = Option.getOrUndefined(found)
      if (session === undefined) return yield* notFound
      const connection = yield* Effect.catchTag(
        findConnection(tx, caller, session.connectionId),
        "NotFound",
        () => notFound
      )
      context.customerId = connection.customerId
      if (caller.embedded !== null && session.createdBy !== actorOf(caller).id) return yield* notFound
      return connectProgress(session, yield* Clock.currentTimeMillis)
    })

  return { list, get, create, rename, reconnect, disconnect, progress }
})

export class EmbeddedConnections extends Effect.Service<EmbeddedConnections>()("svc/EmbeddedConnections", {
  effect: make
}) {}
