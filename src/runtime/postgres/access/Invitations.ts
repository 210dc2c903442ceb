/** The port `Invitations`. As the writer's role: identities belong to no organisation. */
import { Clock, Effect, Layer, Option, Schema } from "effect"
import { Invitations, type SignedInAccepter } from "../../../actors/management/access/InvitationAcceptance.js"
import { type NewSession, type SignInOutcome, unknownSignIn } from "../../../actors/ports/access/SignIns.js"
import { actorOf } from "../../../domain/access/Caller.js"
import type { AuditId, IdentityId } from "../../../domain/Ids.js"
import type { Browser } from "../../../domain/access/Session.js"
import { firstRow } from "../database/DatabaseUnavailable.js"
import { rowDecoder } from "../record/Table.js"
import {
  decodePerson,
  makeSessionOpening,
  mayBeGiven,
  type Person,
  personColumns,
  refusalOf
} from "./SessionOpening.js"

const decodeOpen = rowDecoder("users", { email: Schema.String, organisation: Schema.String, role: Schema.String })

const openSql = `SELECT u.email, o.name AS organisation, r.name AS role
  FROM users u JOIN organisations o ON o.id = u.org JOIN roles r ON r.id = u.role_id
  WHERE u.invite_hash = $1 AND u.status = 'invited' AND u.invite_expires_at > now() AND ${mayBeGiven}`

/** Locks the person, so that of two who accept one does. */
const takeSql = `SELECT ${personColumns}, u.invite_expires_at > now() AS "isInTime"
  FROM users u JOIN roles r ON r.id = u.role_id
  WHERE u.invite_hash = $1 AND u.status = 'invited' AND ${mayBeGiven} FOR NO KEY UPDATE OF u`
const decodeInTime = rowDecoder("users", { isInTime: Schema.Boolean })

/** The statements that accept an invitation, in the caller's transaction. */
export const makeAcceptance = Effect.gen(function* () {
  const { activate, audit, sql } = yield* makeSessionOpening

  /** The invited person, or the refusal. */
  const take = Effect.fnUntraced(function* (hash: string) {
    const [row] = yield* sql.unsafe(takeSql, [hash])
    if (row === undefined) return unknownSignIn
    const person = decodePerson(row)
    return decodeInTime(row).isInTime ? ({ _tag: "Taken", person } as const) : refusalOf([person], "INVITATION_EXPIRED")
  })

  /** Whether the identity has another person in the organisation. */
  const isMember = ({ organisationId }: Person, identityId: IdentityId) =>
    Effect.map(
      sql`SELECT FROM users WHERE org = ${organisationId} AND identity_id = ${identityId}`,
      (rows) => rows.length > 0
    )

  /** Lets the person act as the identity, with the audit entry. */
  const accept = Effect.fnUntraced(function* (
    person: Person,
    identityId: IdentityId,
    browser: Browser,
    auditId: AuditId
  ) {
    yield* activate(person, identityId)
    const at = new Date(yield* Clock.currentTimeMillis).toISOString()
    const { email, id, name, organisationId } = person
    yield* audit.write(sql, [
      {
        id: auditId,
        organisationId,
        at,
        actor: actorOf({ kind: "person", id, name: name ?? email, ...browser }),
        action: "user.accept",
        resource: { type: "user", id, name: email },
        customerId: null,
        outcome: "success",
        requestId: null,
        changes: [{ path: "status", before: "invited", after: "active" }],
        count: 1
      }
    ])
  })

  return { accept, isMember, take }
})

export const layer = Layer.effect(
  Invitations,
  Effect.gen(function* () {
    const { inTransaction, makeIdentity, openSession, sql } = yield* makeSessionOpening
    const { accept, isMember, take } = yield* makeAcceptance

    const acceptAnew = Effect.fnUntraced(function* (hash: string, session: NewSession) {
      const taken = yield* take(hash)
      if (taken._tag === "Refused") return taken
      const { browser, identityId, nextAuditId } = session
      yield* makeIdentity(identityId, taken.person.email)
      yield* accept(taken.person, identityId, browser, nextAuditId())
      yield* openSession(identityId, "invitation", session)
      return { _tag: "SignedIn" } satisfies SignInOutcome
    })

    const acceptAs = Effect.fnUntraced(function* (hash: string, { auditId, browser, identityId }: SignedInAccepter) {
      const taken = yield* take(hash)
      if (taken._tag === "Refused") return taken
      // It ends with the last person who points to it.
      const [identity] = yield* sql`SELECT id FROM identities WHERE id = ${identityId} FOR KEY SHARE`
      if (identity === undefined) return unknownSignIn
      if (yield* isMember(taken.person, identityId)) return refusalOf([taken.person], "ALREADY_MEMBER")
      yield* accept(taken.person, identityId, browser, auditId)
      return { _tag: "SignedIn" } satisfies SignInOutcome
    })

    return Invitations.of({
      find: (hash) => Effect.map(firstRow(sql.unsafe(openSql, [hash]), decodeOpen), Option.fromNullable),
      acceptAnew: (hash, session) => inTransaction(acceptAnew(hash, session)),
      acceptAs: (hash, as) => inTransaction(acceptAs(hash, as))
    })
  })
)
