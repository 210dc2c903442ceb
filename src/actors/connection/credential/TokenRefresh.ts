/**
 * Refreshes a connection's token: at most one request at a time in the cluster. The owner commits the intent, sends one
 * request to the token endpoint, commits the answer and wakes the waiting calls. From the intent on the refresh ends on this
 * node, also when the shard moves meanwhile: the new owner finds the intent and waits. Design: the actor is the lock.
 */
import { Clock, Deferred, Duration, Effect, Either, Exit, Fiber, FiberId, Redacted, type Scope } from "effect"
import { decideRecovery, isGrantLost } from "../../../domain/connection/Refresh.js"
import type { OAuth2Method } from "../../../domain/connector/AuthMethod.js"
import { Digests } from "../../ports/Digests.js"
import { Faults } from "../../ports/Faults.js"
import { TokenRequestFailed, type Tokens } from "../../ports/connection/TokenEndpoint.js"
import type { OrganisationVault } from "../../ports/Vault.js"
import { coolDownEnd } from "../CallGrant.js"
import { isRenewable, type OpenConnection, type ConnectionOwner } from "../ConnectionOwner.js"
import { ConnectionOwners } from "../ConnectionOwners.js"
import { isAway } from "../Insistence.js"
import type { CommandRefusal } from "../Protocol.js"
import { type BegunRefresh, makeRefreshIntents } from "./RefreshIntents.js"
import { makeTokenCommits } from "./TokenCommits.js"
import { type TokenCredential, tokensCredential, TokenRequests, renewalGrant } from "./TokenRequests.js"

/** How often a new owner polls for the answer that the previous owner may still commit. */
const pollInterval = Duration.millis(500)

/** Whether a token request was answered since `seen` was read: with another credential, or with a failure. */
const isAnswered = (seen: OpenConnection, open: OpenConnection): boolean =>
  open.credential?.number !== seen.credential?.number || coolDownEnd(open.connection) !== coolDownEnd(seen.connection)

const make = Effect.gen(function* () {
  const owners = yield* ConnectionOwners
  const intents = yield* makeRefreshIntents
  const commits = yield* makeTokenCommits
  const { clientOf, requestTokens } = yield* TokenRequests
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
    const look = intents.makeLook(self.id)
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
      const isInHand = look(intent, Number(yield* Clock.currentTimeNanos) / 1e6)
      const now = yield* Clock.currentTimeMillis
      const recovery = decideRecovery(intent, tokenStateOf(open, plain), { isInHand, now })
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

  /** Commits the tokens that the token endpoint answered. */
  const commitAnswer = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    {
      credential,
      held,
      intent,
      method,
      tokens,
      vault
    }: BegunRefresh & {
      readonly credential: TokenCredential
      readonly method: OAuth2Method
      readonly tokens: Tokens
      readonly vault: OrganisationVault
    }
  ) {
    const value = tokensCredential(tokens, method, credential, yield* Clock.currentTimeMillis)
    const number = held.credential?.number ?? 0
    const done = yield* commits.commitTokens(self, held, vault, { intent, number, value, scopes: tokens.scopes })
    self.usedSinceRefresh = false
    self.issuedNumber = done.credential?.number
    self.refusalsInARow = 0
  })

  /** Makes the refresh that is due, if any. */
  const refreshOnce = Effect.fnUntraced(function* (self: ConnectionOwner, seen: OpenConnection) {
    const found = yield* prepareRefresh(self, seen)
    if (found === undefined) return
    const { attempt, credential, method, open } = found
    const { refreshSeq, tokenHash } = tokenStateOf(open, credential)
    // Before the intent, so that nothing is waited for between its commit and the request.
    const client = yield* Effect.either(clientOf(open.connection, method, credential.fields, credential.provider))
    const vault = yield* owners.vaultOf(open.connection.organisationId)
    yield* runToEnd(
      Effect.gen(function* () {
        yield* intents.takeInHand(self.id)
        const begun = yield* intents.begin(self, open, { attempt, refreshSeq: refreshSeq + 1, tokenHash })
        if (begun === undefined) return
        const { held, intent } = begun
        yield* Effect.flatMap(client, (asked) =>
          requestTokens(held.connection, method, asked, renewalGrant(method, credential))
        ).pipe(
          // A request that cannot be sent counts as a failed refresh, with the same back-off.
          Effect.catchAll((failure) => (failure._tag === "TokenRequestFailed" ? failure : requestNotSent(failure))),
          Effect.either,
          Effect.zipLeft(faults.at("tokenReceived")),
          Effect.flatMap(
            Either.match({
              onLeft: (failure) => {
                const lost = isGrantLost(failure, method.refresh.lostCodes)
                const noted = { lost, reason: failure.message }
                return Effect.asVoid(commits.commitFailure(self, held, { number: refreshSeq, intent }, noted))
              },
              onRight: (tokens) => commitAnswer(self, { held, intent, vault, tokens, method, credential })
            })
          ),
          Effect.onExit((exit) =>
            Exit.isSuccess(exit) || isAway(exit) ? Effect.void : intents.giveBack(self, intent, { wasSent: true })
          )
        )
      }).pipe(Effect.scoped)
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

  // Before the first message of a connection.
  yield* commits.commitFiles(intents.holding)

  return { renew }
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
