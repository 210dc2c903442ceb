/** The port `SignIns`. As the writer's role: links, identities and sessions belong to no organisation. */
import type { SqlError } from "@effect/sql/SqlError"
import { Clock, Duration, Effect, Layer, Schema } from "effect"
import {
  type FailedSignIn,
  type NewSession,
  type SignInLink,
  type SignInOutcome,
  SignIns
} from "../../../actors/ports/access/SignIns.js"
import { actorOf } from "../../../domain/access/Caller.js"
import { openedSession, sessionLimits } from "../../../domain/access/Session.js"
import type { AuditEntry } from "../../../domain/audit/Audit.js"
import type { Unavailable } from "../../../domain/Failure.js"
import { IdentityId, OrganisationId, RoleId, type SessionId, UserId } from "../../../domain/Ids.js"
import { AuditRows } from "../AuditRow.js"
import { databaseUnavailable } from "../database/DatabaseUnavailable.js"
import { WriterSql } from "../database/Pools.js"
import type { Sql } from "../database/Sql.js"
import { rowDecoder } from "../record/Table.js"

/** The person of an owner's link before there is an owner. */
const firstOwner = { email: "owner@localhost", name: "Owner" }

/** Expired rows that one sign-in removes. */
const mostRemoved = 1_000

const decodeLink = rowDecoder("sign_in_links", {
  organisationId: OrganisationId,
  email: Schema.NullOr(Schema.String),
  isUsed: Schema.Boolean
})
/** A link that does not sign in, without the parts that say why. */
type KnownLink = Omit<SignInLink, "hash">
const decodePerson = rowDecoder("users", {
  id: UserId,
  email: Schema.String,
  name: Schema.NullOr(Schema.String),
  identityId: Schema.NullOr(IdentityId)
})
type Person = ReturnType<typeof decodePerson>
const decodeRole = rowDecoder("roles", { id: RoleId })

const personColumns = `u.id, u.email, u.name, u.identity_id AS "identityId"`

const personSql = `SELECT ${personColumns} FROM users u
  WHERE u.org = $1 AND lower(u.email) = lower($2) AND u.status <> 'disabled'`

/** The owner who was made first. */
const ownerSql = `SELECT ${personColumns} FROM users u JOIN roles r ON r.id = u.role_id
  WHERE u.org = $1 AND r.builtin AND r.name = 'owner' AND u.status = 'active' ORDER BY u.created_at, u.id LIMIT 1`

/** Adds a link, and removes those that ended a day ago. For the operator's command line, which has the database but not the service. */
export const addLink = (sql: Sql, { email, hash, organisationId }: SignInLink) =>
  Effect.zipRight(
    sql`DELETE FROM sign_in_links WHERE expires_at < now() - interval '1 day'`,
    sql`INSERT INTO sign_in_links (token_hash, org, email, expires_at)
      VALUES (${hash}, ${organisationId}, ${email}, now() + make_interval(secs => ${Duration.toSeconds(sessionLimits.link)}))`
  )

const decodeOrganisation = rowDecoder("organisations", { id: OrganisationId })

/**
 * The organisation that a link for the address signs in to; `null`: that which was made first. Before there are people, the
 * first one may have any address. `undefined`: there is none.
 */
export const findPerson = (sql: Sql, email: string | null): Effect.Effect<OrganisationId | undefined, SqlError> =>
  Effect.map(
    sql`SELECT o.id FROM organisations o WHERE ${email}::text IS NULL
        OR EXISTS (SELECT FROM users u WHERE u.org = o.id AND lower(u.email) = lower(${email}) AND u.status <> 'disabled')
        OR NOT EXISTS (SELECT FROM users)
      ORDER BY o.created_at, o.id LIMIT 1`,
    ([row]) => (row === undefined ? undefined : decodeOrganisation(row).id)
  )

