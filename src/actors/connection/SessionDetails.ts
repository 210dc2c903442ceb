/** An open connect session with what it is about, and how it completes. */
import { Clock, Duration, Effect, Option } from "effect"
import { type ValidationFailed, invalid } from "../../domain/Failure.js"
import type { Connection } from "../../domain/connection/Connection.js"
import type { AuthMethod } from "../../domain/connector/AuthMethod.js"
import type { ConnectorDefinition } from "../../domain/connector/Definition.js"
import type { ConnectSessionId } from "../../domain/Ids.js"
import { ConnectionStore } from "../ports/connection/ConnectionStore.js"
import type { AuthorizingSession } from "../../domain/connection/ConnectSession.js"
import type { CredentialCandidate, CredentialTarget } from "./credential/CredentialBuilder.js"
import { type ConnectionOwner, orBusy, system } from "./ConnectionOwner.js"
import { ConnectionOwners } from "./ConnectionOwners.js"
import { insist } from "./Insistence.js"

/** Refuses a session that has ended, was redeemed or belongs to another connection. */
export const sessionEnded = (): ValidationFailed => invalid("session", "SESSION_ENDED", "has ended: ask for a new link")

/** Associated data of a sealed PKCE verifier: it can be opened for its own session only. */
export const verifierPlace = (id: ConnectSessionId) => ({ table: "connect_sessions", column: "verifier", row: id })

/** Characters of a link's token and of `state`: 256 bits. */
export const tokenLength = 43

/** How long the credential of a session is kept for a database that does not answer: its person waits. */
const activationPatience = Duration.seconds(15)

/** What the person of a session does next. */
export type ConnectStepOutcome = { readonly _tag: "Connected" } | { readonly _tag: "Redirect"; readonly url: string }

/** An open session with what it is about. */
export interface SessionDetails {
  readonly session: AuthorizingSession
  readonly connection: Connection
  readonly definition: ConnectorDefinition
  readonly method: AuthMethod
  readonly target: CredentialTarget
}

/** Reads and completes connect sessions. */
export const makeSessionDetails = Effect.gen(function* () {
  const owners = yield* ConnectionOwners
  const store = yield* ConnectionStore

  /** The open session of this connection, with its connector, method and target. */
  const readSession = Effect.fnUntraced(function* (self: ConnectionOwner, organisation: string, sessionId: string) {
    const { connection } = yield* owners.read(self, organisation)
    // From a request, unchecked: an id of another form matches no row.
    const found = yield* orBusy(store.session({ id: sessionId as ConnectSessionId }))
    const now = yield* Clock.currentTimeMillis
    if (Option.isNone(found) || found.value.connectionId !== self.id) return yield* sessionEnded()
    const session = found.value
    if (session.status !== "open" || Date.parse(session.expiresAt) <= now || connection.status === "disconnected")
      return yield* sessionEnded()
    const definition = yield* owners.definitionOf(connection.organisationId, connection.connector, undefined)
    const method = yield* owners.methodOf(definition, session.authMethod)
    const { connector, organisationId } = connection
    const target = { organisationId, connector, authProvider: session.authProvider, config: session.config }
    return { session, connection, definition, method, target }
  })

  /** Stores the credential and completes the session, in one change of the connection. */
  const activateConnection = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    { connection, session }: SessionDetails,
    { facts, value }: CredentialCandidate
  ) {
    const completed = owners.change(
      self,
      connection.organisationId,
      { _tag: "Activate", facts },
      {
        credential: { value, rotated: true },
        session: { id: session.id, status: "completed", error: null },
        audit: {
          action: session.reconnects ? "connection.reconnect" : "connection.connect",
          by: {
            ...system,
            actor: { ...system.actor, id: session.id, name: "connect session", onBehalfOf: session.createdBy }
          }
        }
      }
    )
    // The code that yielded the credential serves once.
    yield* insist(completed, { patience: activationPatience })
    return { _tag: "Connected" } as const
  })

  return { readSession, activateConnection }
})
