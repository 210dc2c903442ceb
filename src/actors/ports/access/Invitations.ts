/** Invitations, found by the hash of their token: accepting one makes or links the identity of its person, once. */
import { type Effect, Context, type Option } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import type { AuditId, IdentityId } from "../../../domain/Ids.js"
import type { Browser } from "../../../domain/access/Session.js"
import type { NewSession, SignInOutcome } from "./SignIns.js"

/** An invitation that can be accepted, as its page shows it. */
export interface OpenInvitation {
  readonly email: string
  readonly organisation: string
  readonly role: string
}

/** Who accepts an invitation: a person who is signed in, to whose identity it is linked. */
export interface SignedInAccepter {
  readonly identityId: IdentityId
  readonly browser: Browser
  readonly auditId: AuditId
}

export class Invitations extends Context.Tag("svc/Invitations")<
  Invitations,
  {
    /** None: it is unknown, was accepted or replaced, or is too old. */
    readonly find: (hash: string) => Effect.Effect<Option.Option<OpenInvitation>, Unavailable>
    /** Accepts it with an identity of its own, which is made, and opens the session. */
    readonly acceptAnew: (hash: string, session: NewSession) => Effect.Effect<SignInOutcome, Unavailable>
    /** Links it to the identity of who is signed in. */
    readonly acceptAs: (hash: string, as: SignedInAccepter) => Effect.Effect<SignInOutcome, Unavailable>
  }
>() {}
