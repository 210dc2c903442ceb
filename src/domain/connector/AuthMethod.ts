/** How a customer's account is connected, and how its credential gets into a request. Contract: connector definition. */
import { Schema } from "effect"
import { filled, list, maybe, needed, part } from "./Members.js"
import { JsonObject } from "../Json.js"

const text = Schema.String
const texts = Schema.Record({ key: text, value: text })
const worded = <A extends string>(value: A, description?: string) => filled(text, () => value, description)

/** Where one part of the credential goes. */
export const Injection = Schema.Struct({
  in: needed(
    Schema.Literal("header", "query", "body"),
    "`body`: a member of a JSON object or of a form. What the request has in the same place is replaced."
  ),
  name: needed(text, "A template over `connection.config.*`."),
  value: needed(text, "A template over `credential.*` and `connection.config.*`.")
}).annotations({ identifier: "Injection" })
export type Injection = typeof Injection.Type

const injections = (...byDefault: ReadonlyArray<Injection>) =>
  filled(Schema.Array(Injection), () => byDefault, "Where the credential goes in a request.")
const authorization = (value: string): Injection => ({ in: "header", name: "Authorization", value })

/** What the customer enters. */
export const CredentialField = Schema.Struct({
  name: needed(text, "Templates read it as `credential.NAME`."),
  title: maybe(text, "What the form of the connect link calls it."),
  description: maybe(text),
  secret: filled(
    Schema.Boolean,
    () => false,
    "Hidden while it is entered, and taken out of what the provider answers."
  ),
  required: filled(Schema.Boolean, () => true),
  pattern: maybe(text, "A regular expression that the whole value or a part of it matches; anchor it with ^ and $.")
}).annotations({ identifier: "CredentialField" })
export type CredentialField = typeof CredentialField.Type

const common = {
  id: needed(text, "Names the method: `authMethod` of a connection."),
  title: maybe(text),
  description: maybe(text),
  default: filled(Schema.Boolean, () => false, "The method used where none is named; else the first one.")
} as const

export const Refresh = Schema.Struct({
  rotates: filled(
    Schema.Boolean,
    () => true,
    "Whether each refresh brings a new refresh token and ends the one before."
  ),
  reuseIntervalSeconds: filled(
    Schema.NonNegativeInt,
    () => 0,
    "For how long the provider takes a refresh token that was used already."
  ),
  expiresInField: worded("expires_in", "The member of the token answer that tells the lifetime in seconds."),
  expiresInSeconds: maybe(
    Schema.Int.pipe(Schema.positive()),
    "The lifetime where the answer tells none; absent: the token does not expire."
  ),
  marginSeconds: filled(
    Schema.NonNegativeInt,
    () => 900,
    "How long before its end a token is renewed, but never more than a fifth of its lifetime."
  )
})

/** The access token is `credential.accessToken`. */
export const OAuth2Method = Schema.Struct({
  ...common,
  type: Schema.Literal("oauth2"),
  grant: filled(Schema.Literal("authorization_code", "client_credentials"), () => "authorization_code" as const),
  pkce: filled(Schema.Boolean, () => true, "Whether the authorization code is bound to a verifier (S256)."),
  authorizationUrl: maybe(
    text,
    "Needed by the grant authorization_code. A template over `connection.config.*`, as the other URLs are."
  ),
  tokenUrl: text,
  revocationUrl: maybe(text, "Where the token is ended when the connection is deleted."),
  revocationBody: filled(
    Schema.Literal("form", "json"),
    () => "form" as const,
    "How the token to end is sent there: as RFC 7009 has it, or alone in JSON."
  ),
  issuer: maybe(text, "What `iss` of a callback must be, where the provider sends one."),
  scopes: list(text),
  scopeSeparator: worded(" "),
  clientAuth: filled(
    Schema.Literal("basic", "body", "none"),
    () => "basic" as const,
    "How the client names itself at the token endpoint."
  ),
  refresh: part(Refresh, () => Refresh.make({})),
  authorizationParams: filled(texts, () => ({}), "Further parameters of the authorization URL."),
  tokenParams: filled(texts, () => ({}), "Further parameters of the token request."),
  callbackConfig: filled(
    texts,
    () => ({}),
    "Members of the connection's config taken from the callback's query: config member → query parameter."
  ),
  tokenConfig: filled(
    texts,
    () => ({}),
    "Members of the connection's config taken from the token answer: config member → path."
  ),
  clientId: maybe(text, "The organisation's client: makes the default auth provider."),
  clientSecret: maybe(text, "Sealed when it is saved, and never answered."),
  fields: list(
    CredentialField,
    "What the customer enters with the grant client_credentials; `clientId` and `clientSecret` are taken also where they are not here."
  ),
  inject: injections(authorization("Bearer {{credential.accessToken}}"))
}).annotations({ identifier: "OAuth2Method" })
export type OAuth2Method = typeof OAuth2Method.Type

export const ApiKeyMethod = Schema.Struct({
  ...common,
  type: Schema.Literal("api_key"),
  fields: filled(Schema.Array(CredentialField), () => [
    { name: "apiKey", title: "API key", secret: true, required: true }
  ]),
  inject: injections(authorization("Bearer {{credential.apiKey}}"))
}).annotations({ identifier: "ApiKeyMethod" })
export type ApiKeyMethod = typeof ApiKeyMethod.Type

/** `credential.basic` is user name and password, joined and encoded. */
export const BasicMethod = Schema.Struct({
  ...common,
  type: Schema.Literal("basic"),
  fields: filled(Schema.Array(CredentialField), () => [
    { name: "username", title: "User name", secret: false, required: true },
    { name: "password", title: "Password", secret: true, required: false }
  ]),
  inject: injections(authorization("Basic {{credential.basic}}"))
}).annotations({ identifier: "BasicMethod" })
export type BasicMethod = typeof BasicMethod.Type

/** What a signature covers and where it goes; read by the signer that `sign` names. */
export const SigningRule = Schema.Struct({
  key: worded("{{credential.secret}}", "The key: a template over `credential.*`."),
  keyEncoding: filled(Schema.Literal("text", "hex", "base64"), () => "text" as const),
  payload: worded(
    "{timestamp}{method}{target}{body}",
    "What is signed, of: {method} {url} {host} {path} {query} {target} {body} {bodySha256} {timestamp} {nonce}. {target} is path and query."
  ),
  header: worded("X-Signature"),
  encoding: filled(Schema.Literal("hex", "base64", "base64url"), () => "hex" as const),
  prefix: worded("", "What stands before the signature in its header."),
  timestampHeader: maybe(text),
  timestampFormat: filled(Schema.Literal("unix", "ms", "iso"), () => "unix" as const),
  nonceHeader: maybe(text)
}).annotations({ identifier: "SigningRule" })
export type SigningRule = typeof SigningRule.Type

export const CustomMethod = Schema.Struct({
  ...common,
  type: Schema.Literal("custom"),
  fields: list(CredentialField),
  inject: injections(),
  sign: maybe(text, "How requests are signed: hook:hmacSha256, hook:hmacSha1, hook:hmacSha512 or hook:digest."),
  signing: part(SigningRule, () => SigningRule.make({}))
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
