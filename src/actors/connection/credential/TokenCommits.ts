/**
 * Commits what a token endpoint has answered, however long the database is away. Meanwhile tokens are kept in a file, which the
 * next process of this data directory commits if this one ends before.
 */
import { Context, Data, Duration, Effect, type Scope } from "effect"
import { credentialFingerprint } from "../../../domain/connection/Credential.js"
import { isSameRequest, type RefreshIntent } from "../../../domain/connection/Refresh.js"
import { InvalidState } from "../../../domain/Failure.js"
import type { ConnectionId } from "../../../domain/Ids.js"
import { Digests } from "../../ports/Digests.js"
import { Ownership } from "../../ports/Ownership.js"
import type { OrganisationVault } from "../../ports/Vault.js"
import { type ConnectionOwner, newOwner, type OpenConnection, system } from "../ConnectionOwner.js"
import { ConnectionOwners } from "../ConnectionOwners.js"
import { insist, isAway } from "../Insistence.js"
import { sealNumbered } from "./CredentialSeal.js"
import type { TokenCredential } from "./TokenRequests.js"
import type { SealedCredential } from "../../ports/connection/ConnectionStore.js"

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

/**
 * Tokens that a provider has issued while the database did not answer, in files of the process' data directory: the
 * provider may take no other, so they are to survive the process. Sealed for the row that they will have.
 */
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

/** How long the files of an ended process are tried. */
const filePatience = Duration.minutes(1)

/** What a refresh yielded, and the request that it answers. */
interface Refreshed {
  readonly value: TokenCredential
  readonly scopes: ReadonlyArray<string> | null
  /** Of the credential that was refreshed. */
  readonly number: number
  readonly intent: RefreshIntent
}

/**
 * Refuses the end of a refresh when the credential was replaced since it began, or another refresh was begun. Where no intent
 * is stored any more, no request was sent since, so that these are the newest tokens.
 */
const requireRequest =
  ({ intent, number }: Pick<Refreshed, "intent" | "number">) =>
  (open: OpenConnection): InvalidState | undefined =>
    open.credential?.number === number && (open.intent === null || isSameRequest(open.intent, intent))
      ? undefined
      : new InvalidState({ state: open.connection.status, message: "the credential was replaced meanwhile" })

export const makeTokenCommits = Effect.gen(function* () {
  const owners = yield* ConnectionOwners
  const files = yield* UnstoredTokens
  const digests = yield* Digests
  const ownership = yield* Ownership

  const log = (id: ConnectionId, told: Effect.Effect<void>, facts: Record<string, unknown> = {}) =>
    Effect.annotateLogs(told, { connectionId: id, ...facts })

  /** Tries once to store tokens. */
  const store = (self: ConnectionOwner, organisation: string, refreshed: Refreshed) =>
    Effect.flatMap(owners.read(self, organisation), ({ connection }) =>
      owners.change(
        self,
        organisation,
        {
          _tag: "NoteRefresh",
          expiresAt: refreshed.value.expiresAt === null ? null : new Date(refreshed.value.expiresAt).toISOString(),
          scopes: refreshed.scopes ?? connection.scopes,
          fingerprint: credentialFingerprint(refreshed.value, digests.sha256Hex)
        },
        {
          credential: { value: refreshed.value, rotated: false },
          audit: { action: "credential.token_refresh", by: system },
          precondition: requireRequest(refreshed)
        }
      )
    )

  const removeFile = (id: ConnectionId) =>
    Effect.catchAll(files.remove(id), ({ reason }) =>
      log(id, Effect.logWarning("connection.kept_tokens_stay"), { reason })
    )

  /** Stores tokens. `vault` was opened before the request, since opening it may take the database. */
  const commitTokens = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    { connection, credential }: OpenConnection,
    vault: OrganisationVault,
    refreshed: Refreshed
  ) {
    let isKept = false
    const keep = Effect.suspend(() => {
      if (credential === null) return Effect.void
      const next = { id: credential.id, number: refreshed.number + 1 }
      return files.keep({
        connectionId: self.id,
        organisationId: connection.organisationId,
        credential: { ...next, sealed: sealNumbered(vault, next, refreshed.value) },
        scopes: refreshed.scopes,
        intent: refreshed.intent
      })
    }).pipe(
      Effect.matchEffect({
        onSuccess: () =>
          Effect.suspend(() => {
            isKept = true
            return log(self.id, Effect.logInfo("connection.tokens_kept"))
          }),
        onFailure: ({ reason }) => log(self.id, Effect.logWarning("connection.tokens_not_kept"), { reason })
      })
    )
    return yield* insist(store(self, connection.organisationId, refreshed), { onDelay: () => keep }).pipe(
      // One that gives up while the node stops leaves its file to the next start.
      Effect.onExit((exit) => (isKept && !isAway(exit) ? removeFile(self.id) : Effect.void))
    )
  })

  /** Notes that the token endpoint gave no tokens. */
  const commitFailure = (
    self: ConnectionOwner,
    { connection }: OpenConnection,
    request: Pick<Refreshed, "intent" | "number">,
    failure: { readonly lost: boolean; readonly reason: string }
  ) =>
    insist(
      owners.change(
        self,
        connection.organisationId,
        { _tag: "NoteRefreshFailure", ...failure },
        { precondition: requireRequest(request) }
      )
    )

  /** Commits the tokens of one file if they still are the newest, and removes it. */
  const commitFile = (id: ConnectionId) =>
    Effect.gen(function* () {
      const { credential, intent, organisationId, scopes } = yield* files.read(id)
      const number = credential.number - 1
      const self = newOwner(id, ownership.shardOf(id))
      const refusal = requireRequest({ number, intent })(yield* owners.read(self, organisationId))
      if (refusal !== undefined) return yield* refusal
      const value = yield* owners.openSealed(organisationId, credential)
      if (value._tag === "Tokens") yield* store(self, organisationId, { value, scopes, number, intent })
      yield* log(id, Effect.logInfo("connection.kept_tokens_stored"))
    }).pipe(
      Effect.catchIf(
        ({ _tag }) => _tag !== "Unavailable" && _tag !== "TokensNotKept",
        ({ _tag }) => log(id, Effect.logInfo("connection.kept_tokens_obsolete"), { reason: _tag })
      ),
      Effect.zipRight(removeFile(id))
    )

  /**
   * Commits what an ended process has left, beside other work; `holding` has each of these refreshes in hand meanwhile, so that
   * none is begun. What cannot be committed within a minute stays for the next start.
   */
  const commitFiles = (
    holding: (ids: ReadonlyArray<ConnectionId>, commit: Commit) => Effect.Effect<void, never, Scope.Scope>
  ) =>
    files.ids.pipe(
      Effect.flatMap((ids) =>
        holding(ids, (id) =>
          Effect.catchAll(insist(commitFile(id), { patience: filePatience }), (failure) =>
            log(id, Effect.logWarning("connection.kept_tokens_not_stored"), {
              reason: "reason" in failure ? failure.reason : failure._tag
            })
          )
        )
      ),
      Effect.catchAll(({ reason }) =>
        Effect.annotateLogs(Effect.logWarning("connection.kept_tokens_not_stored"), { reason })
      )
    )

  return { commitTokens, commitFailure, commitFiles }
})

type Commit = (id: ConnectionId) => Effect.Effect<void>
