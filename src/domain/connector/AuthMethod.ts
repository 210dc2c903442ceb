/** How a customer's account is connected, and how its credential gets into a request. Contract: connector definition. */
import { Schema } from "effect"
import { JsonObject } from "./PlainJson.js"

const text = Schema.String
const filled = <A extends string>(value: A) => Schema.optionalWith(text, { default: () => value })
const maybe = <A, I, R>(schema: Schema.Schema<A, I, R>) => Schema.optionalWith(schema, { exact: true })
const list = <A, I, R>(schema: Schema.Schema<A, I, R>) =>
  Schema.optionalWith(Schema.Array(schema), { default: () => [] })
const texts = Schema.optionalWith(Schema.Record({ key: text, value: text }), { default: () => ({}) })

/**
 * Where one part of the credential goes; `value` is a template over `credential.*` and `connection.config.*`, `name` one
 * over `connection.config.*`.
 */
export const Injection = Schema.Struct({
  in: Schema.Literal("header", "query", "body"),
  name: text,
  value: text
})
export type Injection = typeof Injection.Type

const injections = (...byDefault: ReadonlyArray<Injection>) =>
  Schema.optionalWith(Schema.Array(Injection), { default: () => byDefault })
const authorization = (value: string): Injection => ({ in: "header", name: "Authorization", value })

/** What the customer enters. */
export const CredentialField = Schema.Struct({
  name: text,
  title: maybe(text),
  description: maybe(text),
  secret: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  required: Schema.optionalWith(Schema.Boolean, { default: () => true }),
  pattern: maybe(text)
})
export type CredentialField = typeof CredentialField.Type

const common = {
  id: text,
  title: maybe(text),
  description: maybe(text),
  /** The method used where none is named; else the first one. */
  default: Schema.optionalWith(Schema.Boolean, { default: () => false })
} as const

export const Refresh = Schema.Struct({
  /** Whether each refresh brings a new refresh token and ends the one before. */
  rotates: Schema.optionalWith(Schema.Boolean, { default: () => true }),
  /** For how long the provider takes a refresh token that was used already. */
  reuseIntervalSeconds: Schema.optionalWith(Schema.NonNegativeInt, { default: () => 0 }),
  /** The member of the token answer that tells the lifetime in seconds. */
  expiresInField: filled("expires_in"),
  /** The lifetime where the answer tells none; absent: the token does not expire. */
  expiresInSeconds: maybe(Schema.Int.pipe(Schema.positive())),
  marginSeconds: Schema.optionalWith(Schema.NonNegativeInt, { default: () => 900 })
})

/** URLs are templates over `connection.config.*`. The access token is `credential.accessToken`. */
export const OAuth2Method = Schema.Struct({
  ...common,
  type: Schema.Literal("oauth2"),
  grant: Schema.optionalWith(Schema.Literal("authorization_code", "client_credentials"), {
    default: () => "authorization_code" as const
  }),
  pkce: Schema.optionalWith(Schema.Boolean, { default: () => true }),
  /** Needed by the grant `authorization_code`. */
  authorizationUrl: maybe(text),
  tokenUrl: text,
  revocationUrl: maybe(text),
  /** How the token to end is sent there: as RFC 7009 has it, or alone in JSON. */
  revocationBody: Schema.optionalWith(Schema.Literal("form", "json"), { default: () => "form" as const }),
  /** What `iss` of a callback must be, where the provider sends one. */
  issuer: maybe(text),
  scopes: list(text),
  scopeSeparator: filled(" "),
  /** How the client names itself at the token endpoint. */
  clientAuth: Schema.optionalWith(Schema.Literal("basic", "body", "none"), { default: () => "basic" as const }),
  refresh: Schema.optionalWith(Refresh, { default: () => Refresh.make({}) }),
  /** Further parameters of the authorization URL and of the token request. */
  authorizationParams: texts,
  tokenParams: texts,
  /** Members of the connection's config taken from the callback's query: config member → query parameter. */
  callbackConfig: texts,
  /** Members of the connection's config taken from the token answer: config member → path. */
  tokenConfig: texts,
  /** The organisation's client: makes the default auth provider. The secret is sealed on save and never answered. */
  clientId: maybe(text),
  clientSecret: maybe(text),
  /** With the grant `client_credentials` and no client of the organisation: `clientId`, `clientSecret` of the customer. */
  fields: list(CredentialField),
  inject: injections(authorization("Bearer {{credential.accessToken}}"))
})
export type OAuth2Method = typeof OAuth2Method.Type

export const ApiKeyMethod = Schema.Struct({
  ...common,
  type: Schema.Literal("api_key"),
  fields: Schema.optionalWith(Schema.Array(CredentialField), {
    default: () => [{ name: "apiKey", title: "API key", secret: true, required: true }]
  }),
  inject: injections(authorization("Bearer {{credential.apiKey}}"))
})
export type ApiKeyMethod = typeof ApiKeyMethod.Type

/** `credential.basic` is user name and password, joined and encoded. */
export const BasicMethod = Schema.Struct({
  ...common,
  type: Schema.Literal("basic"),
  fields: Schema.optionalWith(Schema.Array(CredentialField), {
    default: () => [
      { name: "username", title: "User name", secret: false, required: true },
      { name: "password", title: "Password", secret: true, required: false }
    ]
  }),
  inject: injections(authorization("Basic {{credential.basic}}"))
})
export type BasicMethod = typeof BasicMethod.Type

/** What a signature covers and where it goes; read by the signer that `sign` names. */
export const SigningRule = Schema.Struct({
  /** The key: a template over `credential.*`. */
  key: filled("{{credential.secret}}"),
  keyEncoding: Schema.optionalWith(Schema.Literal("text", "hex", "base64"), { default: () => "text" as const }),
  /** `{method}` `{url}` `{host}` `{path}` `{query}` `{target}` `{body}` `{bodySha256}` `{timestamp}` `{nonce}`. */
  payload: filled("{timestamp}{method}{target}{body}"),
  header: filled("X-Signature"),
  encoding: Schema.optionalWith(Schema.Literal("hex", "base64", "base64url"), { default: () => "hex" as const }),
  prefix: filled(""),
  timestampHeader: maybe(text),
  timestampFormat: Schema.optionalWith(Schema.Literal("unix", "ms", "iso"), { default: () => "unix" as const }),
  nonceHeader: maybe(text)
})
export type SigningRule = typeof SigningRule.Type

export const CustomMethod = Schema.Struct({
  ...common,
  type: Schema.Literal("custom"),
  fields: list(CredentialField),
  inject: injections(),
  /** `hook:` and a name of the closed table in Signing.ts. */
  sign: maybe(text),
  signing: Schema.optionalWith(SigningRule, { default: () => SigningRule.make({}) })
})
export type CustomMethod = typeof CustomMethod.Type

export const NoAuthMethod = Schema.Struct({ ...common, type: Schema.Literal("none"), inject: injections() })
export type NoAuthMethod = typeof NoAuthMethod.Type

export const AuthMethod = Schema.Union(OAuth2Method, ApiKeyMethod, BasicMethod, CustomMethod, NoAuthMethod)
export type AuthMethod = typeof AuthMethod.Type

/** The customer's own part of the base URL and the like: a JSON Schema of `connection.config`. */
export const ConnectionConfig = JsonObject
