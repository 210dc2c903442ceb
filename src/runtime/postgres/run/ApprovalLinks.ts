/** The port `ApprovalLinks`. */
import { Effect, Layer, Schema } from "effect"
import { ApprovalLinks } from "../../../actors/ports/run/ApprovalLinks.js"
import { ApprovalId, OrganisationId, UserId } from "../../../domain/Ids.js"
import { approvalLimits } from "../../../domain/Limits.js"
import { execute, firstRow, recordsOf } from "../database/DatabaseUnavailable.js"
import { WriterSql } from "../database/Pools.js"
import { rowDecoder } from "../record/Table.js"

const { mailsPerHour, mailsToAddress } = approvalLimits

/** One look-up by the index for each organisation, however many mails it has. */
const organisationsSql = `WITH RECURSIVE orgs (org) AS (
    (SELECT l.org FROM approval_links l WHERE l.answered_at IS NULL ORDER BY l.org LIMIT 1)
    UNION ALL
    SELECT (SELECT l.org FROM approval_links l WHERE l.answered_at IS NULL AND l.org > o.org ORDER BY l.org LIMIT 1)
    FROM orgs o WHERE o.org IS NOT NULL)
  SELECT o.org AS "organisationId" FROM orgs o
  WHERE EXISTS (SELECT FROM approval_links l WHERE l.org = o.org AND l.answered_at IS NULL AND l.due_at <= now())
  ORDER BY random() LIMIT $1`

/** Nodes take one after the other, so that the counts of an hour are exact. */
const lockSql = "SELECT pg_advisory_xact_lock(hashtextextended('approval_links', 0))"

const sentInHour = (column: "org" | "address", value: string) =>
  `(SELECT count(*) FROM approval_links o WHERE o.${column} = ${value} AND o.sent_at > now() - interval '1 hour')`

/** `$1`: the organisation; `$2`: the hash of the new token. */
const takeSql = `WITH next AS (
    SELECT l.approval_id, l.address, a.status = 'open' AS open,
      a.status = 'open' AND ${sentInHour("address", "l.address")} < ${mailsToAddress} AS sends
    FROM approval_links l JOIN approvals a ON a.id = l.approval_id
    WHERE l.org = $1 AND l.answered_at IS NULL AND l.due_at <= now() AND ${sentInHour("org", "$1")} < ${mailsPerHour}
    ORDER BY l.due_at LIMIT 1
  )
  UPDATE approval_links l SET answered_at = CASE WHEN NOT next.open THEN now() END,
    due_at = now() + CASE WHEN next.sends THEN interval '1 hour' ELSE interval '10 minutes' END,
    sent_at = CASE WHEN next.sends THEN now() ELSE l.sent_at END,
    token_hash = CASE WHEN next.sends THEN $2 ELSE l.token_hash END
  FROM next WHERE l.approval_id = next.approval_id AND l.address = next.address
  RETURNING CASE WHEN next.sends THEN l.address END AS address`

const decodeOrganisation = rowDecoder("approval_links", { organisationId: OrganisationId })
const decodeTaken = rowDecoder("approval_links", { address: Schema.NullOr(Schema.String) })
const decodeLink = rowDecoder("approval_links", {
  approvalId: ApprovalId,
  organisationId: OrganisationId,
  address: Schema.String,
  userId: Schema.NullOr(UserId)
})

export const layer = Layer.effect(
  ApprovalLinks,
  Effect.gen(function* () {
    const sql = yield* WriterSql

    return ApprovalLinks.of({
      organisations: (limit) =>
        Effect.map(recordsOf(sql.unsafe(organisationsSql, [limit]), decodeOrganisation), (rows) =>
          rows.map(({ organisationId }) => organisationId)
        ),
      take: (organisation, tokenHash) =>
        firstRow(
          sql.withTransaction(Effect.zipRight(sql.unsafe(lockSql), sql.unsafe(takeSql, [organisation, tokenHash]))),
          decodeTaken
        ),
      noteAnswered: (tokenHash) =>
        execute(sql`UPDATE approval_links SET answered_at = now() WHERE token_hash = ${tokenHash}`),
      find: (tokenHash) =>
        firstRow(
          sql`SELECT approval_id AS "approvalId", org AS "organisationId", address, user_id AS "userId"
            FROM approval_links WHERE token_hash = ${tokenHash}`,
          decodeLink
        )
    })
  })
)
