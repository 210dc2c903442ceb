/**
 * Opens the session of an identity in the caller's transaction, with an audit entry in each organisation of the person. As the
 * writer's role: sessions and identities belong to no organisation.
 */
import type { SqlError } from "@effect/sql/SqlError"
import { Clock, Effect, Schema } from "effect"
import type { FailedSignIn, NewSession, RefusedSignIn } from "../../../actors/ports/access/SignIns.js"
import { actorOf } from "../../../domain/access/Caller.js"
import { openedSession, sessionLimits, type SignInMethod } from "../../../domain/access/Session.js"
import type { AuditEntry } from "../../../domain/audit/Audit.js"
import type { Unavailable } from "../../../domain/Failure.js"
import { IdentityId, OrganisationId, UserId } from "../../../domain/Ids.js"
import { AuditRows } from "../AuditRow.js"
import { databaseUnavailable } from "../database/DatabaseUnavailable.js"
import { WriterSql } from "../database/Pools.js"
import { rowDecoder } from "../record/Table.js"

/** Expired rows that one sign-in removes. */
const mostRemoved = 1_000

/** A person of an organisation who signs in. */
export const decodePerson = rowDecoder("users", {
  id: UserId,
  organisationId: OrganisationId,
  email: Schema.String,
  name: Schema.NullOr(Schema.String),
  identityId: Schema.NullOr(IdentityId)
})
export type Person = ReturnType<typeof decodePerson>

/** Of `users u`. */
export const personColumns = `u.id, u.org AS "organisationId", u.email, u.name, u.identity_id AS "identityId"`

/** Those who may act, of the identity `$1`. */
const membersSql = `SELECT ${personColumns} FROM users u WHERE u.identity_id = $1 AND u.status = 'active'
  ORDER BY u.created_at, u.id LIMIT ${sessionLimits.organisations}`

/** Whether the role `r` may be given: the first owner of the installation is made by a link of the command line alone. */
export const mayBeGiven = `(NOT (r.builtin AND r.name = 'owner') OR EXISTS (SELECT FROM users x JOIN roles y ON y.id = x.role_id
  WHERE x.status = 'active' AND y.builtin AND y.name = 'owner'))`

/** The refusal of a try that would have signed in these people. */
export const refusalOf = (people: ReadonlyArray<Person>, reason: FailedSignIn["reason"]): RefusedSignIn => ({
  _tag: "Refused",
  failed: people.map(({ email, id, name, organisationId }) => ({
    organisationId,
    person: { id, name: name ?? email },
    reason
  }))
})

export const makeSessionOpening = Effect.gen(function* () {
  const sql = yield* WriterSql
  const audit = yield* AuditRows

  /** The people of an identity who may act. */
  const findMembers = (identityId: IdentityId) =>
    Effect.map(sql.unsafe(membersSql, [identityId]), (rows) => rows.map(decodePerson))

  /**
   * Notes that people who were invited are who they are, and ends their earlier sessions: whoever had invited them may have
   * opened those with the link. The operator vouches for who has its link, the provider for who signs in there; a mail proves
   * the address to which it was sent.
   */
  const prove = Effect.fnUntraced(function* (identityId: IdentityId, method: SignInMethod) {
    if (method === "invitation") return
    const proved = yield* sql`UPDATE invited_people p SET proved_at = now() FROM users u, identities i
      WHERE p.user_id = u.id AND u.identity_id = i.id AND i.id = ${identityId} AND p.proved_at IS NULL
        AND (${method !== "email"} OR lower(u.email) = lower(i.email)) RETURNING 1`
    if (proved.length > 0) yield* sql`DELETE FROM sessions WHERE identity_id = ${identityId}`
  })

  const openSession = Effect.fnUntraced(function* (identityId: IdentityId, method: SignInMethod, opening: NewSession) {
    const { browser, hash, nextAuditId } = opening
    const session = openedSession(opening.id, identityId, method, browser, yield* Clock.currentTimeMillis)
    const { createdAt, expiresAt, id, ip, lastSeenAt, userAgent } = session
    yield* prove(identityId, method)
    yield* sql`DELETE FROM sessions WHERE id IN
      (SELECT id FROM sessions WHERE expires_at < now() ORDER BY expires_at LIMIT ${mostRemoved})`
    yield* sql`DELETE FROM sessions WHERE id IN
      (SELECT id FROM sessions WHERE identity_id = ${identityId} ORDER BY id DESC OFFSET ${sessionLimits.ofIdentity - 1})`
    yield* sql`INSERT INTO sessions (id, token_hash, identity_id, method, ip, user_agent, created_at, last_seen_at, expires_at)
      VALUES (${id}, ${hash}, ${identityId}, ${method}, ${ip}, ${userAgent}, ${createdAt}, ${lastSeenAt}, ${expiresAt})`
    const members = yield* findMembers(identityId)
    const entries = members.map((person): AuditEntry => ({
      id: nextAuditId(),
      organisationId: person.organisationId,
      at: createdAt,
      actor: actorOf({ kind: "person", id: person.id, name: person.name ?? person.email, ...browser }),
      action: "auth.login",
      resource: { type: "session", id, name: null },
      customerId: null,
      outcome: "success",
      requestId: null,
      changes: [{ path: "method", before: null, after: method }],
      count: 1
    }))
    yield* audit.write(sql, entries)
  })

  /** Makes the identity of a person who has none. `email`: theirs, which is not proved. */
  const makeIdentity = (id: IdentityId, email: string) =>
    sql`INSERT INTO identities (id, email) VALUES (${id}, ${email})`

  /** Lets the person act as the identity, and ends the invitation. */
  const activate = ({ id }: Person, identityId: IdentityId) =>
    sql`UPDATE users SET identity_id = ${identityId}, status = 'active', invite_hash = NULL, invite_expires_at = NULL,
        version = version + 1, updated_at = now()
      WHERE id = ${id} AND (identity_id IS NULL OR status <> 'active')`

  const inTransaction = <A>(body: Effect.Effect<A, SqlError | Unavailable>) =>
    Effect.mapError(sql.withTransaction(body), (error) =>
      error._tag === "Unavailable" ? error : databaseUnavailable(error)
    )

  return { activate, audit, findMembers, inTransaction, makeIdentity, openSession, sql }
})
