/** Use cases of people who sign in and out in a browser. There are no passwords. Specification: Authorisation. */
import { DateTime, Effect, Option, type Redacted } from "effect"
import { actorOf } from "../../../domain/access/Caller.js"
import { type Browser, isOver, type SignInMethod } from "../../../domain/access/Session.js"
import type { Unavailable } from "../../../domain/Failure.js"
import type { IdentityId } from "../../../domain/Ids.js"
import { Sessions } from "../../ports/access/Sessions.js"
import { SignIns } from "../../ports/access/SignIns.js"
import { Digests } from "../../ports/Digests.js"
import { Identifiers } from "../../ports/Identifiers.js"
import { makeSignInAttempts, sessionHash } from "./SignInAttempts.js"

/** Who has signed in. */
export interface SessionPerson {
  readonly identityId: IdentityId
  readonly email: string
  readonly method: SignInMethod
}

const make = Effect.gen(function* () {
  const sessions = yield* Sessions
  const signIns = yield* SignIns
  const digests = yield* Digests
  const identifiers = yield* Identifiers
  const { attempt } = yield* makeSignInAttempts

  /** The session of a token, if it has not ended. */
  const find = Effect.fnUntraced(function* (token: string) {
    const known = Option.getOrUndefined(yield* sessions.find(sessionHash(digests, token)))
    const now = DateTime.toEpochMillis(yield* DateTime.now)
    return known === undefined || isOver(known.session, sessions.seenAt(known.session), now) ? undefined : known
  })

  return {
    /** Opens a session by the token of a link; its own token is in this answer only. None: the link is not valid any more. */
    open: (linkToken: string, browser: Browser): Effect.Effect<Option.Option<Redacted.Redacted>, Unavailable> =>
      attempt(browser, (session) => signIns.open(digests.keyHash(`sign-in|${linkToken}`), session)),

    /** The person whose session it is; `undefined`: it has ended. */
    personOf: (token: string): Effect.Effect<SessionPerson | undefined, Unavailable> =>
      Effect.map(find(token), (known) =>
        known === undefined
          ? undefined
          : { identityId: known.session.identityId, email: known.email, method: known.session.method }
      ),

    /** Ends the session, if it has not ended. */
    close: Effect.fnUntraced(function* (token: string, browser: Browser): Effect.fn.Return<void, Unavailable> {
      const known = yield* find(token)
      if (known === undefined) return
      const { memberships, session } = known
      const at = DateTime.formatIso(yield* DateTime.now)
      const entries = memberships.map(({ organisation, user }) => ({
        id: identifiers.next("aud"),
        organisationId: organisation.id,
        at,
        actor: actorOf({ kind: "person", id: user.id, name: user.name ?? user.email, ...browser }),
        action: "auth.logout",
        resource: { type: "session", id: session.id, name: null },
        customerId: null,
        outcome: "success" as const,
        requestId: null,
        changes: [],
        count: 1
      }))
      yield* signIns.close(session.id, entries)
    })
  }
})

export class SignIn extends Effect.Service<SignIn>()("svc/SignIn", { effect: make }) {}
