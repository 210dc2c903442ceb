/**
 * Where providers send people back to: an address for each organisation and connector. A client that is registered with
 * one of them takes no code that another organisation's connector asked for.
 */
import type { ConnectorDefinition } from "../connector/Definition.js"
import type { OAuth2Method } from "../connector/AuthMethod.js"
import type { OrganisationId } from "../Ids.js"

/** Of all connections that were made before each connector had its own. Deprecated. */
export const commonCallbackPath = "/oauth/callback"

const nameLength = 32

/** `mark`: a one-way function under a secret of the service, so that nobody can tell whose an address is. */
export const callbackPath = (mark: (text: string) => string, organisation: OrganisationId, connector: string): string =>
  `${commonCallbackPath}/${mark(`oauth-callback|${organisation}|${connector}`)
    .replace(/[^A-Za-z0-9]/g, "")
    .slice(0, nameLength)}`

/** What a session asked of the provider: its code is redeemed for just that. */
export interface AskedAuthorization {
  readonly redirectUri: string
  /** As the definition has them. */
  readonly authorizationUrl: string
  readonly tokenUrl: string
  readonly clientId: string
  readonly pkce: boolean
}

export const askedOf = (
  { authorizationUrl = "", pkce, tokenUrl }: OAuth2Method,
  clientId: string,
  redirectUri: string
): AskedAuthorization => ({ redirectUri, authorizationUrl, tokenUrl, clientId, pkce })

/** Whether a code that was asked for may still be redeemed as the definition and the client are now. */
export const isStillAsked = (asked: AskedAuthorization, method: OAuth2Method, clientId: string): boolean =>
  asked.authorizationUrl === (method.authorizationUrl ?? "") &&
  asked.tokenUrl === method.tokenUrl &&
  asked.pkce === method.pkce &&
  asked.clientId === clientId

/**
 * A connection of the common callback stays with it while its connector is the one that it was made with: a changed
 * definition could send its codes elsewhere.
 */
export const keepsCommonCallback = (
  connection: { readonly connectorVersion: string },
  definition: ConnectorDefinition,
  builtIn: ConnectorDefinition | undefined
): boolean => definition === builtIn || definition.version === connection.connectorVersion
