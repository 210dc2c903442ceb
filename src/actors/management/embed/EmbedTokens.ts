/** Use cases of embed tokens: a backend mints one for a customer's person, and a page refreshes it. Contract: embed. */
import { Clock, Effect, Option, Schema } from "effect"
import { embedFramePath } from "../../../domain/access/EmbedFrame.js"
import {
  EmbedSession,
  embedToken,
  embedTokenHash,
  embedTokenRefusal,
  embedTokenSeconds,
  endedRefusal,
  openedEmbedSession,
  sessionRefusal,
  withNextToken
} from "../../../domain/access/EmbedSession.js"
import { type Failure, invalid, NotFound, refuseWith } from "../../../domain/Failure.js"
import { EmbedSessions } from "../../ports/access/EmbedSessions.js"
import { Digests } from "../../ports/Digests.js"
import { Origin } from "../../ports/Origin.js"
import { Identifiers } from "../../ports/Identifiers.js"
import { Records, type Tx } from "../../ports/Records.js"
import type { CallContext } from "../CallContext.js"
import { reaches } from "../Caller.js"
import { Changes } from "../Changes.js"
import { type MintToken, requestedSession } from "./MintedSession.js"

/** A token with its session, in the form of the answer. */
export const EmbedToken = Schema.Struct({
  token: Schema.String,
  endOrgId: Schema.String.annotations({ description: "the customer" }),
  role: Schema.Literal("end_user"),
  expiresIn: Schema.Number.annotations({ description: "seconds until the token expires" }),
  sessionId: Schema.String,
  sessionExpiresAt: Schema.String.annotations({
    description: "when the session ends, however often its token is refreshed"
  }),
  iframeUrl: Schema.String.annotations({
    description: "the address of the panel for an iframe, with the token; it is shown in pages of the session's origins"
  })
}).annotations({ identifier: "EmbedToken" })

const resourceOf = ({ customerId, id, userName }: EmbedSession) => ({ id, name: userName, customerId })

const make = Effect.gen(function* () {
  const { change } = yield* Changes
  const records = yield* Records
  const sessions = yield* EmbedSessions
  const identifiers = yield* Identifiers
  const { keyHash } = yield* Digests
  const origin = yield* Origin

  /** The newest token of a session. `now`: Unix milliseconds. */
  const tokenOf = (session: EmbedSession, now: number): typeof EmbedToken.Type => {
    const token = embedToken(keyHash, session.id, session.tokenNumber)
    return {
      token,
      endOrgId: session.customerId,
      role: "end_user",
      expiresIn: embedTokenSeconds(session, session.tokenHash, now),
      sessionId: session.id,
      sessionExpiresAt: session.expiresAt,
      iframeUrl: `${origin}${embedFramePath}?token=${token}`
    }
  }

  const mint = (context: CallContext, input: MintToken) =>
    change(context, function* (tx) {
      const { body, tokenSeconds, written } = yield* requestedSession(tx, context, input)
      const now = yield* Clock.currentTimeMillis
      const opened = openedEmbedSession(keyHash, identifiers.next("ems"), tokenSeconds, now)
      const session = EmbedSession.create(body, { ...written, ...opened }, new Date(now).toISOString())
      yield* tx.embedSessions.insert(session)
      return { value: tokenOf(session, now), resource: resourceOf(session), after: EmbedSession.show(session) }
    })

  /** The session of the token, locked; whoever refreshes it at the same time waits, and then finds the newer token. */
  const lockSession = Effect.fnUntraced(function* (tx: Tx, context: CallContext, hash: string) {
    const current = yield* tx.embedSessions.lock({ tokenHash: hash })
    const found = Option.isSome(current) ? current : yield* tx.embedSessions.lock({ replacedHash: hash })
    const session = Option.getOrUndefined(found)
    if (session === undefined || !reaches(context.caller, session.customerId))
      return yield* new NotFound({ what: "embed token" })
    context.customerId = session.customerId
    return session
  })

  /**
   * The session after the refresh. A token that was refreshed a moment ago gets the same newer one, so that all tabs of a page
   * that refresh at once have the same.
   */
  const refreshed = Effect.fnUntraced(function* (
    tx: Tx,
    context: CallContext,
    hash: string,
    now: number
  ): Effect.fn.Return<EmbedSession, Failure> {
    const session = yield* lockSession(tx, context, hash)
    yield* refuseWith(sessionRefusal(session, now) ?? embedTokenRefusal(session, hash, now, true))
    if (session.tokenHash !== hash) return session
    const next = withNextToken(keyHash, session, now)
    // Its row is locked, and its tokens are like no others.
    yield* Effect.catchTags(tx.embedSessions.update(next), { AlreadyExists: Effect.die, Changed: Effect.die })
    return next
  })

  /** Of the session's own page. Its mint was audited, and it gets no more than that allowed. */
  const refreshOwn = Effect.fnUntraced(function* (context: CallContext) {
    const { embedded, organisationId } = context.caller
    if (embedded === null) return yield* new NotFound({ what: "embed token" })
    const now = yield* Clock.currentTimeMillis
    const session = yield* records.transact(organisationId, (tx) => refreshed(tx, context, embedded.tokenHash, now))
    context.isAudited = true
    return tokenOf(session, now)
  })

  /** Of a backend, which sends the token in the body. */
  const refresh = Effect.fnUntraced(function* (context: CallContext, token: string | undefined) {
    if (token === undefined) return yield* invalid("token", "REQUIRED", "is required: the embed token to refresh")
    const hash = embedTokenHash(keyHash, token)
    const now = yield* Clock.currentTimeMillis
    // The session also ends with its customer and its key, whose records the transaction does not read.
    const known = Option.getOrUndefined(yield* sessions.find(hash))
    if (known !== undefined && known.organisation.id === context.caller.organisationId)
      yield* refuseWith(endedRefusal(known, now))
    return yield* change(context, function* (tx) {
      const session = yield* refreshed(tx, context, hash, now)
      return { value: tokenOf(session, now), resource: resourceOf(session) }
    })
  })

  return { mint, refresh, refreshOwn }
})

/** Each fails with `SESSION_EXPIRED` or `TOKEN_EXPIRED` where a session or its token is over. */
export class EmbedTokens extends Effect.Service<EmbedTokens>()("svc/EmbedTokens", { effect: make }) {}
