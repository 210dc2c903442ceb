/**
 * Refreshes a connection's token: at most one request at a time in the cluster. The owner commits the intent, sends one
 * request to the token endpoint, commits the answer and wakes the waiting calls. From the intent on the refresh ends on this
 * node, also when the shard moves meanwhile: the new owner finds the intent and waits. Design: the actor is the lock.
 */
import { Clock, Deferred, Duration, Effect, Fiber, FiberId, Redacted, type Scope } from "effect"
import { credentialFingerprint } from "../../../domain/connection/Credential.js"
import { decideRecovery, isGrantLost, latestSendMillis } from "../../../domain/connection/Refresh.js"
import type { OAuth2Method } from "../../../domain/connector/AuthMethod.js"
import { ConnectionStore } from "../../ports/connection/ConnectionStore.js"
import { Digests } from "../../ports/Digests.js"
import { Faults } from "../../ports/Faults.js"
import { TokenRequestFailed, type Tokens } from "../../ports/connection/TokenEndpoint.js"
import { coolDownEnd } from "../CallGrant.js"
import {
  busy,
  isRenewable,
  type OpenConnection,
  type ConnectionOwner,
  system,
  withWriteLock
} from "../ConnectionOwner.js"
import { ConnectionOwners } from "../ConnectionOwners.js"
import type { CommandRefusal } from "../Protocol.js"
import { type TokenCredential, tokensCredential, makeTokenRequests, renewalGrant } from "./TokenRequests.js"

/** How often a new owner polls for the answer that the previous owner may still commit. */
const pollInterval = Duration.millis(500)

/** Whether a token request was answered since `seen` was read: with another credential, or with a failure. */
const isAnswered = (seen: OpenConnection, open: OpenConnection): boolean =>
  open.credential?.number !== seen.credential?.number || coolDownEnd(open.connection) !== coolDownEnd(seen.connection)

const requireNumber = (number: number | undefined) => (open: OpenConnection) =>
  open.credential?.number === number ? undefined : busy("the credential was replaced meanwhile")

