/** The port `MailAddresses`. */
import { Effect, Layer, Schema } from "effect"
import { MailAddresses } from "../../../actors/ports/delivery/MailAddresses.js"
import { mailConfirmations } from "../../../domain/Limits.js"
import { WriterSql } from "../database/Pools.js"
import { databaseUnavailable, execute, firstRow } from "../database/DatabaseUnavailable.js"
import { OrganisationId } from "../../../domain/Ids.js"
import { rowDecoder } from "../record/Table.js"

/** `$1`: seconds, or null. An organisation has a limited number of addresses. */
const noteSql = `
  WITH named AS (
    SELECT DISTINCT s.org, a AS address, s.updated_at FROM settings s, svc_mail_addresses(s.value::jsonb) a
    WHERE s.key = 'notifications' AND ($1::float8 IS NULL OR s.updated_at > now() - $1 * interval '1 second')
  ), again AS (
    UPDATE mail_addresses m SET asked_at = NULL, answered_at = NULL FROM named n
    WHERE m.org = n.org AND m.address = n.address AND m.confirmed_at IS NULL
      AND m.asked_at < LEAST(n.updated_at, now() - interval '1 hour')
  )
  INSERT INTO mail_addresses (org, address)
  SELECT DISTINCT org, address FROM named n
  WHERE (SELECT count(*) FROM mail_addresses m WHERE m.org = n.org) < ${mailConfirmations.addresses}
  ON CONFLICT DO NOTHING`

/** Nodes take one after the other, so that the counts of an hour are exact. */
const lockSql = "SELECT pg_advisory_xact_lock(hashtextextended('mail_addresses', 0))"

/** `$1`: the hash of the new token. */
const takeSql = `
  WITH due AS (
    SELECT m.org, m.address FROM mail_addresses m
    WHERE m.answered_at IS NULL AND m.confirmed_at IS NULL
      AND NOT EXISTS (SELECT FROM mail_addresses o WHERE o.address = m.address AND o.asked_at > now() - interval '1 hour')
      AND (SELECT count(*) FROM mail_addresses o WHERE o.org = m.org AND o.asked_at > now() - interval '1 hour')
        < ${mailConfirmations.perHour}
    ORDER BY m.asked_at NULLS FIRST, m.created_at LIMIT 1
  )
  UPDATE mail_addresses m SET asked_at = now(), token_hash = $1 FROM due
  WHERE m.org = due.org AND m.address = due.address RETURNING m.org AS "organisationId", m.address`

const decodeAsked = rowDecoder("mail_addresses", { organisationId: OrganisationId, address: Schema.String })

export const layer = Layer.effect(
  MailAddresses,
  Effect.gen(function* () {
    const sql = yield* WriterSql

    return MailAddresses.of({
      note: (seconds) => execute(sql.unsafe(noteSql, [seconds])),
      takeUnasked: (tokenHash) =>
        firstRow(
          sql.withTransaction(Effect.zipRight(sql.unsafe(lockSql), sql.unsafe(takeSql, [tokenHash]))),
          decodeAsked
        ),
      noteAnswered: (tokenHash) =>
        execute(sql`UPDATE mail_addresses SET answered_at = now() WHERE token_hash = ${tokenHash}`),
      isAsked: (tokenHash) =>
        sql`SELECT FROM mail_addresses WHERE token_hash = ${tokenHash}`.pipe(
          Effect.map((rows) => rows.length > 0),
          Effect.mapError(databaseUnavailable)
        ),
      confirm: (tokenHash) =>
        sql`UPDATE mail_addresses SET confirmed_at = now(), token_hash = NULL WHERE token_hash = ${tokenHash} RETURNING 1`.pipe(
          Effect.map((rows) => rows.length > 0),
          Effect.mapError(databaseUnavailable)
        )
    })
  })
)
