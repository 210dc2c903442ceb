/**
 * Connect sessions: a person enters a credential, or signs in at the provider, which sends the browser back with the
 * session's `state`, once. Contract: connection states.
 */
import { Clock, Duration, Effect, Redacted } from "effect"
import type { ConnectionId, OrganisationId } from "../../domain/Ids.js"
import type { JsonObject } from "../../domain/Json.js"
import type { Initiator } from "../ports/connection/Connections.js"
import type { ConnectSession } from "../../domain/connection/ConnectSession.js"
import { Digests } from "../ports/Digests.js"
import { Identifiers } from "../ports/Identifiers.js"
import { CredentialBuilder } from "./credential/CredentialBuilder.js"
import type { ConnectionOwner } from "./ConnectionOwner.js"
import type { CommandRefusal, PayloadOf } from "./Protocol.js"
import { connectSessionLifetime } from "../../domain/Limits.js"
import { type ConnectStepOutcome, makeSessionDetails, tokenLength } from "./SessionDetails.js"
import { makeAuthorizationRedirect } from "./credential/AuthorizationRedirect.js"
import { makeAuthorizationCallback } from "./credential/AuthorizationCallback.js"

/** The connection that a new session is for, and how it asks for the credential. */
export interface SessionOptions {
  readonly organisationId: OrganisationId
  readonly connectionId: ConnectionId
  readonly authMethod: string
  readonly authProvider: string | null
  readonly config: JsonObject
  readonly redirectUrl: string | null
  readonly reconnects: boolean
  readonly by: Initiator
}

const make = Effect.gen(function* () {
  const identifiers = yield* Identifiers
  const digests = yield* Digests
  const { buildFromInput, checkConfig } = yield* CredentialBuilder
  const { activateConnection, readSession } = yield* makeSessionDetails
  const { authorizationUrl } = yield* makeAuthorizationRedirect
  const { completeSession } = yield* makeAuthorizationCallback

  /** Makes a session, which the caller must store, and its link. */
  const makeSession = Effect.fnUntraced(function* (options: SessionOptions) {
    const { by, ...rest } = options
    const token = identifiers.token(tokenLength)
    const session: ConnectSession = {
      ...rest,
      id: identifiers.next("cs"),
      tokenHash: digests.sha256Hex(token),
      status: "open",
      error: null,
      createdBy: by.actor.id,
      expiresAt: new Date((yield* Clock.currentTimeMillis) + Duration.toMillis(connectSessionLifetime)).toISOString()
    }
    return { session, link: { id: session.id, token: Redacted.make(token), expiresAt: session.expiresAt } }
  })

  const submit = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    request: PayloadOf<"Submit">
  ): Effect.fn.Return<ConnectStepOutcome, CommandRefusal> {
    const found = yield* readSession(self, request.organisationId, request.sessionId)
    const { definition, method } = found
    const config = { ...found.target.config, ...request.config }
    if (method.type === "oauth2" && method.grant === "authorization_code") {
      yield* checkConfig(definition, found.target.organisationId, config)
      return { _tag: "Redirect", url: yield* authorizationUrl({ ...found, method }, config) }
    }
    return yield* activateConnection(
      self,
      found,
      yield* buildFromInput(definition, method, { ...found.target, config }, request.fields)
    )
  })

  return { makeSession, submit, complete: completeSession }
})

/** One per node. */
export class ConnectSessions extends Effect.Service<ConnectSessions>()("svc/connection/ConnectSessions", {
  effect: make
}) {}
