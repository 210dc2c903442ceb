/**
 * Connect sessions: a person enters a credential, or signs in at the provider, which sends the browser back with the
 * session's `state`, once. Contract: connection states.
 */
import { Clock, Context, Duration, Effect, Either, Encoding, Layer, Option, Redacted } from "effect"
import {
  authorizationRequestOf,
  callbackPath,
  commonCallbackPath,
  isSameAuthorization,
  usesCommonCallback
} from "../../domain/connection/Callback.js"
import type { Connection } from "../../domain/connection/Connection.js"
import { configuredUrl } from "../../domain/connector/BaseUrl.js"
import type { AuthMethod, OAuth2Method } from "../../domain/connector/AuthMethod.js"
import type { ConnectorDefinition } from "../../domain/connector/Definition.js"
import { builtInOf } from "../../domain/connectors/index.js"
import type { ConnectionId, ConnectSessionId, OrganisationId } from "../../domain/Ids.js"
import type { JsonObject } from "../../domain/Json.js"
import type { Initiator, CredentialSecrets } from "../ports/Connections.js"
import { type AuthorizingSession, ConnectionStore, type ConnectSession } from "../ports/ConnectionStore.js"
import { Connectors } from "../ports/Connectors.js"
import { Digests } from "../ports/Digests.js"
import { Identifiers } from "../ports/Identifiers.js"
import { Origin } from "../ports/Origin.js"
import { type CredentialCandidate, CredentialBuilder, type CredentialTarget } from "./CredentialBuilder.js"
import { busy, type ConnectionOwner, ConnectionOwners, failWith, orBusy, system } from "./ConnectionOwner.js"
import type { CommandRefusal } from "./Protocol.js"
import { TokenRefresh } from "./TokenRefresh.js"
import { parseUrl } from "../../domain/Url.js"
import { connectSessionLifetime } from "../../domain/Limits.js"

/** Characters of a link's token and of `state`: 256 bits. */
const tokenLength = 43

export type ConnectStepOutcome = { readonly _tag: "Connected" } | { readonly _tag: "Redirect"; readonly url: string }

const sessionEnded: CommandRefusal = {
  _tag: "Invalid",
  path: "session",
  code: "SESSION_ENDED",
  message: "has ended: ask for a new link"
}

const verifierPlace = (id: ConnectSessionId) => ({ table: "connect_sessions", column: "verifier", row: id })

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

/** The parameters with which the provider sent the browser back. */
export interface AuthorizationAnswer {
  readonly organisationId: string
  readonly sessionId: string
  readonly params: { readonly [name: string]: Redacted.Redacted }
}

/** An open session with what it is about. */
interface SessionDetails {
  readonly session: AuthorizingSession
  readonly connection: Connection
  readonly definition: ConnectorDefinition
  readonly method: AuthMethod
  readonly target: CredentialTarget
}

