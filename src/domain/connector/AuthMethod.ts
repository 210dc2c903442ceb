/** Schemas of auth methods: how a customer's account is connected, and where its credential goes in a request. Contract: connector definition. */
import { Schema } from "effect"
import { withDefault, optionalList, optional, required, partWithDefault } from "./Members.js"
import { JsonObject } from "../Json.js"

const text = Schema.String
const texts = Schema.Record({ key: text, value: text })
const textWithDefault = <A extends string>(value: A, description?: string) =>
  withDefault(text, () => value, description)

/** One place of the credential in a request. */
export const Injection = Schema.Struct({
  in: required(
    Schema.Literal("header", "query", "body"),
    "`body`: a member of a JSON object or form. A value that the request has in the same place is replaced."
  ),
  name: required(text, "A template over `connection.config.*`."),
  value: required(text, "A template over `credential.*` and `connection.config.*`.")
}).annotations({ identifier: "Injection" })
export type Injection = typeof Injection.Type

const injections = (...byDefault: ReadonlyArray<Injection>) =>
  withDefault(Schema.Array(Injection), () => byDefault, "Where the credential goes in a request.")
const authorization = (value: string): Injection => ({ in: "header", name: "Authorization", value })

/** A field that the customer enters. */
export const CredentialField = Schema.Struct({
  name: required(text, "Templates read it as `credential.NAME`."),
  title: optional(text, "The label in the form of the connect link."),
  description: optional(text),
  secret: withDefault(
    Schema.Boolean,
    () => false,
    "Hidden while it is entered, and removed from the provider's answers."
  ),
  required: withDefault(Schema.Boolean, () => true),
  pattern: optional(text, "A regular expression that the whole value or a part of it matches; anchor it with ^ and $.")
}).annotations({ identifier: "CredentialField" })
export type CredentialField = typeof CredentialField.Type

const common = {
  id: required(text, "The value of `authMethod` of a connection."),
  title: optional(text),
  description: optional(text),
  default: withDefault(
    Schema.Boolean,
    () => false,
    "Whether connections use this method if they name none. Without a default the first method is used."
  )
} as const

/** How access tokens are refreshed. */
export const Refresh = Schema.Struct({
  rotates: withDefault(
    Schema.Boolean,
    () => true,
    "Whether each refresh returns a new refresh token and invalidates the old one."
  ),
  reuseIntervalSeconds: withDefault(
    Schema.NonNegativeInt,
    () => 0,
    "The time for which the provider accepts a refresh token that was used already."
  ),
  expiresInField: textWithDefault("expires_in", "The member of the token answer with the lifetime in seconds."),
  expiresInSeconds: optional(
    Schema.Int.pipe(Schema.positive()),
    "The lifetime if the answer has none; absent: the token does not expire."
  ),
  marginSeconds: withDefault(
    Schema.NonNegativeInt,
    () => 900,
    "How long before its expiry a token is refreshed; at most a fifth of its lifetime."
  ),
  lostCodes: optionalList(
    text,
    "Further error codes of the token endpoint that mean that the grant has ended, as the provider writes them."
  )
})

/** OAuth 2. Templates read the access token as `credential.accessToken`. */
export const OAuth2Method = Schema.Struct({
  ...common,
  type: Schema.Literal("oauth2"),
  grant: withDefault(Schema.Literal("authorization_code", "client_credentials"), () => "authorization_code" as const),
  pkce: withDefault(Schema.Boolean, () => true, "Whether the authorization code is bound to a verifier (S256)."),
  authorizationUrl: optional(
    text,
    "Required by the grant authorization_code. A template over `connection.config.*`, like the other URLs."
  ),
  tokenUrl: text,
  revocationUrl: optional(text, "The URL at which the token is revoked when the connection is deleted."),
  revocationBody: withDefault(
    Schema.Literal("form", "json"),
    () => "form" as const,
    "How the token to revoke is sent: `form` by RFC 7009, or alone in JSON."
  ),
  issuer: optional(text, "The expected `iss` of a callback, if the provider sends it."),
  scopes: optionalList(text),
  scopeSeparator: textWithDefault(" "),
  clientAuth: withDefault(
    Schema.Literal("basic", "body", "none"),
    () => "basic" as const,
    "How the client authenticates at the token endpoint."
  ),
  refresh: partWithDefault(Refresh, () => Refresh.make({})),
  authorizationParams: withDefault(texts, () => ({}), "Additional parameters of the authorization URL."),
  tokenParams: withDefault(texts, () => ({}), "Additional parameters of the token request."),
  callbackConfig: withDefault(
    texts,
    () => ({}),
    "Members of the connection's config taken from the callback's query: config member → query parameter."
  ),
  tokenConfig: withDefault(
    texts,
    () => ({}),
    "Members of the connection's config taken from the token answer: config member → path."
  ),
  clientId: optional(text, "The organisation's client; it becomes the default auth provider."),
  clientSecret: optional(text, "Sealed when it is saved, and never returned."),
  fields: optionalList(
    CredentialField,
    "What the customer enters with the grant client_credentials; `clientId` and `clientSecret` are accepted even if they are not listed."
  ),
  inject: injections(authorization("Bearer {{credential.accessToken}}"))
}).annotations({ identifier: "OAuth2Method" })
export type OAuth2Method = typeof OAuth2Method.Type

