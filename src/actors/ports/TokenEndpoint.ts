/**
 * The token endpoint of a provider: each call of a method here is one request, never repeated, and ends within
 * `tokenTimeout` whatever the provider does.
 */
import type { Effect, Redacted } from "effect"
import { Context, Data } from "effect"
import type { TokenFailure } from "../../domain/connection/Refresh.js"
import type { JsonObject } from "../../domain/Json.js"

/** How the client names itself. */
export interface TokenClient {
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted | null
  readonly auth: "basic" | "body" | "none"
}

export type OAuthGrant =
  | {
      readonly type: "authorization_code"
      readonly code: Redacted.Redacted
      readonly redirectUri: string
      readonly verifier: Redacted.Redacted | null
    }
  | { readonly type: "refresh_token"; readonly refreshToken: Redacted.Redacted }
  | { readonly type: "client_credentials"; readonly scope: string }

export interface TokenRequest {
  readonly url: string
  readonly client: TokenClient
  readonly grant: OAuthGrant
  /** Further parameters that the provider wants. */
  readonly params: { readonly [name: string]: string }
  /** The member of the answer that tells the lifetime in seconds. */
  readonly expiresInField: string
  readonly scopeSeparator: string
  /** What of the answer belongs to the connection's config: config member → path. */
  readonly config: { readonly [member: string]: string }
}

export interface Tokens {
  readonly accessToken: Redacted.Redacted
  /** `null`: the answer brought none. */
  readonly refreshToken: Redacted.Redacted | null
  readonly expiresInSeconds: number | null
  /** `null`: not told, so those that were asked for. */
  readonly scopes: ReadonlyArray<string> | null
  readonly config: JsonObject
}

/** No token; the message holds no secret. */
export class TokenRequestFailed extends Data.TaggedError("TokenRequestFailed")<TokenFailure> {}

export class TokenEndpoint extends Context.Tag("svc/TokenEndpoint")<
  TokenEndpoint,
  {
    readonly request: (request: TokenRequest) => Effect.Effect<Tokens, TokenRequestFailed>
    /** Ends a token at the provider: as RFC 7009 has it, or with the token alone in JSON. */
    readonly revoke: (request: {
      readonly url: string
      readonly body: "form" | "json"
      readonly client: TokenClient
      readonly token: Redacted.Redacted
      readonly hint: "access_token" | "refresh_token"
    }) => Effect.Effect<void, TokenRequestFailed>
  }
>() {}
