/**
 * Tokens that a provider has issued while the database did not answer, in files of the process' data directory: the provider
 * may take no other, so they are to survive the process. Sealed for the row that they will have.
 */
import { Context, Data, type Effect } from "effect"
import type { RefreshIntent } from "../../../domain/connection/Refresh.js"
import type { ConnectionId } from "../../../domain/Ids.js"
import type { SealedCredential } from "./ConnectionStore.js"

/** The answer of a token endpoint that is not committed. */
export interface UnstoredAnswer {
  readonly connectionId: ConnectionId
  readonly organisationId: string
  /** What the connection is to hold: its number is one more than that of the credential which was refreshed. */
  readonly credential: SealedCredential
  /** The scopes that the provider granted; `null`: it named none. */
  readonly scopes: ReadonlyArray<string> | null
  /** Of the request that was answered. */
  readonly intent: RefreshIntent
}

/** The file cannot be written, read or removed. */
export class TokensNotKept extends Data.TaggedError("TokensNotKept")<{ readonly reason: string }> {}

export class UnstoredTokens extends Context.Tag("svc/UnstoredTokens")<
  UnstoredTokens,
  {
    /** Returns once the file is on the disk. One file for a connection: it replaces an earlier one. */
    readonly keep: (answer: UnstoredAnswer) => Effect.Effect<void, TokensNotKept>
    /** Nothing to do without a file. */
    readonly remove: (id: ConnectionId) => Effect.Effect<void, TokensNotKept>
    /** The connections with a file, of this process or of one before it. */
    readonly ids: Effect.Effect<ReadonlyArray<ConnectionId>, TokensNotKept>
    /** Fails for a file that this service did not write. */
    readonly read: (id: ConnectionId) => Effect.Effect<UnstoredAnswer, TokensNotKept>
  }
>() {}