/** A key that the customer enters. */
export const ApiKeyMethod = Schema.Struct({
  ...common,
  type: Schema.Literal("api_key"),
  fields: withDefault(Schema.Array(CredentialField), () => [
    { name: "apiKey", title: "API key", secret: true, required: true }
  ]),
  inject: injections(authorization("Bearer {{credential.apiKey}}"))
}).annotations({ identifier: "ApiKeyMethod" })
export type ApiKeyMethod = typeof ApiKeyMethod.Type

/** HTTP Basic. `credential.basic` is the encoded user name and password. */
export const BasicMethod = Schema.Struct({
  ...common,
  type: Schema.Literal("basic"),
  fields: withDefault(Schema.Array(CredentialField), () => [
    { name: "username", title: "User name", secret: false, required: true },
    { name: "password", title: "Password", secret: true, required: false }
  ]),
  inject: injections(authorization("Basic {{credential.basic}}"))
}).annotations({ identifier: "BasicMethod" })
export type BasicMethod = typeof BasicMethod.Type

/** What a signature covers and in which header it is sent; read by the signer that `sign` names. */
export const SigningRule = Schema.Struct({
  key: textWithDefault("{{credential.secret}}", "The signing key: a template over `credential.*`."),
  keyEncoding: withDefault(Schema.Literal("text", "hex", "base64"), () => "text" as const),
  payload: textWithDefault(
    "{timestamp}{method}{target}{body}",
    "The signed text, with the placeholders {method} {url} {host} {path} {query} {target} {body} {bodySha256} {timestamp} {nonce}. {target} is path and query."
  ),
  header: textWithDefault("X-Signature"),
  encoding: withDefault(Schema.Literal("hex", "base64", "base64url"), () => "hex" as const),
  prefix: textWithDefault("", "The text before the signature in its header."),
  timestampHeader: optional(text),
  timestampFormat: withDefault(Schema.Literal("unix", "ms", "iso"), () => "unix" as const),
  nonceHeader: optional(text)
}).annotations({ identifier: "SigningRule" })
export type SigningRule = typeof SigningRule.Type

/** Any fields, with an optional signature over each request. */
export const CustomMethod = Schema.Struct({
  ...common,
  type: Schema.Literal("custom"),
  fields: optionalList(CredentialField),
  inject: injections(),
  sign: optional(text, "How requests are signed: hook:hmacSha256, hook:hmacSha1, hook:hmacSha512 or hook:digest."),
  signing: partWithDefault(SigningRule, () => SigningRule.make({}))
}).annotations({ identifier: "CustomMethod" })
export type CustomMethod = typeof CustomMethod.Type

/** No credential. */
export const NoAuthMethod = Schema.Struct({
  ...common,
  type: Schema.Literal("none"),
  inject: injections()
}).annotations({ identifier: "NoAuthMethod" })
export type NoAuthMethod = typeof NoAuthMethod.Type

export const AuthMethod = Schema.Union(OAuth2Method, ApiKeyMethod, BasicMethod, CustomMethod, NoAuthMethod)
export type AuthMethod = typeof AuthMethod.Type

/** Whether the organisation needs a client at the provider before customers can connect; otherwise they enter their own. */
export const needsClient = ({ fields, grant }: OAuth2Method): boolean =>
  !(grant === "client_credentials" && fields.some(({ name }) => name === "clientId"))

/** The JSON Schema of `connection.config`. */
export const ConnectionConfig = JsonObject
