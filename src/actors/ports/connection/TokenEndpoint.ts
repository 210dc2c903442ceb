/** The token endpoint of a provider. Each method sends one request, never retries it, and ends within `tokenTimeout`. */
import { type Effect, type Redacted, Context, Data } from "effect"
import type { TokenFailure } from "../../../domain/connection/Refresh.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import type { JsonObject } from "../../../domain/Json.js"

/** An OAuth client and how it authenticates. */
export interface TokenClient {
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted | null
  readonly auth: "basic" | "body" | "none"
}

/** What tokens are asked for with. A code and most refresh tokens serve once. */
export type OAuthGrant =
  | {
      readonly type: "authorization_code"
      readonly code: Redacted.Redacted
      readonly redirectUri: string
      readonly verifier: Redacted.Redacted | null
    }
  | { readonly type: "refresh_token"; readonly refreshToken: Redacted.Redacted }
  | { readonly type: "client_credentials"; readonly scope: string }

/** A request for tokens, with the provider's ways of naming what it answers. */
export interface TokenRequest {
  readonly organisationId: OrganisationId
  readonly url: string
  readonly client: TokenClient
  readonly grant: OAuthGrant
  /** Additional parameters that the provider requires. */
  readonly params: { readonly [name: string]: string }
  /** The member of the answer that has the lifetime in seconds. */
  readonly expiresInField: string
  readonly scopeSeparator: string
  /** Members that are copied from the answer to the connection's config: config member → path. */
  readonly config: { readonly [member: string]: string }
}

/** The provider's answer. */
export interface Tokens {
  readonly accessToken: Redacted.Redacted
  /** `null`: the answer has none. */
  readonly refreshToken: Redacted.Redacted | null
  readonly expiresInSeconds: number | null
  /** `null`: the answer has none, which means the requested ones. */
  readonly scopes: ReadonlyArray<string> | null
  readonly config: JsonObject
}

/** The request failed; the message has no secret. */
export class TokenRequestFailed extends Data.TaggedError("TokenRequestFailed")<TokenFailure> {}

export class TokenEndpoint extends Context.Tag("svc/TokenEndpoint")<
  TokenEndpoint,
  {
    readonly request: (request: TokenRequest) => Effect.Effect<Tokens, TokenRequestFailed>
    /** Revokes a token: by RFC 7009 (`form`), or with the token in a JSON body (`json`). */
    readonly revoke: (request: {
      readonly organisationId: OrganisationId
      readonly url: string
      readonly body: "form" | "json"
      readonly client: TokenClient
      readonly token: Redacted.Redacted
      readonly hint: "access_token" | "refresh_token"
    }) => Effect.Effect<void, TokenRequestFailed>
  }
>() {}
