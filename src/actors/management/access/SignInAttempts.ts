/** What all ways of signing in share: the token of a new session, and telling organisations of tries that failed. */
import { DateTime, Effect, Option, Redacted } from "effect"
import { actorOf } from "../../../domain/access/Caller.js"
import type { Browser } from "../../../domain/access/Session.js"
import type { Unavailable } from "../../../domain/Failure.js"
import type { FailedSignIn, NewSession, RefusedSignIn, SignInOutcome } from "../../ports/access/SignIns.js"
import { AuditTrail } from "../../ports/AuditTrail.js"
import { Digests } from "../../ports/Digests.js"
import { Identifiers } from "../../ports/Identifiers.js"

/** The hash by which a session is known. */
export const sessionHash = (digests: Digests["Type"], token: string): string => digests.keyHash(`session|${token}`)

export const makeSignInAttempts = Effect.gen(function* () {
  const trail = yield* AuditTrail
  const digests = yield* Digests
  const identifiers = yield* Identifiers

  /** Tries of one minute, person and address are one entry with a count, so that they cannot fill a trail. */
  const tell = Effect.fnUntraced(function* (failed: ReadonlyArray<FailedSignIn>, browser: Browser) {
    const at = DateTime.formatIso(yield* DateTime.now)
    for (const { organisationId, person, reason } of failed)
      trail.countRefusal({
        id: identifiers.next("aud"),
        organisationId,
        at,
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

  /** Tries to sign in. The session's token is in this answer only; none: refused. */
  const attempt = Effect.fnUntraced(function* (
    browser: Browser,
    open: (session: NewSession) => Effect.Effect<SignInOutcome, Unavailable>
  ): Effect.fn.Return<Option.Option<Redacted.Redacted>, Unavailable> {
    const token = identifiers.secret()
    const outcome = yield* open({
      id: identifiers.next("ses"),
      hash: sessionHash(digests, token),
      browser,
      identityId: identifiers.next("idn"),
      userId: identifiers.next("usr"),
      nextAuditId: () => identifiers.next("aud")
    })
    if (outcome._tag === "SignedIn") return Option.some(Redacted.make(token))
    yield* tell(outcome.failed, browser)
    return Option.none()
  })

  /** Tells of a refusal. */
  const refuse = ({ failed }: RefusedSignIn, browser: Browser) => tell(failed, browser)

  return { attempt, refuse }
})
