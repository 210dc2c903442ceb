/** How a customer's account is connected, and how its credential gets into a request. Contract: connector definition. */
import { Schema } from "effect"
import { withDefault, optionalList, optional, required, partWithDefault } from "./Members.js"
import { JsonObject } from "../Json.js"

const text = Schema.String
const texts = Schema.Record({ key: text, value: text })
const textWithDefault = <A extends string>(value: A, description?: string) =>
  withDefault(text, () => value, description)

/** Where one part of the credential goes. */
export const Injection = Schema.Struct({
  in: required(
    Schema.Literal("header", "query", "body"),
    "`body`: a member of a JSON object or of a form. What the request has in the same place is replaced."
  ),
  name: required(text, "A template over `connection.config.*`."),
  value: required(text, "A template over `credential.*` and `connection.config.*`.")
}).annotations({ identifier: "Injection" })
export type Injection = typeof Injection.Type

const injections = (...byDefault: ReadonlyArray<Injection>) =>
  withDefault(Schema.Array(Injection), () => byDefault, "Where the credential goes in a request.")
const authorization = (value: string): Injection => ({ in: "header", name: "Authorization", value })

/** What the customer enters. */
export const CredentialField = Schema.Struct({
  name: required(text, "Templates read it as `credential.NAME`."),
  title: optional(text, "What the form of the connect link calls it."),
  description: optional(text),
  secret: withDefault(
    Schema.Boolean,
    () => false,
    "Hidden while it is entered, and taken out of what the provider answers."
  ),
  required: withDefault(Schema.Boolean, () => true),
  pattern: optional(text, "A regular expression that the whole value or a part of it matches; anchor it with ^ and $.")
}).annotations({ identifier: "CredentialField" })
export type CredentialField = typeof CredentialField.Type

const common = {
  id: required(text, "Names the method: `authMethod` of a connection."),
  title: optional(text),
  description: optional(text),
  default: withDefault(Schema.Boolean, () => false, "The method used where none is named; else the first one.")
} as const

export const Refresh = Schema.Struct({
  rotates: withDefault(
    Schema.Boolean,
    () => true,
    "Whether each refresh brings a new refresh token and ends the one before."
  ),
  reuseIntervalSeconds: withDefault(
    Schema.NonNegativeInt,
    () => 0,
    "For how long the provider takes a refresh token that was used already."
  ),
  expiresInField: textWithDefault("expires_in", "The member of the token answer that tells the lifetime in seconds."),
  expiresInSeconds: optional(
    Schema.Int.pipe(Schema.positive()),
    "The lifetime where the answer tells none; absent: the token does not expire."
  ),
  marginSeconds: withDefault(
    Schema.NonNegativeInt,
    () => 900,
    "How long before its end a token is renewed, but never more than a fifth of its lifetime."
  )
})

/** The access token is `credential.accessToken`. */
export const OAuth2Method = Schema.Struct({
  ...common,
  type: Schema.Literal("oauth2"),
  grant: withDefault(Schema.Literal("authorization_code", "client_credentials"), () => "authorization_code" as const),
  pkce: withDefault(Schema.Boolean, () => true, "Whether the authorization code is bound to a verifier (S256)."),
  authorizationUrl: optional(
    text,
    "Needed by the grant authorization_code. A template over `connection.config.*`, as the other URLs are."
  ),
  tokenUrl: text,
  revocationUrl: optional(text, "Where the token is ended when the connection is deleted."),
  revocationBody: withDefault(
    Schema.Literal("form", "json"),
    () => "form" as const,
    "How the token to end is sent there: as RFC 7009 has it, or alone in JSON."
  ),
  issuer: optional(text, "What `iss` of a callback must be, where the provider sends one."),
  scopes: optionalList(text),
  scopeSeparator: textWithDefault(" "),
  clientAuth: withDefault(
    Schema.Literal("basic", "body", "none"),
    () => "basic" as const,
    "How the client names itself at the token endpoint."
  ),
  refresh: partWithDefault(Refresh, () => Refresh.make({})),
  authorizationParams: withDefault(texts, () => ({}), "Further parameters of the authorization URL."),
  tokenParams: withDefault(texts, () => ({}), "Further parameters of the token request."),
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
  clientId: optional(text, "The organisation's client: makes the default auth provider."),
  clientSecret: optional(text, "Sealed when it is saved, and never answered."),
  fields: optionalList(
    CredentialField,
    "What the customer enters with the grant client_credentials; `clientId` and `clientSecret` are taken also where they are not here."
  ),
  inject: injections(authorization("Bearer {{credential.accessToken}}"))
}).annotations({ identifier: "OAuth2Method" })
export type OAuth2Method = typeof OAuth2Method.Type

export const ApiKeyMethod = Schema.Struct({
  ...common,
  type: Schema.Literal("api_key"),
  fields: withDefault(Schema.Array(CredentialField), () => [
    { name: "apiKey", title: "API key", secret: true, required: true }
  ]),
  inject: injections(authorization("Bearer {{credential.apiKey}}"))
}).annotations({ identifier: "ApiKeyMethod" })
export type ApiKeyMethod = typeof ApiKeyMethod.Type

/** `credential.basic` is user name and password, joined and encoded. */
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

/** What a signature covers and where it goes; read by the signer that `sign` names. */
export const SigningRule = Schema.Struct({
  key: textWithDefault("{{credential.secret}}", "The key: a template over `credential.*`."),
  keyEncoding: withDefault(Schema.Literal("text", "hex", "base64"), () => "text" as const),
  payload: textWithDefault(
    "{timestamp}{method}{target}{body}",
    "What is signed, of: {method} {url} {host} {path} {query} {target} {body} {bodySha256} {timestamp} {nonce}. {target} is path and query."
  ),
  header: textWithDefault("X-Signature"),
  encoding: withDefault(Schema.Literal("hex", "base64", "base64url"), () => "hex" as const),
  prefix: textWithDefault("", "What stands before the signature in its header."),
  timestampHeader: optional(text),
  timestampFormat: withDefault(Schema.Literal("unix", "ms", "iso"), () => "unix" as const),
  nonceHeader: optional(text)
}).annotations({ identifier: "SigningRule" })
export type SigningRule = typeof SigningRule.Type

export const CustomMethod = Schema.Struct({
  ...common,
  type: Schema.Literal("custom"),
  fields: optionalList(CredentialField),
  inject: injections(),
  sign: optional(text, "How requests are signed: hook:hmacSha256, hook:hmacSha1, hook:hmacSha512 or hook:digest."),
  signing: partWithDefault(SigningRule, () => SigningRule.make({}))
}).annotations({ identifier: "CustomMethod" })
export type CustomMethod = typeof CustomMethod.Type

export const NoAuthMethod = Schema.Struct({
  ...common,
  type: Schema.Literal("none"),
  inject: injections()
}).annotations({ identifier: "NoAuthMethod" })
export type NoAuthMethod = typeof NoAuthMethod.Type

export const AuthMethod = Schema.Union(OAuth2Method, ApiKeyMethod, BasicMethod, CustomMethod, NoAuthMethod)
export type AuthMethod = typeof AuthMethod.Type

/** Whether nobody can connect before the organisation has a client at the provider; else a customer enters their own. */
export const needsClient = ({ fields, grant }: OAuth2Method): boolean =>
  !(grant === "client_credentials" && fields.some(({ name }) => name === "clientId"))

/** A JSON Schema of `connection.config`. */
export const ConnectionConfig = JsonObject