interface SessionContext {
  readonly origin: Origin["Type"]
  readonly owners: ConnectionOwners["Type"]
  readonly store: ConnectionStore["Type"]
  readonly connectors: Connectors["Type"]
  readonly identifiers: Identifiers["Type"]
  readonly digests: Digests["Type"]
  readonly checkConfig: CredentialBuilder["Type"]["checkConfig"]
  readonly buildFromInput: CredentialBuilder["Type"]["buildFromInput"]
  readonly buildFromGrant: CredentialBuilder["Type"]["buildFromGrant"]
  readonly clientOf: TokenRefresh["Type"]["clientOf"]
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

/** The open session of this connection, with its connector, method and target. */
const readSession = Effect.fnUntraced(function* (
  { owners, store }: SessionContext,
  self: ConnectionOwner,
  organisation: string,
  sessionId: string
): Effect.fn.Return<SessionDetails, CommandRefusal> {
  const { connection } = yield* owners.read(self, organisation)
  // From a request, unchecked: an id of another form matches no row.
  const found = yield* orBusy(store.session({ id: sessionId as ConnectSessionId }))
  const now = yield* Clock.currentTimeMillis
  if (Option.isNone(found) || found.value.connectionId !== self.id) return yield* failWith(sessionEnded)
  const session = found.value
  if (session.status !== "open" || Date.parse(session.expiresAt) <= now || connection.status === "disconnected")
    return yield* failWith(sessionEnded)
  const definition = yield* owners.definitionOf(connection.organisationId, connection.connector, undefined)
  const method = yield* owners.methodOf(definition, session.authMethod)
  const { connector, organisationId } = connection
  const target = { organisationId, connector, authProvider: session.authProvider, config: session.config }
  return { session, connection, definition, method, target }
})

const activate = Effect.fnUntraced(function* (
  { owners }: SessionContext,
  self: ConnectionOwner,
  { connection, session }: SessionDetails,
  { facts, value }: CredentialCandidate
) {
  yield* owners.change(
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
  return { _tag: "Connected" } as const
})

const challengeOf = ({ digests }: SessionContext, verifier: string): string =>
  Encoding.encodeBase64Url(Either.getOrThrow(Encoding.decodeHex(digests.sha256Hex(verifier))))

const redirectUriOf = (
  { digests, origin }: SessionContext,
  { connection, definition, session, target }: SessionDetails
): string => {
  const isCommon = session.commonCallback && usesCommonCallback(connection, definition, builtInOf(definition.slug))
  const path = isCommon ? commonCallbackPath : callbackPath(digests.keyHash, target.organisationId, definition.slug)
  return `${origin}${path}`
}

const authorizationUrl = Effect.fnUntraced(function* (
  context: SessionContext,
  found: SessionDetails & { readonly method: OAuth2Method },
  config: JsonObject
): Effect.fn.Return<string, CommandRefusal> {
  const { definition, method, session, target } = found
  const { clientId } = yield* context.clientOf(target, method, {})
  const redirectUri = redirectUriOf(context, found)
  const client = yield* orBusy(
    context.connectors.clientOf(target.organisationId, definition.slug, method.id, target.authProvider)
  )
  const clientScopes = Option.match(client, { onNone: () => [], onSome: ({ scopes }) => scopes })
  const base = configuredUrl(method.authorizationUrl ?? "", config)
  if (Either.isLeft(base))
    return yield* failWith({
      _tag: "Invalid",
      path: base.left.path,
      code: "INVALID_VALUE",
      message: base.left.message
    })
  const state = context.identifiers.token(tokenLength)
  const verifier = method.pkce ? context.identifiers.token(64) : null
  const doors = yield* context.owners.vaultOf(target.organisationId)
  yield* orBusy(
    context.store.authorizeSession(session.id, {
      stateHash: context.digests.sha256Hex(state),
      verifier: verifier === null ? null : doors.seal(verifierPlace(session.id), verifier),
      config,
      asked: authorizationRequestOf(method, clientId, redirectUri)
    })
  )
  const url = new URL(base.right)
  const scopes = clientScopes.length > 0 ? clientScopes : method.scopes
  const params = {
    ...method.authorizationParams,
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    ...(scopes.length === 0 ? {} : { scope: scopes.join(method.scopeSeparator) }),
    state,
    ...(verifier === null ? {} : { code_challenge: challengeOf(context, verifier), code_challenge_method: "S256" })
  }
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value)
  return url.href
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
  return yield* activate(
    context,
    self,
    found,
    yield* context.buildFromInput(definition, method, { ...found.target, config }, request.fields)
  )
})

/** Ends the session with a refusal. A pending connection has failed; one that existed before stays unchanged. */
const decline = Effect.fnUntraced(function* (
  { owners, store }: SessionContext,
  self: ConnectionOwner,
  { connection, session }: SessionDetails,
  message: string
): Effect.fn.Return<never, CommandRefusal> {
  yield* connection.status === "pending"
    ? owners.change(
        self,
        connection.organisationId,
        { _tag: "Refuse", reason: message },
        { session: { id: session.id, status: "failed", error: message } }
      )
    : orBusy(store.failSession(session.id, message))
  return yield* failWith({ _tag: "CredentialRefused", message })
})

/** Whether `iss` names another issuer than the provider's: a mix-up attack (RFC 9207). */
const isForeignIssuer = (method: OAuth2Method, config: JsonObject, iss: string | undefined): boolean => {
  if (iss === undefined) return false
  if (method.issuer !== undefined) {
    const expected = Either.getOrElse(configuredUrl(method.issuer, config), () => method.issuer)
    return iss !== expected && iss !== method.issuer
  }
  const origins = [method.authorizationUrl ?? "", method.tokenUrl].flatMap((url) =>
    Either.match(configuredUrl(url, config), { onLeft: () => [], onRight: (text) => [new URL(text).origin] })
  )
  return !origins.includes(parseUrl(iss)?.origin ?? "")
}

const complete = Effect.fnUntraced(function* (
  context: SessionContext,
  self: ConnectionOwner,
  request: AuthorizationAnswer
): Effect.fn.Return<ConnectStepOutcome, CommandRefusal> {
  const found = yield* readSession(context, self, request.organisationId, request.sessionId)
  const { method, session, target } = found
  if (method.type !== "oauth2") return yield* failWith(sessionEnded)
  const param = (name: string) => {
    const value = request.params[name]
    return value === undefined ? undefined : Redacted.value(value)
  }
  if (!(yield* orBusy(context.store.redeemSession(session.id)))) return yield* failWith(sessionEnded)
  const error = param("error")
  if (error !== undefined)
    return yield* decline(
      context,
      self,
      found,
      `the provider said ${error}: ${param("error_description") ?? "no more"}`.slice(0, 300)
    )
  if (isForeignIssuer(method, target.config, param("iss")))
    return yield* decline(context, self, found, "the answer came from another issuer than the one that was asked")
  const { clientId } = yield* context.clientOf(target, method, {})
  // Sessions of releases that did not record `asked` used the common callback.
  const asked = session.asked ?? {
    ...authorizationRequestOf(method, clientId, `${context.origin}${commonCallbackPath}`),
    pkce: session.verifier !== null
  }
  if (!isSameAuthorization(asked, method, clientId))
    return yield* decline(context, self, found, "the connector or its client was changed meanwhile: begin again")
  const code = request.params["code"]
  if (code === undefined) return yield* decline(context, self, found, "the provider sent no code")
  const doors = yield* context.owners.vaultOf(target.organisationId)
  const { verifier: sealed } = session
  const verifier =
    sealed === null
      ? null
      : yield* Effect.try({
          try: () => Redacted.make(Buffer.from(doors.open(verifierPlace(session.id), sealed)).toString("utf8")),
          catch: () => busy("the session does not open", 5)
        })
  const callbackConfig = Object.fromEntries(
    Object.entries(method.callbackConfig).flatMap(([member, name]) => {
      const value = param(name)
      return value === undefined ? [] : [[member, value]]
    })
  )
  const grant = { type: "authorization_code", code, redirectUri: asked.redirectUri, verifier } as const
  return yield* context.buildFromGrant(found.definition, method, target, grant, {}, callbackConfig).pipe(
    Effect.catchTag("TokenRequestFailed", ({ message }) => failWith({ _tag: "CredentialRefused", message })),
    Effect.flatMap((candidate) => activate(context, self, found, candidate)),
    Effect.catchTag("CredentialRefused", ({ message }) => decline(context, self, found, message))
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
    complete: (self: ConnectionOwner, request: AuthorizationAnswer) => complete(context, self, request)
  }
})

/** One per node. */
export class ConnectSessions extends Context.Tag("svc/connection/ConnectSessions")<
  ConnectSessions,
  Effect.Effect.Success<typeof make>
>() {}

export const layer = Layer.effect(ConnectSessions, make)
