/** Connect sessions, in which a person enters the credential of a connection. Contract: connection record. */
import { Schema } from "effect"
import { NullableText } from "../Scalars.js"
import { ConnectionId, ConnectSessionId, OrganisationId } from "../Ids.js"
import { JsonObject } from "../Json.js"
import { generatedValue, hidden, owner, recordOf } from "../Record.js"
import { AnsweredTime } from "../Time.js"
import { AuthorizationRequest } from "./Callback.js"

/** A session. Only the hash of its link's token is stored. */
export const ConnectSession = recordOf("ConnectSession", {
  id: generatedValue(ConnectSessionId),
  organisationId: owner(OrganisationId),
  connectionId: hidden(ConnectionId),
  tokenHash: hidden(Schema.String),
  authMethod: hidden(Schema.String),
  authProvider: hidden(NullableText),
  config: hidden(JsonObject),
  redirectUrl: hidden(NullableText),
  /** The connection existed before and stays unchanged if this session fails. */
  reconnects: hidden(Schema.Boolean),
  status: hidden(Schema.Literal("open", "completed", "failed", "expired")),
  error: hidden(NullableText),
  createdBy: hidden(Schema.String),
  expiresAt: generatedValue(AnsweredTime)
})
/** The stored session. */
export type ConnectSession = typeof ConnectSession.stored.Type

/** A session as requests read it: without what could be used to complete it. */
export const ConnectSessionState = ConnectSession.stored.pick(
  "id",
  "organisationId",
  "connectionId",
  "status",
  "error",
  "createdBy",
  "expiresAt"
)
export type ConnectSessionState = typeof ConnectSessionState.Type

/** How far a session has come. `connectionId`, `error`: `null` until it has completed, or failed. */
export const ConnectProgress = Schema.Struct({
  status: Schema.Literal("open", "completed", "failed", "expired"),
  connectionId: NullableText,
  error: NullableText
}).annotations({ identifier: "ConnectProgress" })

/** `now`: Unix milliseconds. */
export const connectProgress = (
  { connectionId, error, expiresAt, status }: ConnectSessionState,
  now: number
): typeof ConnectProgress.Type => ({
  status: status === "open" && Date.parse(expiresAt) <= now ? "expired" : status,
  connectionId: status === "completed" ? connectionId : null,
  error
})

/** A session with its authorization request at the provider. */
export const AuthorizingSession = Schema.Struct({
  ...ConnectSession.stored.fields,
  /** The PKCE verifier, sealed. */
  verifier: Schema.NullOr(Schema.Uint8ArrayFromSelf),
  /** `null` before the request was made, and for sessions of releases that did not record it. */
  asked: Schema.NullOr(AuthorizationRequest),
  /** Its connection was created before connectors had callback paths of their own. */
  commonCallback: Schema.Boolean
})
export type AuthorizingSession = typeof AuthorizingSession.Type
