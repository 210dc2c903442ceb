/** Finds and shows stored credentials for use cases, each with its connection. */
import { Effect, Option } from "effect"
import type { Connection, CredentialRecord } from "../../../domain/connection/Connection.js"
import type { StoreCredential } from "../../../domain/connection/Requests.js"
import { NotFound, refuseWith } from "../../../domain/Failure.js"
import type { CustomerId } from "../../../domain/Ids.js"
import type { Tx, Where } from "../../ports/Records.js"
import type { Principal } from "../Caller.js"
import { connectionScopeRefusal, livingConnections } from "./ConnectionRecords.js"

/** A customer has one or two connections for each connector. */
export const maxConnections = 1_000

export const viewOfCredential = (credential: CredentialRecord, connection: Connection) => ({
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

export interface CredentialView extends ReturnType<typeof viewOfCredential> {
  /** The values in the clear, if the request asked for them. */
  readonly credential?: { readonly [name: string]: string }
}

const notFound = () => new NotFound({ what: "credential" })

/** The credential of a connection of this customer that is not disconnected and in the key's scope. */
export const findCredential = (tx: Tx, caller: Principal, customerId: CustomerId, where: Where<CredentialRecord>) =>
  Effect.gen(function* () {
    const credential = Option.getOrUndefined(yield* tx.credentials.find(where))
    if (credential === undefined) return yield* notFound()
    const found = yield* tx.connections.find({ id: credential.connectionId, customerId, ...livingConnections })
    if (Option.isNone(found)) return yield* notFound()
    yield* refuseWith(connectionScopeRefusal(caller, found.value))
    return { credential, connection: found.value }
  })

/** The connection whose credential a new one replaces: with the same connector, method and label, if there is one. */
export const findReplaced = (tx: Tx, customerId: CustomerId, { authMethod, connector, label }: StoreCredential) =>
  Effect.gen(function* () {
    const nameMember = label === undefined ? { isDefault: true } : { label }
    const alike = yield* tx.connections.list({
      where: { customerId, connector, authMethod, userId: null, ...livingConnections, ...nameMember },
      limit: maxConnections
    })
    const [newest] = yield* tx.credentials.list({ where: { connectionId: alike.map(({ id }) => id) }, limit: 1 })
    return alike.find(({ id }) => id === newest?.connectionId)
  })
