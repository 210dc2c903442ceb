/** Use cases of people who are invited: they see what they are invited to, and accept it. Contract: users. */
import { Context, Effect, Option, type Redacted } from "effect"
import type { Browser } from "../../../domain/access/Session.js"
import type { Unavailable } from "../../../domain/Failure.js"
import type { IdentityId, AuditId } from "../../../domain/Ids.js"
import { IdentityProvider } from "../../ports/access/IdentityProvider.js"
import { Digests } from "../../ports/Digests.js"
import { Identifiers } from "../../ports/Identifiers.js"
import { makeSignInAttempts } from "./SignInAttempts.js"
import type { NewSession, SignInOutcome } from "../../ports/access/SignIns.js"

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

/** Invitations, found by the hash of their token: accepting one makes or links the identity of its person, once. */
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

/** The hash by which an invitation is known. */
export const inviteHash = (digests: Digests["Type"], token: string): string => digests.keyHash(`invite|${token}`)

const make = Effect.gen(function* () {
  const invitations = yield* Invitations
  const digests = yield* Digests
  const identifiers = yield* Identifiers
  const { attempt, refuse } = yield* makeSignInAttempts
  const isOn = !Option.exists(yield* IdentityProvider, ({ isOnly }) => isOnly)

  return {
    /** None: there is no such invitation, or it has ended. */
    find: (token: string): Effect.Effect<Option.Option<OpenInvitation>, Unavailable> =>
      invitations.find(inviteHash(digests, token)),

    /** Whether it is accepted without signing in at the operator's provider. */
    isOn,

    /** Accepts it with an identity of its own, and opens a session, whose token is in this answer only. None: refused. */
    acceptAnew: (token: string, browser: Browser): Effect.Effect<Option.Option<Redacted.Redacted>, Unavailable> =>
      isOn
        ? attempt(browser, (session) => invitations.acceptAnew(inviteHash(digests, token), session))
        : Effect.succeedNone,

    /** Links it to who is signed in; `false`: refused. */
    acceptAs: Effect.fnUntraced(function* (
      token: string,
      identityId: IdentityId,
      browser: Browser
    ): Effect.fn.Return<boolean, Unavailable> {
      const as = { identityId, browser, auditId: identifiers.next("aud") }
      const outcome = yield* invitations.acceptAs(inviteHash(digests, token), as)
      if (outcome._tag === "Refused") yield* refuse(outcome, browser)
      return outcome._tag === "SignedIn"
    })
  }
})

export class InvitationAcceptance extends Effect.Service<InvitationAcceptance>()("svc/InvitationAcceptance", {
  effect: make
}) {}
