/** Looks up the sessions of people. A result is at most one second old, so that one that ended stops working within a second. */
import { type Effect, type Option, Context } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import type { IdentityId, SessionId, SpaceId } from "../../../domain/Ids.js"
import type { Role, User } from "../../../domain/access/Person.js"
import type { Session } from "../../../domain/access/Session.js"
import type { KnownKey } from "../organisation/Keys.js"

/** A person of one organisation, who may act there. */
export interface OrganisationMember {
  readonly user: Pick<User, "id" | "email" | "name" | "customerIds">
  readonly role: Pick<Role, "id" | "name" | "permissions">
  readonly organisation: KnownKey["organisation"]
  /** The organisation's workspaces, the first one first. */
  readonly spaces: readonly [SpaceId, ...ReadonlyArray<SpaceId>]
}

/** A session that has not ended, with the organisations of its identity: at least one, the first one joined first. */
export interface KnownSession {
  readonly session: Session
  readonly email: string
  readonly memberships: readonly [OrganisationMember, ...ReadonlyArray<OrganisationMember>]
}

export class Sessions extends Context.Tag("svc/Sessions")<
  Sessions,
  {
    /** `hash`: of the token, see `Digests.keyHash`. None: it has ended, or its identity may act nowhere any more. */
    readonly find: (hash: string) => Effect.Effect<Option.Option<KnownSession>, Unavailable>
    /** The same from the cache, if it is fresh; synchronous, for the hot path. */
    readonly findCached: (hash: string, now: number) => KnownSession | undefined
    /** The time of its last request, in Unix milliseconds, including requests that are not yet written. */
    readonly seenAt: (session: Session) => number
    /** As `Keys.mayExist`, of sessions. */
    readonly mayExist: (hash: string) => Effect.Effect<boolean, Unavailable>
    /** Records that it was used; written in batches. */
    readonly recordUse: (session: Session, now: number) => void
    /** The sessions of an identity, the newest first. */
    readonly list: (identity: IdentityId) => Effect.Effect<ReadonlyArray<Session>, Unavailable>
    /** Ends a session of an identity; whether there was one. The caller writes the audit entry. */
    readonly end: (identity: IdentityId, id: SessionId) => Effect.Effect<boolean, Unavailable>
  }
>() {}
