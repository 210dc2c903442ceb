/** Looks up embed sessions. A result is at most one second old, so that one that ended stops working within a second. */
import { type Effect, type Option, Context } from "effect"
import type { ApiKey } from "../../../domain/access/ApiKey.js"
import type { EmbedSession } from "../../../domain/access/EmbedSession.js"
import type { Unavailable } from "../../../domain/Failure.js"
import type { Customer } from "../../../domain/organisation/Customer.js"
import type { KnownKey } from "../organisation/Keys.js"

/** The session of a presented token, which may have ended, with what decides whether it lasts and what it may do. */
export interface KnownEmbedSession {
  readonly session: EmbedSession
  /** The key that opened it. */
  readonly key: ApiKey
  readonly customer: Pick<Customer, "id" | "name" | "status">
  readonly organisation: KnownKey["organisation"]
}

export class EmbedSessions extends Context.Tag("svc/EmbedSessions")<
  EmbedSessions,
  {
    /** `hash`: of the token, see `embedTokenHash`; also of the one that it replaced. */
    readonly find: (hash: string) => Effect.Effect<Option.Option<KnownEmbedSession>, Unavailable>
    /** The same from the cache, if it is fresh; synchronous, for the hot path. */
    readonly findCached: (hash: string, now: number) => KnownEmbedSession | undefined
    /** As `Keys.mayExist`, of tokens. */
    readonly mayExist: (hash: string) => Effect.Effect<boolean, Unavailable>
    /** Whether a session that lasts, or a published widget, names the origin; at most one second old. */
    readonly isOriginNamed: (origin: string) => Effect.Effect<boolean, Unavailable>
  }
>() {}