const make = Effect.gen(function* () {
  const owners = yield* ConnectionOwners
  const store = yield* ConnectionStore
  const { clientOf, requestTokens } = yield* makeTokenRequests
  const digests = yield* Digests
  const faults = yield* Faults

  const node = yield* Effect.scope

  /**
   * Runs a refresh to its end, whatever becomes of the owner, at the end of the node too: its token may be the only one that
   * the provider still takes. Who waits for it may be interrupted.
   */
  const runToEnd = (refresh: Effect.Effect<void, CommandRefusal>) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(Effect.forkIn(refresh, node), (fiber) => restore(Fiber.join(fiber)))
    )

  const hashOf = ({ accessToken, refreshToken }: TokenCredential) =>
    digests.sha256Hex(Redacted.value(refreshToken ?? accessToken))

  const tokenStateOf = (open: OpenConnection, credential: TokenCredential) => ({
    refreshSeq: open.credential?.number ?? 0,
    tokenHash: hashOf(credential)
  })

  /**
   * Finds the refresh to make now, if any: none once the token endpoint has answered about the credential that was seen.
   * Waits until the request of a previous owner has ended or timed out.
   */
  const prepareRefresh = Effect.fnUntraced(function* (self: ConnectionOwner, seen: OpenConnection) {
    const organisation = seen.connection.organisationId
    for (;;) {
      const open = yield* owners.read(self, organisation)
      const { connection, intent, plain } = open
      // Another caller was faster, or the previous owner slow, not dead.
      if (isAnswered(seen, open)) return undefined
      if ((connection.status !== "active" && connection.status !== "inactive") || plain?._tag !== "Tokens")
        return undefined
      const definition = yield* owners.definitionOf(
        connection.organisationId,
        connection.connector,
        connection.connectorVersion
      )
      const method = yield* owners.methodOf(definition, connection.authMethod)
      if (method.type !== "oauth2" || !isRenewable(method, plain)) return undefined
      const found = { open, method, credential: plain }
      if (intent === null) return { ...found, attempt: 1 }
      const recovery = decideRecovery(intent, tokenStateOf(open, plain), yield* Clock.currentTimeMillis)
      switch (recovery._tag) {
        case "Retry":
          return { ...found, attempt: intent.attempt + 1 }
        case "Forget":
          return { ...found, attempt: 1 }
        case "GiveUp":
          yield* owners.change(self, organisation, {
            _tag: "NoteRefreshFailure",
            lost: true,
            reason: recovery.reason
          })
          return undefined
        case "Wait":
          // The previous owner may still commit its answer; a second request could revoke that token.
          yield* Effect.sleep(pollInterval)
          self.open = undefined
      }
    }
  })

  /** Commits the refresh intent. The request must be sent within two seconds after that. */
  const commitIntent = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    {
      attempt,
      credential,
      open
    }: { readonly open: OpenConnection; readonly credential: TokenCredential; readonly attempt: number }
  ) {
    const began = yield* Clock.currentTimeNanos
    const { refreshSeq, tokenHash } = tokenStateOf(open, credential)
    const intent = { refreshSeq: refreshSeq + 1, tokenHash, attempt, at: yield* Clock.currentTimeMillis }
    const revision = yield* withWriteLock(
      self,
      self.open === open ? store.intend(open, intent) : Effect.succeed(undefined)
    )
    if (revision === undefined) return undefined
    const held: OpenConnection = { ...open, revision, intent }
    self.open = held
    yield* faults.at("intentWritten")
    const elapsed = Number((yield* Clock.currentTimeNanos) - began) / 1e6
    if (elapsed <= latestSendMillis) return held
    // So late that another owner may already treat the intent as that of a dead owner.
    self.open = undefined
    return yield* busy("the refresh came too late to be sent; it is begun again")
  })

  /** Commits the tokens or the failure that the token endpoint answered. */
  const commitAnswer = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    held: OpenConnection,
    method: OAuth2Method,
    credential: TokenCredential,
    answer: { readonly tokens: Tokens } | { readonly failure: TokenRequestFailed }
  ) {
    const { connection } = held
    const precondition = requireNumber(held.credential?.number)
    if ("failure" in answer) {
      const { failure } = answer
      const lost = isGrantLost(failure, method.refresh.lostCodes)
      const command = { _tag: "NoteRefreshFailure", lost, reason: failure.message } as const
      return yield* owners.change(self, connection.organisationId, command, { precondition })
    }
    const { tokens } = answer
    const value = tokensCredential(tokens, method, credential, yield* Clock.currentTimeMillis)
    const done = yield* owners.change(
      self,
      connection.organisationId,
      {
        _tag: "NoteRefresh",
        expiresAt: value.expiresAt === null ? null : new Date(value.expiresAt).toISOString(),
        scopes: tokens.scopes ?? connection.scopes,
        fingerprint: credentialFingerprint(value, digests.sha256Hex)
      },
      {
        credential: { value, rotated: false },
        audit: { action: "credential.token_refresh", by: system },
        precondition
      }
    )
    self.usedSinceRefresh = false
    self.issuedNumber = done.credential?.number
    self.refusalsInARow = 0
    return done
  })

  /** Makes the refresh that is due, if any. */
  const refreshOnce = Effect.fnUntraced(function* (self: ConnectionOwner, seen: OpenConnection) {
    const found = yield* prepareRefresh(self, seen)
    if (found === undefined) return
    const { credential, method, open } = found
    // Before the intent, so that nothing is waited for between its commit and the request.
    const client = yield* Effect.either(clientOf(open.connection, method, credential.fields, credential.provider))
    yield* runToEnd(
      Effect.gen(function* () {
        const held = yield* commitIntent(self, found).pipe(
          Effect.catchTag("Stale", () => {
            self.open = undefined
            return busy("the connection is being changed elsewhere")
          })
        )
        if (held === undefined) return
        const answer = yield* Effect.flatMap(client, (asked) =>
          requestTokens(held.connection, method, asked, renewalGrant(method, credential))
        ).pipe(
          Effect.map((tokens) => ({ tokens })),
          Effect.catchTag("TokenRequestFailed", (failure) => Effect.succeed({ failure })),
          // A request that cannot be sent counts as a failed refresh, with the same back-off.
          Effect.catchAll((refusal) => Effect.succeed({ failure: requestNotSent(refusal) }))
        )
        yield* faults.at("tokenReceived")
        yield* commitAnswer(self, held, method, credential, answer)
      })
    )
  })

  /**
   * Joins the refresh in progress or begins one, which continues when its caller is interrupted. It replaces the credential
   * that the caller saw when it decided: one whose decision is outdated begins none, and reads what is stored now.
   */
  const renew = (self: ConnectionOwner, seen: OpenConnection, scope: Scope.Scope) =>
    Effect.suspend(() => {
      if (self.pendingRefresh !== undefined) return Effect.succeed(self.pendingRefresh)
      const done = Deferred.unsafeMake<void>(FiberId.none)
      self.pendingRefresh = done
      return refreshOnce(self, seen).pipe(
        // Callers read the connection afterwards, so that a change which overtook the refresh is no error.
        Effect.catchAll((refusal) =>
          Effect.annotateLogs(Effect.logInfo("connection.refresh_postponed"), {
            connectionId: self.id,
            reason: refusal._tag === "Unavailable" ? refusal.reason : refusal._tag
          })
        ),
        Effect.catchAllCause((cause) =>
          Effect.annotateLogs(Effect.logWarning("connection.refresh_failed", cause), { connectionId: self.id })
        ),
        Effect.ensuring(
          Effect.suspend(() => {
            self.pendingRefresh = undefined
            return Deferred.succeed(done, undefined)
          })
        ),
        Effect.forkIn(scope),
        Effect.as(done)
      )
    })

  return { renew, requestTokens, clientOf }
})

const requestNotSent = (refusal: CommandRefusal): TokenRequestFailed =>
  new TokenRequestFailed({
    status: null,
    codes: [],
    message:
      refusal._tag === "ValidationFailed"
        ? refusal.message
        : refusal._tag === "Unavailable"
          ? refusal.reason
          : "the token endpoint could not be asked"
  })

/** One per node. */
export class TokenRefresh extends Effect.Service<TokenRefresh>()("svc/connection/TokenRefresh", { scoped: make }) {}