export const layer = Layer.effect(
  SignIns,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const audit = yield* AuditRows

    /** The owner that the first link makes. */
    const makeOwner = Effect.fnUntraced(function* (organisationId: OrganisationId, userId: UserId, email: string) {
      const [role] = yield* sql`SELECT id FROM roles WHERE org = ${organisationId} AND builtin AND name = 'owner'`
      if (role === undefined) return undefined
      const name = email === firstOwner.email ? firstOwner.name : null
      yield* sql`INSERT INTO users (id, org, email, name, role_id, status)
        VALUES (${userId}, ${organisationId}, ${email}, ${name}, ${decodeRole(role).id}, 'active')`
      return { id: userId, email, name, identityId: null } satisfies Person
    })

    /** The person of a link, and the owner of its organisation. */
    const findNamed = Effect.fnUntraced(function* ({ email, organisationId }: KnownLink) {
      const [owner] = yield* sql.unsafe(ownerSql, [organisationId])
      const [named] = email === null ? [owner] : yield* sql.unsafe(personSql, [organisationId, email])
      return { hasOwner: owner !== undefined, person: named === undefined ? undefined : decodePerson(named) }
    })

    const personOf = Effect.fnUntraced(function* (link: KnownLink, { userId }: NewSession) {
      const { email, organisationId } = link
      // Of two first links one makes the owner.
      yield* sql`SELECT id FROM organisations WHERE id = ${organisationId} FOR NO KEY UPDATE`
      const { hasOwner, person } = yield* findNamed(link)
      return person ?? (hasOwner ? undefined : yield* makeOwner(organisationId, userId, email ?? firstOwner.email))
    })

    const refusalOf = Effect.fnUntraced(function* (link: KnownLink, reason: FailedSignIn["reason"]) {
      const { person } = yield* findNamed(link)
      const name = person?.name ?? person?.email ?? link.email ?? firstOwner.name
      const failed = { organisationId: link.organisationId, person: { id: person?.id ?? null, name }, reason }
      return { _tag: "Refused", failed } satisfies SignInOutcome
    })

    /** The identity of the person, who has none before the first sign-in. */
    const identityOf = Effect.fnUntraced(function* ({ email, id, identityId }: Person, fresh: IdentityId) {
      if (identityId === null) yield* sql`INSERT INTO identities (id, email) VALUES (${fresh}, ${email})`
      yield* sql`UPDATE users SET identity_id = ${identityId ?? fresh}, status = 'active', invite_hash = NULL,
          invite_expires_at = NULL, version = version + 1, updated_at = now()
        WHERE id = ${id} AND (identity_id IS NULL OR status <> 'active')`
      return identityId ?? fresh
    })

    const openSession = Effect.fnUntraced(function* (identityId: IdentityId, { browser, hash, id }: NewSession) {
      const session = openedSession(id, identityId, "link", browser, yield* Clock.currentTimeMillis)
      const { createdAt, expiresAt, ip, lastSeenAt, method, userAgent } = session
      yield* sql`DELETE FROM sessions WHERE id IN
        (SELECT id FROM sessions WHERE expires_at < now() ORDER BY expires_at LIMIT ${mostRemoved})`
      yield* sql`DELETE FROM sessions WHERE id IN
        (SELECT id FROM sessions WHERE identity_id = ${identityId} ORDER BY id DESC OFFSET ${sessionLimits.ofIdentity - 1})`
      yield* sql`INSERT INTO sessions (id, token_hash, identity_id, method, ip, user_agent, created_at, last_seen_at, expires_at)
        VALUES (${id}, ${hash}, ${identityId}, ${method}, ${ip}, ${userAgent}, ${createdAt}, ${lastSeenAt}, ${expiresAt})`
      return session
    })

    const linkColumns = sql.literal('org AS "organisationId", email, used_at IS NOT NULL AS "isUsed"')
    const endedLink = (hash: string) => sql`SELECT ${linkColumns} FROM sign_in_links WHERE token_hash = ${hash}`

    const signIn = Effect.fnUntraced(function* (linkHash: string, session: NewSession) {
      const [taken] = yield* sql`UPDATE sign_in_links SET used_at = now()
        WHERE token_hash = ${linkHash} AND used_at IS NULL AND expires_at > now() RETURNING ${linkColumns}`
      const [row] = taken === undefined ? yield* endedLink(linkHash) : [taken]
      if (row === undefined) return { _tag: "Refused" } satisfies SignInOutcome
      const { isUsed, ...link } = decodeLink(row)
      if (taken === undefined) return yield* refusalOf(link, isUsed ? "LINK_USED" : "LINK_EXPIRED")
      const person = yield* personOf(link, session)
      if (person === undefined) return yield* refusalOf(link, "NO_PERSON")
      const { createdAt } = yield* openSession(yield* identityOf(person, session.identityId), session)
      const name = person.name ?? person.email
      const entry: AuditEntry = {
        id: session.auditId,
        organisationId: link.organisationId,
        at: createdAt,
        actor: actorOf({ kind: "person", id: person.id, name, ...session.browser }),
        action: "auth.login",
        resource: { type: "session", id: session.id, name: null },
        customerId: null,
        outcome: "success",
        requestId: null,
        changes: [{ path: "method", before: null, after: "link" }],
        count: 1
      }
      yield* audit.write(sql, [entry])
      return { _tag: "SignedIn", userId: person.id } satisfies SignInOutcome
    })

    const signOut = Effect.fnUntraced(function* (id: SessionId, entry: AuditEntry) {
      const ended = yield* sql`DELETE FROM sessions WHERE id = ${id} RETURNING id`
      if (ended.length > 0) yield* audit.write(sql, [entry])
    })

    const inTransaction = <A>(body: Effect.Effect<A, SqlError | Unavailable>) =>
      Effect.mapError(sql.withTransaction(body), (error) =>
        error._tag === "Unavailable" ? error : databaseUnavailable(error)
      )

    return SignIns.of({
      open: (linkHash, session) => inTransaction(signIn(linkHash, session)),
      close: (id, entry) => inTransaction(signOut(id, entry))
    })
  })
)
