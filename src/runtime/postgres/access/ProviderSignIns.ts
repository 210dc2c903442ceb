/** The port `ProviderSignIns`. As the writer's role: identities and sign-ins belong to no organisation. */
import { Duration, Effect, Layer, Option, Schema } from "effect"
import type { JoinRule, ProvedPerson } from "../../../actors/ports/access/IdentityProvider.js"
import {
  type BegunProviderSignIn,
  type ProviderArrival,
  ProviderSignIns
} from "../../../actors/management/access/ProviderSignIn.js"
import { type NewSession, type SignInOutcome, unknownSignIn } from "../../../actors/ports/access/SignIns.js"
import { sessionLimits } from "../../../domain/access/Session.js"
import { IdentityId, OrganisationId, RoleId } from "../../../domain/Ids.js"
import { execute, firstRow } from "../database/DatabaseUnavailable.js"
import { rowDecoder } from "../record/Table.js"
import { makeAcceptance } from "./Invitations.js"
import { decodePerson, makeSessionOpening, mayBeGiven, personColumns, refusalOf } from "./SessionOpening.js"

/** Expired rows that one sign-in removes. */
const mostRemoved = 1_000

const decodeBegun = rowDecoder("oidc_sign_ins", { next: Schema.String, inviteHash: Schema.NullOr(Schema.String) })
const decodeIdentity = rowDecoder("identities", { id: IdentityId })
const decodeJoined = rowDecoder("organisations", { organisationId: OrganisationId, roleId: RoleId })

/** All people of the identity `$1`, also those who may not act. */
const peopleSql = `SELECT ${personColumns} FROM users u WHERE u.identity_id = $1
  ORDER BY u.created_at, u.id LIMIT ${sessionLimits.organisations}`

export const layer = Layer.effect(
  ProviderSignIns,
  Effect.gen(function* () {
    const { findMembers, inTransaction, openSession, sql } = yield* makeSessionOpening
    const { accept, isMember, take } = yield* makeAcceptance

    const begin = Effect.fnUntraced(function* (browserHash: string, { inviteHash, next }: BegunProviderSignIn) {
      yield* sql`DELETE FROM oidc_sign_ins WHERE browser_hash IN
        (SELECT browser_hash FROM oidc_sign_ins WHERE expires_at < now() ORDER BY expires_at LIMIT ${mostRemoved})`
      yield* sql`INSERT INTO oidc_sign_ins (browser_hash, next, invite_hash, expires_at) VALUES (${browserHash}, ${next},
        ${inviteHash}, now() + make_interval(secs => ${Duration.toSeconds(sessionLimits.link)}))`
    })

    const takeBegun = (browserHash: string) =>
      sql`DELETE FROM oidc_sign_ins WHERE browser_hash = ${browserHash} AND expires_at > now()
        RETURNING next, invite_hash AS "inviteHash"`

    /** The identity of the person at the provider, with the address that it vouches for now. */
    const findIdentity = ({ email, issuer, subject }: ProvedPerson) =>
      Effect.map(
        sql`UPDATE identities SET email = ${email}, verified_at = now()
          WHERE issuer = ${issuer} AND subject = ${subject} RETURNING id`,
        ([row]) => (row === undefined ? undefined : decodeIdentity(row).id)
      )

    const makeIdentity = (id: IdentityId, { email, issuer, subject }: ProvedPerson) =>
      sql`INSERT INTO identities (id, email, verified_at, issuer, subject)
        VALUES (${id}, ${email}, now(), ${issuer}, ${subject})`

    /** The organisations that a rule lets join, with the role; without those that know the address already. */
    const findJoined = ({ organisation, role }: JoinRule, { email }: ProvedPerson) =>
      Effect.map(
        sql`SELECT o.id AS "organisationId", r.id AS "roleId" FROM organisations o JOIN roles r ON r.org = o.id
          WHERE (o.id = ${organisation} OR o.slug = ${organisation}) AND r.name = ${role} AND ${sql.literal(mayBeGiven)}
            AND NOT EXISTS (SELECT FROM users u WHERE u.org = o.id AND lower(u.email) = lower(${email}))`,
        ([row]) => (row === undefined ? undefined : decodeJoined(row))
      )

    const join = Effect.fnUntraced(function* ({ joins, nextUserId, person }: ProviderArrival, identityId: IdentityId) {
      for (const rule of joins) {
        const joined = yield* findJoined(rule, person)
        if (joined === undefined) continue
        // Somebody with the address may be invited at the same moment.
        yield* sql`INSERT INTO users (id, org, email, name, role_id, status, identity_id)
          VALUES (${nextUserId()}, ${joined.organisationId}, ${person.email}, ${person.name}, ${joined.roleId}, 'active', ${identityId})
          ON CONFLICT DO NOTHING`
      }
    })

    const signIn = Effect.fnUntraced(function* (arrival: ProviderArrival, session: NewSession) {
      const { inviteHash, person } = arrival
      // Of two first sign-ins of a person one makes the identity.
      yield* sql`SELECT pg_advisory_xact_lock(hashtextextended(${`${person.issuer}|${person.subject}`}, 0))`
      const known = yield* findIdentity(person)
      const identityId = known ?? session.identityId
      const taken = inviteHash === null ? undefined : yield* take(inviteHash)
      if (taken?._tag === "Refused") return taken
      if (known === undefined) yield* makeIdentity(identityId, person)
      if (taken !== undefined && !(yield* isMember(taken.person, identityId)))
        yield* accept(taken.person, identityId, session.browser, session.nextAuditId())
      if (known === undefined && taken === undefined) yield* join(arrival, identityId)
      if ((yield* findMembers(identityId)).length === 0) {
        const people = (yield* sql.unsafe(peopleSql, [identityId])).map(decodePerson)
        if (people.length === 0) yield* sql`DELETE FROM identities WHERE id = ${identityId}`
        return people.length === 0 ? unknownSignIn : refusalOf(people, "NO_PERSON")
      }
      yield* openSession(identityId, "oidc", session)
      return { _tag: "SignedIn" } satisfies SignInOutcome
    })

    const link = Effect.fnUntraced(function* (identityId: IdentityId, { email, issuer, subject }: ProvedPerson) {
      yield* sql`SELECT pg_advisory_xact_lock(hashtextextended(${`${issuer}|${subject}`}, 0))`
      const linked =
        yield* sql`UPDATE identities i SET issuer = ${issuer}, subject = ${subject}, email = ${email}, verified_at = now()
        WHERE i.id = ${identityId} AND i.issuer IS NULL
          AND NOT EXISTS (SELECT FROM identities o WHERE o.issuer = ${issuer} AND o.subject = ${subject}) RETURNING 1`
      return linked.length > 0
    })

    return ProviderSignIns.of({
      begin: (browserHash, begun) => execute(begin(browserHash, begun)),
      take: (browserHash) => Effect.map(firstRow(takeBegun(browserHash), decodeBegun), Option.fromNullable),
      open: (arrival, session) => inTransaction(signIn(arrival, session)),
      link: (identityId, person) => inTransaction(link(identityId, person))
    })
  })
)
