/** Looks up the sessions of embed tokens outside authentication. Unknown tokens are counted together with those that it refuses. */
import { Effect, type Option } from "effect"
import { EmbedSessions, type KnownEmbedSession } from "../../actors/ports/access/EmbedSessions.js"
import { Digests } from "../../actors/ports/Digests.js"
import { embedTokenHash } from "../../domain/access/EmbedSession.js"
import type { Unavailable } from "../../domain/Failure.js"
import { RefusalCounters, subscriberOf } from "../auth/RefusalCounters.js"
import type { RequestHead } from "../Wire.js"

interface TokenLookUp {
  /** By which the session of a token is found. */
  readonly hashOf: (token: string) => string
  /** The session from the cache. `now`, here and below: Unix milliseconds. */
  readonly findCached: (hash: string, now: number) => KnownEmbedSession | undefined
  /**
   * The session, which may have ended. To an address that has sent many unknown tokens, only tokens that may exist are looked
   * up: others are none.
   */
  readonly find: (
    hash: string,
    request: RequestHead,
    now: number
  ) => Effect.Effect<Option.Option<KnownEmbedSession>, Unavailable>
  /** Counts an unknown token for the address of its request. */
  readonly countUnknown: (request: RequestHead, now: number) => void
}

/** `addressOf`: the client's address of a request. */
export const makeTokenLookUp = Effect.fnUntraced(function* (addressOf: (request: RequestHead) => string) {
  const sessions = yield* EmbedSessions
  const { keyHash } = yield* Digests
  const { unknownCredentials } = yield* RefusalCounters
  const senderOf = (request: RequestHead) => subscriberOf(addressOf(request))

  return {
    hashOf: (token) => embedTokenHash(keyHash, token),
    findCached: sessions.findCached,
    find: (hash, request, now) => {
      const found = sessions.find(hash)
      if (unknownCredentials.exceeded(senderOf(request), now) === undefined) return found
      return Effect.flatMap(sessions.mayExist(hash), (may) => (may ? found : Effect.succeedNone))
    },
    countUnknown: (request, now) => unknownCredentials.count(senderOf(request), now)
  } satisfies TokenLookUp
})
