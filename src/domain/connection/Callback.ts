/**
 * Redirect URIs of OAuth sign-ins: one for each organisation and connector, so that a provider's client cannot receive a
 * code that another organisation's connector requested (OAuth mix-up).
 */
import { Schema } from "effect"
import type { ConnectorDefinition } from "../connector/Definition.js"
import type { OAuth2Method } from "../connector/AuthMethod.js"
import type { OrganisationId } from "../Ids.js"

/** The path of connections from before each connector had its own. Deprecated. */
export const commonCallbackPath = "/oauth/callback"

const nameLength = 32

/** The path of a connector's redirect URI. `hash`: keyed, so that the path does not reveal the organisation. */
export const callbackPath = (hash: (text: string) => string, organisation: OrganisationId, connector: string): string =>
  `${commonCallbackPath}/${hash(`oauth-callback|${organisation}|${connector}`)
    .replace(/[^A-Za-z0-9]/g, "")
    .slice(0, nameLength)}`

/** The authorization request of a session; its code is redeemed for the same request only. */
export const AuthorizationRequest = Schema.Struct({
  redirectUri: Schema.String,
  /** The URLs of the definition, without configured values. */
  authorizationUrl: Schema.String,
  tokenUrl: Schema.String,
  clientId: Schema.String,
  pkce: Schema.Boolean
})
export type AuthorizationRequest = typeof AuthorizationRequest.Type

/** The request that a method makes with a client. */
export const authorizationRequestOf = (
  { authorizationUrl = "", pkce, tokenUrl }: OAuth2Method,
  clientId: string,
  redirectUri: string
): AuthorizationRequest => ({ redirectUri, authorizationUrl, tokenUrl, clientId, pkce })

/** Whether definition and client are still those of the request, so that its code may be redeemed. */
export const isSameAuthorization = (request: AuthorizationRequest, method: OAuth2Method, clientId: string): boolean =>
  request.authorizationUrl === (method.authorizationUrl ?? "") &&
  request.tokenUrl === method.tokenUrl &&
  request.pkce === method.pkce &&
  request.clientId === clientId

/**
 * Whether a connection may keep the common callback: only while its connector is unchanged, since a changed definition
 * could redeem its codes elsewhere.
 */
export const usesCommonCallback = (
  connection: { readonly connectorVersion: string },
  definition: ConnectorDefinition,
  builtIn: ConnectorDefinition | undefined
): boolean => definition === builtIn || definition.version === connection.connectorVersion
