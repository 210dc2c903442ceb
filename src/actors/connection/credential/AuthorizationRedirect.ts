/** Sends the person of a connect session to the provider: the authorization URL, with `state` and PKCE's challenge. */
import { Effect, Either, Encoding, Option } from "effect"
import { invalid } from "../../../domain/Failure.js"
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
import { ConnectionStore } from "../../ports/connection/ConnectionStore.js"
import { Connectors } from "../../ports/connection/Connectors.js"
import { Digests } from "../../ports/Digests.js"
import { Identifiers } from "../../ports/Identifiers.js"
import { Origin } from "../../ports/Origin.js"
import { ConnectionOwners } from "../ConnectionOwners.js"
import { orBusy } from "../ConnectionOwner.js"
import type { CommandRefusal } from "../Protocol.js"
import { TokenRequests } from "./TokenRequests.js"
import { type SessionDetails, tokenLength, verifierPlace } from "../SessionDetails.js"

export const makeAuthorizationRedirect = Effect.gen(function* () {
  const origin = yield* Origin
  const owners = yield* ConnectionOwners
  const store = yield* ConnectionStore
  const connectors = yield* Connectors
  const identifiers = yield* Identifiers
  const digests = yield* Digests
  const { clientOf } = yield* TokenRequests

  const challengeOf = (verifier: string): string =>
    Encoding.encodeBase64Url(Either.getOrThrow(Encoding.decodeHex(digests.sha256Hex(verifier))))

  const redirectUriOf = ({ connection, definition, session, target }: SessionDetails): string => {
    const isCommon = session.commonCallback && usesCommonCallback(connection, definition, builtInOf(definition.slug))
    const path = isCommon ? commonCallbackPath : callbackPath(digests.keyHash, target.organisationId, definition.slug)
    return `${origin}${path}`
  }

  /** The URL at which the person signs in. Stores the hash of `state` and the sealed verifier with the session. */
  const authorizationUrl = Effect.fnUntraced(function* (
    found: SessionDetails & { readonly method: OAuth2Method },
    config: JsonObject
  ): Effect.fn.Return<string, CommandRefusal> {
    const { definition, method, session, target } = found
    const { clientId } = yield* clientOf(target, method, {})
    const redirectUri = redirectUriOf(found)
    const client = yield* orBusy(
      connectors.clientOf(target.organisationId, definition.slug, method.id, target.authProvider)
    )
    const clientScopes = Option.match(client, { onNone: () => [], onSome: ({ scopes }) => scopes })
    const base = configuredUrl(method.authorizationUrl ?? "", config)
    if (Either.isLeft(base)) return yield* invalid(base.left.path, "INVALID_VALUE", base.left.message)
    const state = identifiers.token(tokenLength)
    const verifier = method.pkce ? identifiers.token(64) : null
    const doors = yield* owners.vaultOf(target.organisationId)
    yield* orBusy(
      store.authorizeSession(session.id, {
        stateHash: digests.sha256Hex(state),
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
      ...(verifier === null ? {} : { code_challenge: challengeOf(verifier), code_challenge_method: "S256" })
    }
    for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value)
    return url.href
  })

  return { authorizationUrl }
})
