/**
 * The port `RunApprovals`: the approval, the event that tells of it and the mails that ask for it are one transaction, which
 * only the owner of the run makes. Here and in decisions the run's row is locked first, so that two never deadlock.
 */
import { Effect, Layer, Schema } from "effect"
import { RunApprovals, ApprovalsExceeded, type ApprovalRequest } from "../../../actors/execution/calls/ApprovalCalls.js"
import { Fenced } from "../../../actors/ports/run/Journal.js"
import { approvalLimits } from "../../../domain/Limits.js"
import { Approval } from "../../../domain/run/Approval.js"
import { journalUnavailable } from "../database/DatabaseUnavailable.js"
import { WriterSql } from "../database/Pools.js"
import { selectOwned } from "../journal/Fence.js"
import { countOf, rowDecoder } from "../record/Table.js"

const { asked, openPerOrganisation, openPerRun } = approvalLimits

const lockSql = `WITH owned AS MATERIALIZED (${selectOwned("$1", "$2")}) SELECT id FROM owned`

/** Lets the approval expire whose time has passed, and reads it. */
const expireSql = `UPDATE approvals SET status = 'expired', decision = on_expire, decided_at = now()
  WHERE execution_id = $1 AND key = $2 AND status = 'open' AND expires_at <= now()`
const columns = `status, decision, comment, actor, extract(epoch FROM expires_at)::float8 * 1000 AS "expiresAt"`
const findSql = `SELECT ${columns} FROM approvals WHERE execution_id = $1 AND key = $2`

/** `$1`: the run or the organisation; no more rows are read than the limit. */
const openSql = (column: "org" | "execution_id", limit: number) =>
  `SELECT count(*)::int AS n FROM (SELECT FROM approvals WHERE ${column} = $1 AND status = 'open' LIMIT ${limit}) o`
const openOfRun = openSql("execution_id", openPerRun)
const openOfOrganisation = openSql("org", openPerOrganisation)

/**
 * The people whom approvers name: confirmed addresses, and users by id, address or role. `$1`: the organisation; `$2`: the
 * approval; `$3`: the approvers, `$4`: the same in lower case.
 */
const askSql = `INSERT INTO approval_links (approval_id, org, address, user_id)
  SELECT DISTINCT ON (p.address) $2, $1, p.address, p.user_id FROM (
    SELECT lower(u.email) AS address, u.id AS user_id FROM users u JOIN roles r ON r.id = u.role_id
    WHERE u.org = $1 AND u.status <> 'disabled'
      AND (u.id = ANY($3) OR lower(u.email) = ANY($4) OR r.id = ANY($3) OR lower(r.name) = ANY($4))
    UNION ALL
    SELECT m.address, NULL FROM mail_addresses m
    WHERE m.org = $1 AND m.address = ANY($4) AND (m.confirmed_at IS NOT NULL OR m.usable_until > now())
  ) p ORDER BY p.address, p.user_id NULLS LAST LIMIT ${asked}`

const decodeAsked = rowDecoder("approvals", {
  ...Approval.stored.pick("status", "decision", "comment", "actor").fields,
  expiresAt: Schema.Number
})

const iso = (millis: number): string => new Date(millis).toISOString()

export const layer = Layer.effect(
  RunApprovals,
  Effect.gen(function* () {
    const sql = yield* WriterSql

    const exceeds = (statement: string, id: string, limit: number) =>
      Effect.map(sql.unsafe(statement, [id]), (rows) => countOf(rows) >= limit)

    const insert = Effect.fnUntraced(function* (request: ApprovalRequest, eventId: string) {
      const { approvers, expiresAt, id, key, message, name, onExpire, run } = request
      const { customerId, id: executionId, organisationId, record, spaceId, workflowId } = run
      if (yield* exceeds(openOfRun, executionId, openPerRun))
        return yield* new ApprovalsExceeded({ of: "run", limit: openPerRun })
      if (yield* exceeds(openOfOrganisation, organisationId, openPerOrganisation))
        return yield* new ApprovalsExceeded({ of: "organisation", limit: openPerOrganisation })
      yield* sql`INSERT INTO approvals (id, org, space, customer_id, execution_id, workflow_id, workflow_name, environment,
          key, name, message, approvers, status, on_expire, expires_at)
        VALUES (${id}, ${organisationId}, ${spaceId}, ${customerId}, ${executionId}, ${workflowId}, ${record.workflowName},
          ${record.environment}, ${key}, ${name}, ${message}, ${JSON.stringify(approvers)}::jsonb, 'open', ${onExpire},
          ${iso(expiresAt)})`
      const lower = approvers.map((one) => one.toLowerCase())
      yield* sql.unsafe(askSql, [organisationId, id, approvers, lower])
      const payload = {
        approvalId: id,
        executionId,
        workflowId,
        workflowName: record.workflowName,
        customerId,
        environment: record.environment,
        name,
        message,
        approvers,
        expiresAt: iso(expiresAt)
      }
      yield* sql`INSERT INTO domain_events (id, org, type, subject, customer_id, payload)
        VALUES (${eventId}, ${organisationId}, 'approval.requested', ${id}, ${customerId}, ${JSON.stringify(payload)}::jsonb)`
    })

    const ask: RunApprovals["Type"]["ask"] = Effect.fn("RunApprovals.ask")(function* (request, eventId) {
      const { key, run } = request
      const call = [run.id, key]
      return yield* Effect.gen(function* () {
        const owned = yield* sql.unsafe(lockSql, [[run.id], [run.epoch]])
        if (owned.length === 0) return yield* new Fenced({ id: run.id })
        yield* sql.unsafe(expireSql, call)
        const [found] = yield* sql.unsafe(findSql, call)
        if (found !== undefined) return decodeAsked(found)
        yield* insert(request, eventId)
        return { status: "open" as const, decision: null, comment: null, actor: null, expiresAt: request.expiresAt }
      }).pipe(
        sql.withTransaction,
        Effect.mapError((error) =>
          error._tag === "ApprovalsExceeded" || error._tag === "Fenced" ? error : journalUnavailable(error)
        )
      )
    })

    return RunApprovals.of({ ask })
  })
)
