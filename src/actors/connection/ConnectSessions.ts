/**
 * Connect sessions: a person enters a credential, or signs in at the provider, which sends the browser back with the
 * session's `state`, once. Contract: connection states.
 */
import { Clock, Context, Duration, Effect, Layer, Redacted } from "effect"
import type { ConnectionId, OrganisationId } from "../../domain/Ids.js"
import type { JsonObject } from "../../domain/Json.js"
import type { Initiator, CredentialSecrets } from "../ports/connection/Connections.js"
import { ConnectionStore, type ConnectSession } from "../ports/connection/ConnectionStore.js"
import { Connectors } from "../ports/connection/Connectors.js"
import { Digests } from "../ports/Digests.js"
import { Identifiers } from "../ports/Identifiers.js"
import { Origin } from "../ports/Origin.js"
import { CredentialBuilder } from "./credential/CredentialBuilder.js"
import type { ConnectionOwner } from "./ConnectionOwner.js"
import { ConnectionOwners } from "./ConnectionOwners.js"
import type { CommandRefusal } from "./Protocol.js"
import { TokenRefresh } from "./credential/TokenRefresh.js"
import { connectSessionLifetime } from "../../domain/Limits.js"
import {
  activateConnection,
  type ConnectStepOutcome,
  readSession,
  type SessionContext,
  tokenLength
} from "./SessionDetails.js"
import { authorizationUrl } from "./credential/AuthorizationRedirect.js"
import { type AuthorizationAnswer, completeSession } from "./credential/AuthorizationCallback.js"

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

/** The fields and settings that a person entered. */
export interface SessionInput {
  readonly organisationId: string
  readonly sessionId: string
  readonly fields: CredentialSecrets
  readonly config: JsonObject
}

/** Makes a session, which the caller must store, and its link. */
const makeSession = Effect.fnUntraced(function* ({ identifiers, digests }: SessionContext, options: SessionOptions) {
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
  context: SessionContext,
  self: ConnectionOwner,
  request: SessionInput
): Effect.fn.Return<ConnectStepOutcome, CommandRefusal> {
  const found = yield* readSession(context, self, request.organisationId, request.sessionId)
  const { definition, method } = found
  const config = { ...found.target.config, ...request.config }
  if (method.type === "oauth2" && method.grant === "authorization_code") {
    yield* context.checkConfig(definition, found.target.organisationId, config)
    return { _tag: "Redirect", url: yield* authorizationUrl(context, { ...found, method }, config) }
  }
  return yield* activateConnection(
    context,
    self,
    found,
    yield* context.buildFromInput(definition, method, { ...found.target, config }, request.fields)
  )
})

const make = Effect.gen(function* () {
  const origin = yield* Origin
  const owners = yield* ConnectionOwners
  const store = yield* ConnectionStore
  const connectors = yield* Connectors
  const identifiers = yield* Identifiers
  const digests = yield* Digests
  const { checkConfig, buildFromInput, buildFromGrant } = yield* CredentialBuilder
  const { clientOf } = yield* TokenRefresh

  const context: SessionContext = {
    origin,
    owners,
    store,
    connectors,
    identifiers,
    digests,
    checkConfig,
    buildFromInput,
    buildFromGrant,
    clientOf
  }

  return {
    makeSession: (options: SessionOptions) => makeSession(context, options),
    submit: (self: ConnectionOwner, request: SessionInput) => submit(context, self, request),
    complete: (self: ConnectionOwner, request: AuthorizationAnswer) => completeSession(context, self, request)
  }
})

/** One per node. */
export class ConnectSessions extends Context.Tag("svc/connection/ConnectSessions")<
  ConnectSessions,
  Effect.Effect.Success<typeof make>
>() {}

export const layer = Layer.effect(ConnectSessions, make)
