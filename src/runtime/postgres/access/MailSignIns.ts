/** The port `MailSignIns`. As the writer's role: identities and sign-ins belong to no organisation. */
import { Duration, Effect, Layer, Option, Schema } from "effect"
import { MailSignIns, type NewMailSignIn } from "../../../actors/ports/access/MailSignIns.js"
import {
  type FailedSignIn,
  type NewSession,
  type SignInOutcome,
  unknownSignIn
} from "../../../actors/ports/access/SignIns.js"
import { sessionLimits } from "../../../domain/access/Session.js"
import { IdentityId, OrganisationId } from "../../../domain/Ids.js"
import { execute, firstRow } from "../database/DatabaseUnavailable.js"
import { rowDecoder } from "../record/Table.js"
import { makeSessionOpening, refusalOf } from "./SessionOpening.js"

/** Rows that one sign-in removes, an hour after their end: until then a second use is told of. */
const mostRemoved = 1_000
/** Identities of one address that are offered, those whose address is proved first. */
const mostIdentities = 20
const namesShown = 3

/** Of the address `$1`. Who signs in at a provider does so there only. */
const identitiesSql = `SELECT i.id AS "identityId", (array_agg(o.name ORDER BY u.created_at, u.id))[1:${namesShown}] AS organisations
  FROM identities i JOIN users u ON u.identity_id = i.id AND u.status = 'active' JOIN organisations o ON o.id = u.org
  WHERE lower(i.email) = lower($1) AND i.issuer IS NULL
  GROUP BY i.id ORDER BY i.verified_at NULLS LAST, i.created_at, i.id LIMIT ${mostIdentities}`
const decodeIdentity = rowDecoder("identities", { identityId: IdentityId, organisations: Schema.Array(Schema.String) })

/** `$1`: the link. */
const takeMailSql = `UPDATE mail_sign_ins m SET mailed_at = now()
  WHERE m.token_hash = $1 AND (SELECT count(*) FROM mail_sign_ins o
      WHERE lower(o.email) = lower(m.email) AND o.mailed_at > now() - interval '15 minutes') < ${sessionLimits.mailsToAddress}
    AND EXISTS (SELECT FROM identities i JOIN users u ON u.identity_id = i.id AND u.status = 'active'
      WHERE lower(i.email) = lower(m.email) AND i.issuer IS NULL)
  RETURNING (SELECT u.org FROM identities i JOIN users u ON u.identity_id = i.id AND u.status = 'active'
    WHERE lower(i.email) = lower(m.email) AND i.issuer IS NULL
    ORDER BY i.verified_at NULLS LAST, i.created_at, u.created_at, u.id LIMIT 1) AS "organisationId"`
const decodeTaken = rowDecoder("mail_sign_ins", { organisationId: OrganisationId })

const decodeLink = rowDecoder("mail_sign_ins", { email: Schema.String, isSameBrowser: Schema.Boolean })
const decodeEnded = rowDecoder("mail_sign_ins", { email: Schema.String, isUsed: Schema.Boolean })
const decodeAddress = rowDecoder("mail_sign_ins", { email: Schema.String })
const decodeEntry = rowDecoder("mail_sign_ins", {
  email: Schema.String,
  identityId: Schema.NullOr(IdentityId),
  isRight: Schema.NullOr(Schema.Boolean),
  tries: Schema.Number
})

const isOpen = "used_at IS NULL AND code_hash IS NULL AND expires_at > now()"

