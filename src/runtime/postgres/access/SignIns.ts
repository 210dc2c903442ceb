/** The port `SignIns`. As the writer's role: links, identities and sessions belong to no organisation. */
import type { SqlError } from "@effect/sql/SqlError"
import { Duration, Effect, Layer, Schema } from "effect"
import {
  type FailedSignIn,
  type NewSession,
  type SignInLink,
  type SignInOutcome,
  SignIns,
  unknownSignIn
} from "../../../actors/ports/access/SignIns.js"
import { sessionLimits } from "../../../domain/access/Session.js"
import type { AuditEntry } from "../../../domain/audit/Audit.js"
import { OrganisationId, RoleId, type SessionId, type UserId } from "../../../domain/Ids.js"
import type { Sql } from "../database/Sql.js"
import { rowDecoder } from "../record/Table.js"
import { decodePerson, makeSessionOpening, type Person, personColumns } from "./SessionOpening.js"

/** The person of an owner's link before there is an owner. */
const firstOwner = { email: "owner@localhost", name: "Owner" }

const decodeLink = rowDecoder("sign_in_links", {
  organisationId: OrganisationId,
  email: Schema.NullOr(Schema.String),
  isUsed: Schema.Boolean
})
/** A link without its hash. */
type KnownLink = Omit<SignInLink, "hash">

const decodeRole = rowDecoder("roles", { id: RoleId })

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
    const { activate, audit, inTransaction, makeIdentity, openSession, sql } = yield* makeSessionOpening

    /** The owner that the first link makes. */
    const makeOwner = Effect.fnUntraced(function* (organisationId: OrganisationId, userId: UserId, email: string) {
      const [role] = yield* sql`SELECT id FROM roles WHERE org = ${organisationId} AND builtin AND name = 'owner'`
      if (role === undefined) return undefined
      const name = email === firstOwner.email ? firstOwner.name : null
      yield* sql`INSERT INTO users (id, org, email, name, role_id, status)
        VALUES (${userId}, ${organisationId}, ${email}, ${name}, ${decodeRole(role).id}, 'active')`
      return { id: userId, organisationId, email, name, identityId: null } satisfies Person
    })

    /** The person of a link, and whether its organisation has an owner. */
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

    const refuse = Effect.fnUntraced(function* (link: KnownLink, reason: FailedSignIn["reason"]) {
      const { person } = yield* findNamed(link)
      const name = person?.name ?? person?.email ?? link.email ?? firstOwner.name
      const failed = [{ organisationId: link.organisationId, person: { id: person?.id ?? null, name }, reason }]
      return { _tag: "Refused", failed } satisfies SignInOutcome
    })

    const linkColumns = sql.literal('org AS "organisationId", email, used_at IS NOT NULL AS "isUsed"')
    const findEnded = (hash: string) => sql`SELECT ${linkColumns} FROM sign_in_links WHERE token_hash = ${hash}`

    const signIn = Effect.fnUntraced(function* (linkHash: string, session: NewSession) {
      const [taken] = yield* sql`UPDATE sign_in_links SET used_at = now()
        WHERE token_hash = ${linkHash} AND used_at IS NULL AND expires_at > now() RETURNING ${linkColumns}`
      const [row] = taken === undefined ? yield* findEnded(linkHash) : [taken]
      if (row === undefined) return unknownSignIn
      const { isUsed, ...link } = decodeLink(row)
      if (taken === undefined) return yield* refuse(link, isUsed ? "LINK_USED" : "LINK_EXPIRED")
      const person = yield* personOf(link, session)
      if (person === undefined) return yield* refuse(link, "NO_PERSON")
      const identityId = person.identityId ?? session.identityId
      if (person.identityId === null) yield* makeIdentity(identityId, person.email)
      yield* activate(person, identityId)
      yield* openSession(identityId, "link", session)
      return { _tag: "SignedIn" } satisfies SignInOutcome
    })

    const signOut = Effect.fnUntraced(function* (id: SessionId, entries: ReadonlyArray<AuditEntry>) {
      const ended = yield* sql`DELETE FROM sessions WHERE id = ${id} RETURNING id`
      if (ended.length > 0) yield* audit.write(sql, entries)
    })

    return SignIns.of({
      open: (linkHash, session) => inTransaction(signIn(linkHash, session)),
      close: (id, entries) => inTransaction(signOut(id, entries))
    })
  })
)
