/** What may be asked of a connection's actor: the one owner of its credential in the whole cluster. */
import { ClusterSchema, Entity } from "@effect/cluster"
import { Rpc } from "@effect/rpc"
import { Schema } from "effect"
import type { By } from "../ports/Connections.js"
import { JsonObject } from "../../domain/Json.js"
import { statuses } from "../../domain/connection/Connection.js"

const text = Schema.String
const nullable = Schema.NullOr(text)

/** Records between actors of one release: plain data that travels as it is. */
const plain = <A extends object>() =>
  Schema.declare((value: unknown): value is A => typeof value === "object" && value !== null)

const Secrets = Schema.Record({ key: text, value: Schema.Redacted(text) })
const Texts = Schema.Record({ key: text, value: text })

/** Why an order came to nothing, as data. */
export const Refusal = Schema.Union(
  /** Also when it is another organisation's. */
  Schema.TaggedStruct("NotFound", {}),
  Schema.TaggedStruct("NotActive", { status: Schema.Literal(...statuses), reason: text }),
  Schema.TaggedStruct("WrongState", { status: Schema.Literal(...statuses), message: text }),
  Schema.TaggedStruct("Invalid", { path: text, code: text, message: text }),
  /** The provider does not take the credential, or could not be asked. */
  Schema.TaggedStruct("CredentialRefused", { message: text }),
  Schema.TaggedStruct("VersionMismatch", {}),
  Schema.TaggedStruct("Busy", { reason: text, retryAfterSeconds: Schema.Number })
)
export type Refusal = typeof Refusal.Type

const asked = { organisationId: text } as const
const ordered = { ...asked, by: plain<By>() } as const

const Reading = Schema.Struct({
  limit: Schema.NullOr(Schema.Number),
  remaining: Schema.NullOr(Schema.Number),
  resetAt: Schema.NullOr(Schema.Number),
  retryAfterAt: Schema.NullOr(Schema.Number)
})

const Session = Schema.Struct({ id: text, token: Schema.Redacted(text), expiresAt: text })

const Outcome = Schema.Union(Schema.TaggedStruct("Connected", {}), Schema.TaggedStruct("Redirect", { url: text }))

// --- Calls ---

export const Authorize = Rpc.make("Authorize", {
  payload: { ...asked, origin: text, executionId: nullable, timeoutMillis: Schema.Number },
  success: Schema.Union(
    Schema.TaggedStruct("Granted", { grant: Schema.Uint8ArrayFromSelf, permit: text }),
    Schema.TaggedStruct("WaitUntil", { at: Schema.Number, why: Schema.Literal("rate_limit", "connection") })
  ),
  error: Refusal
})

export const Settle = Rpc.make("Settle", {
  payload: { ...asked, permit: text, status: Schema.NullOr(Schema.Number), reading: Schema.NullOr(Reading) }
})

export const Sign = Rpc.make("Sign", {
  payload: {
    ...asked,
    method: text,
    url: text,
    body: Schema.NullOr(Schema.Union(text, Schema.Uint8ArrayFromSelf)),
    challenge: nullable
  },
  success: Schema.Array(Schema.Tuple(text, text)),
  error: Refusal
})

// --- Orders ---

export const Create = Rpc.make("Create", {
  payload: {
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
  },
  success: Schema.NullOr(Session),
  error: Refusal
})

export const StoreCredential = Rpc.make("StoreCredential", {
  payload: { ...ordered, credential: Secrets, config: Schema.NullOr(JsonObject), skipTest: Schema.Boolean },
  error: Refusal
})

export const Reconnect = Rpc.make("Reconnect", {
  payload: { ...ordered, redirectUrl: nullable, authMethod: nullable, config: Schema.NullOr(JsonObject) },
  success: Session,
  error: Refusal
})

export const Test = Rpc.make("Test", {
  payload: ordered,
  success: Schema.Struct({ ok: Schema.Boolean, message: nullable, accountLabel: nullable }),
  error: Refusal
})

export const Refresh = Rpc.make("Refresh", { payload: ordered, error: Refusal })
export const Enable = Rpc.make("Enable", { payload: ordered, error: Refusal })
export const Disable = Rpc.make("Disable", { payload: ordered, error: Refusal })

export const Edit = Rpc.make("Edit", {
  payload: {
    ...ordered,
    label: nullable,
    tags: Schema.NullOr(Texts),
    isDefault: Schema.Boolean,
    version: Schema.NullOr(Schema.Number)
  },
  error: Refusal
})

export const Reveal = Rpc.make("Reveal", { payload: ordered, success: Secrets, error: Refusal })

export const Disconnect = Rpc.make("Disconnect", {
  payload: { ...ordered, version: Schema.NullOr(Schema.Number) },
  error: Refusal
})

// --- Connect sessions ---

export const Submit = Rpc.make("Submit", {
  payload: { ...asked, sessionId: text, fields: Secrets, config: JsonObject },
  success: Outcome,
  error: Refusal
})

export const Complete = Rpc.make("Complete", {
  payload: { ...asked, sessionId: text, params: Schema.Record({ key: text, value: Schema.Redacted(text) }) },
  success: Outcome,
  error: Refusal
})

// --- Time ---

/** The sweep found it due: renew what is to be renewed, end what has ended. Idempotent. */
export const Look = Rpc.make("Look", { payload: asked })

/** Nobody completed it. Idempotent. */
export const Abandon = Rpc.make("Abandon", { payload: asked })

export const Connection = Entity.make("Connection", [
  Authorize,
  Settle,
  Sign,
  Create,
  StoreCredential,
  Reconnect,
  Test,
  Refresh,
  Enable,
  Disable,
  Edit,
  Reveal,
  Disconnect,
  Submit,
  Complete,
  Look,
  Abandon
]).annotate(ClusterSchema.ClientTracingEnabled, false)
