/** Signs people in, who have a link that is valid once, and out: each time in one transaction with the audit entries. */
import { type Effect, Context } from "effect"
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
  readonly nextAuditId: () => AuditId
}

/** A try to sign in that failed, as an organisation's audit trail tells of it. */
export interface FailedSignIn {
  readonly organisationId: OrganisationId
  /** Whom it would have signed in. `id` is `null` if there is no such person. */
  readonly person: { readonly id: UserId | null; readonly name: string }
  readonly reason:
    | "LINK_USED"
    | "LINK_EXPIRED"
    | "NO_PERSON"
    | "INVITATION_EXPIRED"
    | "ALREADY_MEMBER"
    | "WRONG_CODE"
    | "TOO_MANY_TRIES"
}

/** A try that failed. `failed`: for each organisation that it can be attributed to; none: what was presented is unknown. */
export interface RefusedSignIn {
  readonly _tag: "Refused"
  readonly failed: ReadonlyArray<FailedSignIn>
}

/** How a try to sign in ended. */
export type SignInOutcome = { readonly _tag: "SignedIn" } | RefusedSignIn

/** A refusal that no organisation is told of. */
export const unknownSignIn: RefusedSignIn = { _tag: "Refused", failed: [] }

export class SignIns extends Context.Tag("svc/SignIns")<
  SignIns,
  {
    /** Takes the link, and opens the session of its person. */
    readonly open: (linkHash: string, session: NewSession) => Effect.Effect<SignInOutcome, Unavailable>
    /** Ends the session with its audit entries, unless it has ended. */
    readonly close: (session: SessionId, entries: ReadonlyArray<AuditEntry>) => Effect.Effect<void, Unavailable>
  }
>() {}
