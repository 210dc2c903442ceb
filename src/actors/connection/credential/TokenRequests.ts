/** Requests to a provider's token endpoint: with which OAuth client, under which grant, and what credential they yield. */
import { Effect, Option, Redacted } from "effect"
import { invalid } from "../../../domain/Failure.js"
import type { Credential } from "../../../domain/connection/Credential.js"
import { configuredUrl } from "../../../domain/connector/request/BaseUrl.js"
import type { OAuth2Method } from "../../../domain/connector/AuthMethod.js"
import type { Connection } from "../../../domain/connection/Connection.js"
import { timeAfter } from "../../../domain/Time.js"
import { Connectors } from "../../ports/connection/Connectors.js"
import {
  type OAuthGrant,
  type TokenClient,
  TokenEndpoint,
  type TokenRequestFailed,
  type Tokens
} from "../../ports/connection/TokenEndpoint.js"
import { busy } from "../ConnectionOwner.js"
import type { CommandRefusal } from "../Protocol.js"

/** A credential that a token endpoint issues. */
export type TokenCredential = Extract<Credential, { readonly _tag: "Tokens" }>

/** The OAuth client of a token request. `provider`: its auth provider's id; `null` for a customer's own client. */
export interface RefreshClient extends TokenClient {
  readonly provider: string | null
}

/** The credential after an answer of the token endpoint; members that the answer lacks stay. */
export const tokensCredential = (
  tokens: Tokens,
  method: OAuth2Method,
  before: TokenCredential | ({ readonly refreshToken: null } & Pick<TokenCredential, "fields" | "provider">),
  now: number
): TokenCredential => {
  const seconds = tokens.expiresInSeconds ?? method.refresh.expiresInSeconds ?? null
  return {
    _tag: "Tokens",
    accessToken: tokens.accessToken,
    refreshToken: tokens.refreshToken ?? before.refreshToken,
    issuedAt: now,
    expiresAt: seconds === null ? null : timeAfter(now, seconds),
    fields: before.fields,
    provider: before.provider
  }
}

const make = Effect.gen(function* () {
  const connectors = yield* Connectors
  const endpoint = yield* TokenEndpoint

  /**
   * The organisation's client, or with client credentials the customer's own. `given`: the auth provider of the tokens
   * that are stored; the default one may have changed since.
   */
  const clientOf = Effect.fnUntraced(function* (
    { authProvider, connector, organisationId }: Pick<Connection, "authProvider" | "connector" | "organisationId">,
    method: OAuth2Method,
    fields: TokenCredential["fields"],
    given: string | null = null
  ): Effect.fn.Return<RefreshClient, CommandRefusal> {
    const found = yield* Effect.mapError(
      connectors.clientOf(organisationId, connector, method.id, authProvider ?? given),
      ({ reason }) => busy(reason)
    )
    if (Option.isSome(found)) {
      const { clientId, clientSecret, id } = found.value
      return { clientId, clientSecret, auth: method.clientAuth, provider: id }
    }
    const own = fields["clientId"]
    if (own !== undefined)
      return {
        clientId: Redacted.value(own),
        clientSecret: fields["clientSecret"] ?? null,
        auth: method.clientAuth,
        provider: null
      }
    return yield* invalid(
      "authMethod",
      "NO_OAUTH_CLIENT",
      "has no OAuth client: add an auth provider with your clientId and clientSecret to the connector"
    )
  })

  /** Requests tokens from the method's token endpoint. */
  const requestTokens = Effect.fnUntraced(function* (
    { config, organisationId }: Pick<Connection, "config" | "organisationId">,
    method: OAuth2Method,
    client: TokenClient,
    grant: OAuthGrant
  ): Effect.fn.Return<Tokens, CommandRefusal | TokenRequestFailed> {
    const url = configuredUrl(method.tokenUrl, config)
    if (url._tag === "Left") return yield* invalid(url.left.path, "INVALID_VALUE", url.left.message)
    return yield* endpoint.request({
      organisationId,
      url: url.right,
      client,
      grant,
      params: method.tokenParams,
      expiresInField: method.refresh.expiresInField,
      scopeSeparator: method.scopeSeparator,
      config: method.tokenConfig
    })
  })

  return { clientOf, requestTokens }
})

/** The grant with which a stored credential is renewed. */
export const renewalGrant = (method: OAuth2Method, { refreshToken }: TokenCredential): OAuthGrant =>
  refreshToken === null || method.grant === "client_credentials"
    ? { type: "client_credentials", scope: method.scopes.join(method.scopeSeparator) }
    : { type: "refresh_token", refreshToken }

/** Requests for tokens, with the OAuth clients of the connectors. */
export class TokenRequests extends Effect.Service<TokenRequests>()("svc/connection/TokenRequests", { effect: make }) {}
