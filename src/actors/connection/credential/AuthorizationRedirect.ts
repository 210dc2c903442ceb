/** Sends the person of a connect session to the provider: the authorization URL, with `state` and PKCE's challenge. */
import { Effect, Either, Encoding, Option } from "effect"
import {
  authorizationRequestOf,
  callbackPath,
  commonCallbackPath,
  usesCommonCallback
} from "../../../domain/connection/Callback.js"
import { configuredUrl } from "../../../domain/connector/request/BaseUrl.js"
import type { OAuth2Method } from "../../../domain/connector/AuthMethod.js"
import { builtInOf } from "../../../domain/connectors/index.js"
import type { JsonObject } from "../../../domain/Json.js"
import { failWith, orBusy } from "../ConnectionOwner.js"
import type { CommandRefusal } from "../Protocol.js"
import { type SessionContext, type SessionDetails, tokenLength, verifierPlace } from "../SessionDetails.js"

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

/** The URL at which the person signs in. Stores the hash of `state` and the sealed verifier with the session. */
export const authorizationUrl = Effect.fnUntraced(function* (
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
