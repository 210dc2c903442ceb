/** Use cases of people who sign in and out in a browser. There are no passwords. Specification: Authorisation. */
import { DateTime, Effect, Option, Redacted } from "effect"
import { actorOf } from "../../../domain/access/Caller.js"
import { type Browser, isOver } from "../../../domain/access/Session.js"
import type { Unavailable } from "../../../domain/Failure.js"
import { Sessions } from "../../ports/access/Sessions.js"
import { type FailedSignIn, SignIns } from "../../ports/access/SignIns.js"
import { AuditTrail } from "../../ports/AuditTrail.js"
import { Digests } from "../../ports/Digests.js"
import { Identifiers } from "../../ports/Identifiers.js"

const tokenLength = 43

const make = Effect.gen(function* () {
  const sessions = yield* Sessions
  const signIns = yield* SignIns
  const digests = yield* Digests
  const identifiers = yield* Identifiers
  const trail = yield* AuditTrail

  const hashOf = (token: string) => digests.keyHash(`session|${token}`)

  /** The session of a token, if it has not ended. */
  const find = Effect.fnUntraced(function* (token: string) {
    const known = Option.getOrUndefined(yield* sessions.find(hashOf(token)))
    const now = DateTime.toEpochMillis(yield* DateTime.now)
    return known === undefined || isOver(known.session, sessions.seenAt(known.session), now) ? undefined : known
  })

  /** Tells the organisation of a try that failed; such tries are counted by the minute. */
  const auditRefusal = Effect.fnUntraced(function* (failed: FailedSignIn | undefined, browser: Browser) {
    if (failed === undefined) return
    const { organisationId, person, reason } = failed
    trail.countRefusal({
      id: identifiers.next("aud"),
      organisationId,
      at: DateTime.formatIso(yield* DateTime.now),
      actor: actorOf({ kind: "person", id: person.id ?? "unknown", name: person.name, ...browser }),
      action: "auth.login_failed",
      resource: { type: "user", id: person.id, name: person.name },
      customerId: null,
      outcome: "failure",
      requestId: null,
      changes: [{ path: "error", before: null, after: reason }],
      count: 1
    })
  })

  return {
    /** Opens a session by the token of a link; its own token is in this answer only. None: the link is not valid any more. */
    open: (linkToken: string, browser: Browser): Effect.Effect<Option.Option<Redacted.Redacted>, Unavailable> =>
      Effect.suspend(() => {
        const token = identifiers.token(tokenLength)
        const session = {
          id: identifiers.next("ses"),
          hash: hashOf(token),
          browser,
          identityId: identifiers.next("idn"),
          userId: identifiers.next("usr"),
          auditId: identifiers.next("aud")
        }
        return Effect.flatMap(signIns.open(digests.keyHash(`sign-in|${linkToken}`), session), (outcome) =>
          outcome._tag === "SignedIn"
            ? Effect.succeedSome(Redacted.make(token))
            : Effect.as(auditRefusal(outcome.failed, browser), Option.none())
        )
      }),

    /** The address of the person whose session it is; `undefined`: it has ended. */
    emailOf: (token: string): Effect.Effect<string | undefined, Unavailable> =>
      Effect.map(find(token), (known) => known?.email),

    /** Ends the session, if it has not ended. */
    close: Effect.fnUntraced(function* (token: string, browser: Browser): Effect.fn.Return<void, Unavailable> {
      const known = yield* find(token)
      if (known === undefined) return
      const { memberships, session } = known
      const [{ organisation, user }] = memberships
      yield* signIns.close(session.id, {
        id: identifiers.next("aud"),
        organisationId: organisation.id,
        at: DateTime.formatIso(yield* DateTime.now),
        actor: actorOf({ kind: "person", id: user.id, name: user.name ?? user.email, ...browser }),
        action: "auth.logout",
        resource: { type: "session", id: session.id, name: null },
        customerId: null,
        outcome: "success",
        requestId: null,
        changes: [],
        count: 1
      })
    })
  }
})

export class SignIn extends Effect.Service<SignIn>()("svc/SignIn", { effect: make }) {}
