/** Bodies of requests about connections and credentials. Contract: surface C bodies. */
import { Schema } from "effect"
import { JsonObject } from "../Json.js"
import { ConnectionLabel, ConnectionTags } from "./Connection.js"
import { parseUrl } from "../Url.js"

const text = (most: number) => Schema.String.pipe(Schema.maxLength(most))
/** The values of a credential. Numbers, as in `expiresIn: 3600`, are stored as text. */
export const CredentialInput = Schema.Record({
  key: text(64),
  value: Schema.Union(Schema.String, Schema.Number)
})

/** The URL to which the browser is redirected after the session; its origin gets the outcome as a message. */
const RedirectUrl = text(2_000).pipe(
  Schema.filter((url) => /^https?:$/.test(parseUrl(url)?.protocol ?? "") || "must be an http or https URL")
)

/** The body that creates a connection. */
export const CreateConnection = Schema.Struct({
  connector: text(63),
  customerId: text(140),
  authMethod: Schema.optional(text(64)),
  authProvider: Schema.optional(Schema.NullOr(text(64))),
  credential: Schema.optional(CredentialInput),
  config: Schema.optional(JsonObject),
  label: Schema.optional(ConnectionLabel),
  userId: Schema.optional(Schema.NullOr(text(200).pipe(Schema.minLength(1)))),
  redirectUrl: Schema.optional(RedirectUrl),
  tags: Schema.optional(ConnectionTags),
  metadata: Schema.optional(JsonObject)
}).annotations({ identifier: "CreateConnection" })
export type CreateConnection = typeof CreateConnection.Type

/** The body by which an embed session reconnects a connection. */
export const ReconnectAccount = Schema.Struct({
  redirectUrl: Schema.optional(RedirectUrl),
  authMethod: Schema.optional(text(64)),
  credential: Schema.optional(CredentialInput),
  config: Schema.optional(JsonObject)
}).annotations({ identifier: "ReconnectAccount" })
export type ReconnectAccount = typeof ReconnectAccount.Type

/** The body that reconnects a connection. */
export const ReconnectConnection = Schema.Struct({
  ...ReconnectAccount.fields,
  connector: Schema.optional(text(63).annotations({ description: "If it is sent: the connector of the connection." })),
  customerId: Schema.optional(text(140).annotations({ description: "If it is sent: the customer of the connection." }))
}).annotations({ identifier: "ReconnectConnection" })
export type ReconnectConnection = typeof ReconnectConnection.Type

/** The body that stores a credential on surface B. */
export const StoreCredential = Schema.Struct({
  connector: text(63),
  authMethod: text(64),
  label: Schema.optional(ConnectionLabel),
  credential: CredentialInput,
  config: Schema.optional(JsonObject)
}).annotations({ identifier: "StoreCredential" })
export type StoreCredential = typeof StoreCredential.Type

/** The body that replaces a credential on surface B. */
export const RotateCredential = Schema.Struct({
  credential: CredentialInput,
  skipTest: Schema.optional(Schema.Boolean)
}).annotations({ identifier: "RotateCredential" })
export type RotateCredential = typeof RotateCredential.Type
