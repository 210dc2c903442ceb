/** Messages to a connection's actor, the only owner of its credential in the cluster. */
import { ClusterSchema, Entity } from "@effect/cluster"
import { Rpc } from "@effect/rpc"
import { Schema } from "effect"
import { Conflict, InvalidState, NotFound, Unavailable, ValidationFailed } from "../../domain/Failure.js"
import { CallPermit, ConnectionNotActive, Initiator } from "../ports/connection/Connections.js"
import { JsonObject } from "../../domain/Json.js"
import { ProviderQuota } from "../../domain/connection/CallLimits.js"

const text = Schema.String
const nullableText = Schema.NullOr(text)

const Secrets = Schema.Record({ key: text, value: Schema.Redacted(text) })
const Texts = Schema.Record({ key: text, value: text })

/** Why a command or a call failed. A connection of another organisation is not found, either. */
export const CommandRefusal = Schema.Union(
  NotFound,
  ConnectionNotActive,
  InvalidState,
  ValidationFailed,
  Conflict,
  Unavailable
)
export type CommandRefusal = typeof CommandRefusal.Type

const addressed = { organisationId: text } as const
const withInitiator = { ...addressed, by: Initiator } as const

const ConnectSessionLink = Schema.Struct({ id: text, token: Schema.Redacted(text), expiresAt: text })
export type ConnectSessionLink = typeof ConnectSessionLink.Type

const StepOutcome = Schema.Union(Schema.TaggedStruct("Connected", {}), Schema.TaggedStruct("Redirect", { url: text }))

// --- Calls ---

export const Authorize = Rpc.make("Authorize", {
  payload: {
    ...addressed,
    origin: text,
    executionId: nullableText,
    timeoutMillis: Schema.Number,
    anyOrigin: Schema.optional(Schema.Boolean)
  },
  success: Schema.Union(
    Schema.TaggedStruct("Granted", { grant: Schema.Uint8ArrayFromSelf, permit: CallPermit }),
    Schema.TaggedStruct("WaitUntil", { at: Schema.Number, why: Schema.Literal("rate_limit", "connection") })
  ),
  error: CommandRefusal
})

export const Settle = Rpc.make("Settle", {
  payload: {
    ...addressed,
    permit: CallPermit,
    status: Schema.NullOr(Schema.Number),
    final: Schema.optional(Schema.Boolean),
    reading: Schema.NullOr(ProviderQuota)
  }
})

// --- Commands ---

/** All commands besides calls. They share one message, because each kind of message costs memory in every idle entity. */
export const ConnectionCommand = Schema.Union(
  Schema.TaggedStruct("StoreCredential", {
    ...withInitiator,
    authMethod: nullableText,
    credential: Secrets,
    config: Schema.NullOr(JsonObject),
    skipTest: Schema.Boolean
  }),
  Schema.TaggedStruct("Reconnect", {
    ...withInitiator,
    redirectUrl: nullableText,
    authMethod: nullableText,
    config: Schema.NullOr(JsonObject)
  }),
  Schema.TaggedStruct("Test", withInitiator),
  Schema.TaggedStruct("Refresh", withInitiator),
  Schema.TaggedStruct("Enable", withInitiator),
  Schema.TaggedStruct("Disable", withInitiator),
  Schema.TaggedStruct("Edit", {
    ...withInitiator,
    label: nullableText,
    tags: Schema.NullOr(Texts),
    isDefault: Schema.Boolean,
    version: Schema.NullOr(Schema.Number)
  }),
  Schema.TaggedStruct("Reveal", withInitiator),
  /** `revokes`: whether the token is revoked at the provider; absent: it is. */
  Schema.TaggedStruct("Disconnect", {
    ...withInitiator,
    version: Schema.NullOr(Schema.Number),
    revokes: Schema.optional(Schema.Boolean)
  }),

  // Connect sessions
  Schema.TaggedStruct("Submit", { ...addressed, sessionId: text, fields: Secrets, config: JsonObject }),
  Schema.TaggedStruct("Complete", { ...addressed, sessionId: text, params: Secrets }),

  /** The headers that sign a request; none for a URL outside the connector's origins. */
  Schema.TaggedStruct("Sign", {
    ...addressed,
    method: text,
    url: text,
    body: Schema.NullOr(Schema.Union(text, Schema.Uint8ArrayFromSelf)),
    challenge: nullableText
  }),

  /** Renews the credential that the provider refused under this permit, unless it has been renewed since. */
  Schema.TaggedStruct("RenewRefused", { ...addressed, permit: CallPermit }),

  /** Renews a credential that is due and expires a connection whose token has ended; from the sweep. Idempotent. */
  Schema.TaggedStruct("CheckDue", addressed),
  /** Removes a pending connection whose connect session has ended. Idempotent. */
  Schema.TaggedStruct("Abandon", addressed)
)
export type ConnectionCommand = typeof ConnectionCommand.Type

/** The members of a command. */
export type PayloadOf<Tag extends ConnectionCommand["_tag"]> = Omit<
  Extract<ConnectionCommand, { readonly _tag: Tag }>,
  "_tag"
>

/** The result of a command; `ActorClient` maps each command to its result. */
export const CommandResult = Schema.Union(
  Schema.TaggedStruct("Done", {}),
  Schema.TaggedStruct("Opened", { session: ConnectSessionLink }),
  Schema.TaggedStruct("Tested", { ok: Schema.Boolean, message: nullableText, accountLabel: nullableText }),
  Schema.TaggedStruct("Revealed", { secrets: Secrets }),
  Schema.TaggedStruct("Advanced", { outcome: StepOutcome }),
  /** `newer`: whether a newer credential than that of the refused call is stored. */
  Schema.TaggedStruct("Renewed", { newer: Schema.Boolean }),
  Schema.TaggedStruct("Signed", { headers: Schema.Array(Schema.Tuple(text, text)) })
)
export type CommandResult = typeof CommandResult.Type

export const Execute = Rpc.make("Execute", {
  payload: { command: ConnectionCommand },
  success: CommandResult,
  error: CommandRefusal
})

export const Connection = Entity.make("Connection", [Authorize, Settle, Execute]).annotate(
  ClusterSchema.ClientTracingEnabled,
  false
)