export const layer = Layer.effect(
  MailSignIns,
  Effect.gen(function* () {
    const { findMembers, inTransaction, openSession, sql } = yield* makeSessionOpening
    const open = sql.literal(isOpen)

    const identitiesOf = (email: string) =>
      Effect.map(sql.unsafe(identitiesSql, [email]), (rows) => rows.map(decodeIdentity))

    /** Told of to all whom the address would have signed in. */
    const refuse = Effect.fnUntraced(function* (email: string, reason: FailedSignIn["reason"]) {
      const identities = yield* identitiesOf(email)
      const people = yield* Effect.forEach(identities, ({ identityId }) => findMembers(identityId))
      return refusalOf(people.flat().slice(0, sessionLimits.organisations), reason)
    })

    const refuseLink = Effect.fnUntraced(function* (tokenHash: string) {
      const [row] = yield* sql`SELECT email, used_at IS NOT NULL OR code_hash IS NOT NULL AS "isUsed"
        FROM mail_sign_ins WHERE token_hash = ${tokenHash}`
      if (row === undefined) return unknownSignIn
      const { email, isUsed } = decodeEnded(row)
      return yield* refuse(email, isUsed ? "LINK_USED" : "LINK_EXPIRED")
    })

    /**
     * Notes that the address is proved. Whoever may have acted as the identity before could have made it with the address of
     * another, so that earlier sessions end.
     */
    const verify = Effect.fnUntraced(function* (identityId: IdentityId) {
      const first = yield* sql`UPDATE identities SET verified_at = now()
        WHERE id = ${identityId} AND verified_at IS NULL RETURNING 1`
      if (first.length > 0) yield* sql`DELETE FROM sessions WHERE identity_id = ${identityId}`
    })

    const enter = Effect.fnUntraced(function* (email: string, identityId: string | null, session: NewSession) {
      const found = (yield* identitiesOf(email)).find((one) => one.identityId === identityId)
      if (found === undefined) return yield* refuse(email, "NO_PERSON")
      yield* verify(found.identityId)
      yield* openSession(found.identityId, "email", session)
      return { _tag: "SignedIn" } satisfies SignInOutcome
    })

    const openLink = Effect.fnUntraced(function* (
      { browserHash, identityId, tokenHash }: { browserHash: string; identityId: string; tokenHash: string },
      session: NewSession
    ) {
      const [row] = yield* sql`UPDATE mail_sign_ins SET used_at = now()
        WHERE token_hash = ${tokenHash} AND browser_hash = ${browserHash} AND ${open} RETURNING email`
      return row === undefined
        ? yield* refuseLink(tokenHash)
        : yield* enter(decodeAddress(row).email, identityId, session)
    })

    const takeForCode = Effect.fnUntraced(function* (tokenHash: string, codeHash: string, identityId: string) {
      const [row] = yield* sql`SELECT email FROM mail_sign_ins WHERE token_hash = ${tokenHash} AND ${open} FOR UPDATE`
      if (row === undefined) return yield* refuseLink(tokenHash)
      const { email } = decodeAddress(row)
      const found = (yield* identitiesOf(email)).find((one) => one.identityId === identityId)
      if (found === undefined) return yield* refuse(email, "NO_PERSON")
      yield* sql`UPDATE mail_sign_ins SET code_hash = ${codeHash}, identity_id = ${found.identityId}
        WHERE token_hash = ${tokenHash}`
      return { _tag: "Taken" } as const
    })

    const enterCode = Effect.fnUntraced(function* (browserHash: string, codeHash: string, session: NewSession) {
      const [row] = yield* sql`UPDATE mail_sign_ins SET tries = tries + 1
        WHERE browser_hash = ${browserHash} AND used_at IS NULL AND expires_at > now()
        RETURNING email, identity_id AS "identityId", code_hash = ${codeHash} AS "isRight", tries`
      if (row === undefined) return unknownSignIn
      const { email, identityId, isRight, tries } = decodeEntry(row)
      if (tries > sessionLimits.codeTries) return yield* refuse(email, "TOO_MANY_TRIES")
      if (isRight !== true) return yield* refuse(email, "WRONG_CODE")
      yield* sql`UPDATE mail_sign_ins SET used_at = now() WHERE browser_hash = ${browserHash}`
      return yield* enter(email, identityId, session)
    })

    const begin = Effect.fnUntraced(function* ({ browserHash, email, tokenHash }: NewMailSignIn) {
      yield* sql`DELETE FROM mail_sign_ins WHERE browser_hash IN (SELECT browser_hash FROM mail_sign_ins
        WHERE expires_at < now() - interval '1 hour' ORDER BY expires_at LIMIT ${mostRemoved})`
      yield* sql`INSERT INTO mail_sign_ins (browser_hash, email, token_hash, expires_at)
        VALUES (${browserHash}, ${email}, ${tokenHash}, now() + make_interval(secs => ${Duration.toSeconds(sessionLimits.link)}))`
    })

    const find = Effect.fnUntraced(function* (tokenHash: string, browserHash: string | undefined) {
      const [row] = yield* sql`SELECT email, browser_hash = ${browserHash ?? ""} AS "isSameBrowser" FROM mail_sign_ins
        WHERE token_hash = ${tokenHash} AND ${open}`
      if (row === undefined) return Option.none()
      const link = decodeLink(row)
      const identities = yield* identitiesOf(link.email)
      return identities.length === 0 ? Option.none() : Option.some({ ...link, identities })
    })

    return MailSignIns.of({
      begin: (asked) => execute(begin(asked)),
      takeMail: (tokenHash) =>
        Effect.map(firstRow(sql.unsafe(takeMailSql, [tokenHash]), decodeTaken), (row) => row?.organisationId),
      find: (tokenHash, browserHash) => inTransaction(find(tokenHash, browserHash)),
      open: (link, session) => inTransaction(openLink(link, session)),
      takeForCode: ({ codeHash, identityId, tokenHash }) => inTransaction(takeForCode(tokenHash, codeHash, identityId)),
      enterCode: ({ browserHash, codeHash }, session) => inTransaction(enterCode(browserHash, codeHash, session))
    })
  })
)
