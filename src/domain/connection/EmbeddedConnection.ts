/** What an embed session sees of connections, and what it may send. Contract: embed. */
import { Schema } from "effect"
import { Counter, NullableText } from "../Scalars.js"
import { AnsweredTime } from "../Time.js"
import { type Connection, connectionStatuses, ConnectionLabel } from "./Connection.js"
import { CreateConnection } from "./Requests.js"

/** A connection in the panel: without what only the organisation notes with it. */
export const EmbeddedConnection = Schema.Struct({
  id: Schema.String,
  connector: Schema.String,
  label: Schema.String,
  accountLabel: NullableText,
  authMethod: Schema.String,
  scope: Schema.Literal("customer", "user").annotations({ description: "user: it is of the session's person only" }),
  status: Schema.Literal(...connectionStatuses),
  lastError: NullableText.annotations({ description: "why it does not work" }),
  isDefault: Schema.Boolean,
  createdAt: AnsweredTime,
  version: Schema.Number
}).annotations({ identifier: "EmbeddedConnection" })

/** What of a connection's view a session sees. */
export const embeddedConnection = ({
  accountLabel,
  authMethod,
  connector,
  createdAt,
  health,
  id,
  isDefault,
  label,
  scope,
  status,
  version
}: typeof Connection.View.Type): typeof EmbeddedConnection.Type => ({
  id,
  connector,
  label,
  accountLabel,
  authMethod,
  scope,
  status,
  lastError: health.lastError,
  isDefault,
  createdAt,
  version
})

/** A pending connection also has its link; `expiresAt` is then the link's expiry. */
export const OpenedEmbeddedConnection = Schema.Struct({
  ...EmbeddedConnection.fields,
  connectUrl: Schema.optional(Schema.String),
  connectSessionId: Schema.optional(Schema.String),
  expiresAt: Schema.optional(Schema.NullOr(Schema.String))
}).annotations({ identifier: "OpenedEmbeddedConnection" })

/** The body with which a session connects an account: of its own customer and person. */
export const ConnectAccount = CreateConnection.pick(
  "connector",
  "authMethod",
  "credential",
  "config",
  "label",
  "redirectUrl"
).annotations({ identifier: "ConnectAccount" })
export type ConnectAccount = typeof ConnectAccount.Type

/** The body with which a session renames an account. */
export const RenameAccount = Schema.Struct({
  label: ConnectionLabel,
  version: Schema.optional(Counter)
}).annotations({ identifier: "RenameAccount" })
export type RenameAccount = typeof RenameAccount.Type
