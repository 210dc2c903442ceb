/** Finds and shows connections for use cases. A key's scope applies to their id and to their connector. */
import { Effect, Redacted, Schema } from "effect"
import { Connection, liveStatuses, type UpdateConnection } from "../../../domain/connection/Connection.js"
import { type Failure, type Forbidden, invalid, NotFound } from "../../../domain/Failure.js"
import { ConnectionId } from "../../../domain/Ids.js"
import type { Initiator, CredentialSecrets } from "../../ports/connection/Connections.js"
import type { Tx, Where } from "../../ports/Records.js"
import type { CallContext } from "../CallContext.js"
import { outOfScope, type Principal, scopedIds } from "../Caller.js"
import { actorOf } from "../../../domain/access/Caller.js"
import { pickChanges } from "../ReadOnly.js"
import { findReached } from "../ReachedRecord.js"

const notFound = () => new NotFound({ what: "connection" })

export const connectionScopeRefusal = (
  caller: Principal,
  { connector, id }: Pick<Connection, "connector" | "id">
): Forbidden | undefined => outOfScope(caller, "connection", id) ?? outOfScope(caller, "connector", connector)

/** The connection with this id, also a disconnected one, if the caller reaches its customer and the key's scope allows it. */
export const findConnection = (tx: Tx, caller: Principal, id: string): Effect.Effect<Connection, Failure> =>
  Effect.tap(
    // Unchecked text from the request: an id of another form matches no row.
    findReached(tx.connections, caller, "connection", { id: id as ConnectionId }),
    (connection) => connectionScopeRefusal(caller, connection) ?? Effect.void
  )

/** Like `findConnection`, but `NotFound` for a disconnected one. Sets the context's customer for the audit entry. */
export const findLivingConnection = (tx: Tx, context: CallContext, id: string): Effect.Effect<Connection, Failure> =>
  findConnection(tx, context.caller, id).pipe(
    Effect.filterOrFail(({ status }) => status !== "disconnected", notFound),
    Effect.tap(({ customerId }) =>
      Effect.sync(() => {
        context.customerId = customerId
      })
    )
  )

/** The conditions of a list: the key's scope, and the connector that the request filters by. */
export const connectionListFilter = (
  caller: Principal,
  connector: string | undefined
): Pick<Where<Connection>, "id" | "connector"> => {
  const ids = scopedIds(caller, "connection")
  const connectors = scopedIds(caller, "connector")
  return {
    // Unchecked text from the request: an id of another form matches no row.
    ...(ids === undefined ? {} : { id: ids.map((id) => id as ConnectionId) }),
    ...(connectors === undefined
      ? connector === undefined
        ? {}
        : { connector }
      : { connector: connectors.filter((one) => connector === undefined || one === connector) })
  }
}

export const livingConnections: Pick<Where<Connection>, "status"> = { status: liveStatuses }

/** The connection as the API shows it. */
export const viewOfConnection = (connection: Connection) =>
  Connection.show(connection, { scope: connection.userId === null ? "customer" : "user" })
export type ConnectionView = ReturnType<typeof viewOfConnection>

/** Members that the service changes without a new version of the connection. */
const volatileMembers = ["expiresAt", "health", "lastRefreshAt", "lastUsedAt", "refreshFailedAt", "scopes", "updatedAt"]

/** The members to change; read-only members may be sent as they were read. */
export const pickConnectionChanges = Effect.fnUntraced(function* (connection: Connection, input: UpdateConnection) {
  const changes = yield* pickChanges(Connection.Update, input, viewOfConnection(connection), volatileMembers)
  if (changes.isDefault === false && connection.isDefault)
    return yield* invalid(
      "isDefault",
      "INVALID_VALUE",
      "can only be true: another connection becomes the default in its place"
    )
  return changes
})

/** A connection, with the link for the person who must connect it, if one must; `expiresAt` is then the link's. */
export interface OpenedConnection extends ConnectionView {
  readonly connectUrl?: string
  readonly connectSessionId?: string
}

/** The stored credential in the clear, by the names of its fields. */
export const RevealedCredential = Schema.Struct({
  id: ConnectionId,
  authMethod: Schema.String,
  credential: Schema.Record({ key: Schema.String, value: Schema.String })
}).annotations({ identifier: "RevealedCredential" })
export type RevealedCredential = typeof RevealedCredential.Type

/** The initiator of a command, for the actor's audit entry. */
export const initiatorOf = ({ caller }: CallContext): Initiator => ({
  actor: actorOf(caller),
  requestId: caller.requestId
})

export const redactedCredential = (input: { readonly [name: string]: string | number }): CredentialSecrets =>
  Object.fromEntries(Object.entries(input).map(([name, value]) => [name, Redacted.make(String(value))]))

export const plainCredential = (secrets: CredentialSecrets): { readonly [name: string]: string } =>
  Object.fromEntries(Object.entries(secrets).map(([name, value]) => [name, String(Redacted.value(value))]))
