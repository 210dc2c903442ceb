/** What may be asked of a connection's actor: the one owner of its credential in the whole cluster. */
import { ClusterSchema, Entity } from "@effect/cluster"
import { Rpc } from "@effect/rpc"
import { Schema } from "effect"
import type { By } from "../ports/Connections.js"
import { JsonObject } from "../../domain/Json.js"
import { connectionStatuses } from "../../domain/connection/Connection.js"

const text = Schema.String
const nullable = Schema.NullOr(text)

/** Records between actors of one release: plain data that travels as it is. */
const plain = <A extends object>() =>
  Schema.declare((value: unknown): value is A => typeof value === "object" && value !== null)

const Secrets = Schema.Record({ key: text, value: Schema.Redacted(text) })
const Texts = Schema.Record({ key: text, value: text })

/** Why an order came to nothing, as data. */
export const CommandRefusal = Schema.Union(
  /** Also when it is another organisation's. */
  Schema.TaggedStruct("NotFound", {}),
  Schema.TaggedStruct("NotActive", { status: Schema.Literal(...connectionStatuses), reason: text }),
  Schema.TaggedStruct("WrongState", { status: Schema.Literal(...connectionStatuses), message: text }),
  Schema.TaggedStruct("Invalid", { path: text, code: text, message: text }),
  /** The provider does not take the credential, or could not be asked. */
  Schema.TaggedStruct("CredentialRefused", { message: text }),
  Schema.TaggedStruct("VersionMismatch", {}),
  Schema.TaggedStruct("Busy", { reason: text, retryAfterSeconds: Schema.Number })
)
export type CommandRefusal = typeof CommandRefusal.Type

const asked = { organisationId: text } as const
const ordered = { ...asked, by: plain<By>() } as const

const Reading = Schema.Struct({
  limit: Schema.NullOr(Schema.Number),
  remaining: Schema.NullOr(Schema.Number),
  resetAt: Schema.NullOr(Schema.Number),
  retryAfterAt: Schema.NullOr(Schema.Number)
})

const ConnectSessionLink = Schema.Struct({ id: text, token: Schema.Redacted(text), expiresAt: text })
export type ConnectSessionLink = typeof ConnectSessionLink.Type

const Outcome = Schema.Union(Schema.TaggedStruct("Connected", {}), Schema.TaggedStruct("Redirect", { url: text }))

// --- Calls ---

export const Authorize = Rpc.make("Authorize", {
  payload: { ...asked, origin: text, executionId: nullable, timeoutMillis: Schema.Number },
  success: Schema.Union(
    Schema.TaggedStruct("Granted", { grant: Schema.Uint8ArrayFromSelf, permit: text }),
    Schema.TaggedStruct("WaitUntil", { at: Schema.Number, why: Schema.Literal("rate_limit", "connection") })
  ),
  error: CommandRefusal
})

export const Settle = Rpc.make("Settle", {
  payload: {
    ...asked,
    permit: text,
    status: Schema.NullOr(Schema.Number),
    final: Schema.optional(Schema.Boolean),
    reading: Schema.NullOr(Reading)
  }
})

// --- Orders ---

/** What may be asked of a connection beside calls. One message for all of them: each kind of message costs every idle entity. */
export const ConnectionCommand = Schema.Union(
  Schema.TaggedStruct("Create", {
    ...ordered,
    connector: text,
    customerId: text,
    userId: nullable,
    authMethod: nullable,
    authProvider: nullable,
    label: nullable,
    config: JsonObject,
    tags: Texts,
    metadata: JsonObject,
    credential: Schema.NullOr(Secrets),
    redirectUrl: nullable
  }),
  Schema.TaggedStruct("StoreCredential", {
    ...ordered,
    authMethod: nullable,
    credential: Secrets,
    config: Schema.NullOr(JsonObject),
    skipTest: Schema.Boolean
  }),
  Schema.TaggedStruct("Reconnect", {
    ...ordered,
    redirectUrl: nullable,
    authMethod: nullable,
    config: Schema.NullOr(JsonObject)
  }),
  Schema.TaggedStruct("Test", ordered),
  Schema.TaggedStruct("Refresh", ordered),
  Schema.TaggedStruct("Enable", ordered),
  Schema.TaggedStruct("Disable", ordered),
  Schema.TaggedStruct("Edit", {
    ...ordered,
    label: nullable,
    tags: Schema.NullOr(Texts),
    isDefault: Schema.Boolean,
    version: Schema.NullOr(Schema.Number)
  }),
  Schema.TaggedStruct("Reveal", ordered),
  Schema.TaggedStruct("Disconnect", { ...ordered, version: Schema.NullOr(Schema.Number) }),

  // Connect sessions
  Schema.TaggedStruct("Submit", { ...asked, sessionId: text, fields: Secrets, config: JsonObject }),
  Schema.TaggedStruct("Complete", { ...asked, sessionId: text, params: Secrets }),

  /** The headers that a request is signed with; none where it goes elsewhere. */
  Schema.TaggedStruct("Sign", {
    ...asked,
    method: text,
    url: text,
    body: Schema.NullOr(Schema.Union(text, Schema.Uint8ArrayFromSelf)),
    challenge: nullable
  }),

  /** The provider refused the credential of this permit: it is renewed where it can be and nobody has renewed it yet. */
  Schema.TaggedStruct("RenewRefused", { ...asked, permit: text }),

  /** The sweep found it due: renew what is to be renewed, end what has ended. Idempotent. */
  Schema.TaggedStruct("Look", asked),
  /** Nobody completed it. Idempotent. */
  Schema.TaggedStruct("Abandon", asked)
)
export type ConnectionCommand = typeof ConnectionCommand.Type

/** What an order came to; which one answers which order, `Asking` says. */
export const CommandResult = Schema.Union(
  Schema.TaggedStruct("Done", {}),
  /** `session`: null where nobody is needed to connect. */
  Schema.TaggedStruct("Opened", { session: Schema.NullOr(ConnectSessionLink) }),
  Schema.TaggedStruct("Tested", { ok: Schema.Boolean, message: nullable, accountLabel: nullable }),
  Schema.TaggedStruct("Revealed", { secrets: Secrets }),
  Schema.TaggedStruct("Advanced", { outcome: Outcome }),
  /** `newer`: whether a call with a newer credential can be made. */
  Schema.TaggedStruct("Renewed", { newer: Schema.Boolean }),
  Schema.TaggedStruct("Signed", { headers: Schema.Array(Schema.Tuple(text, text)) })
)
export type CommandResult = typeof CommandResult.Type

export const CarryOut = Rpc.make("CarryOut", {
  payload: { order: ConnectionCommand },
  success: CommandResult,
  error: CommandRefusal
})

export const Connection = Entity.make("Connection", [Authorize, Settle, CarryOut]).annotate(
  ClusterSchema.ClientTracingEnabled,
  false
)
