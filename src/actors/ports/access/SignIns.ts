/** Signs people in, who have a link that is valid once, and out: each time in one transaction with the audit entry. */
import { type Effect, type Option, Context } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import type { AuditId, IdentityId, OrganisationId, SessionId, UserId } from "../../../domain/Ids.js"
import type { AuditEntry } from "../../../domain/audit/Audit.js"
import type { Browser } from "../../../domain/access/Session.js"

/** A link that signs in a person of an organisation, once. */
export interface SignInLink {
  /** Of its token, see `Digests.keyHash`. */
  readonly hash: string
  readonly organisationId: OrganisationId
  /** The person's; `null`: the owner, whom the link makes if there is none. */
  readonly email: string | null
}

/** A session that is to be opened, and the ids of what it may need. */
export interface NewSession {
  readonly id: SessionId
  /** Of its token, see `Digests.keyHash`. */
  readonly hash: string
  readonly browser: Browser
  readonly identityId: IdentityId
  readonly userId: UserId
  readonly auditId: AuditId
}

export class SignIns extends Context.Tag("svc/SignIns")<
  SignIns,
  {
    /** Takes the link, and opens the session of its person. None: there is no such link, or it was used or is too old. */
    readonly open: (linkHash: string, session: NewSession) => Effect.Effect<Option.Option<UserId>, Unavailable>
    /** Ends the session with its audit entry, unless it has ended. */
    readonly close: (session: SessionId, entry: AuditEntry) => Effect.Effect<void, Unavailable>
  }
>() {}
