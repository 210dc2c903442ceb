/** Use cases of people who are invited: they see what they are invited to, and accept it. Contract: users. */
import { Effect, Option, type Redacted } from "effect"
import type { Browser } from "../../../domain/access/Session.js"
import type { Unavailable } from "../../../domain/Failure.js"
import type { IdentityId } from "../../../domain/Ids.js"
import { IdentityProvider } from "../../ports/access/IdentityProvider.js"
import { Invitations, type OpenInvitation } from "../../ports/access/Invitations.js"
import { Digests } from "../../ports/Digests.js"
import { Identifiers } from "../../ports/Identifiers.js"
import { makeSignInAttempts } from "./SignInAttempts.js"

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
