/**
 * The port `Records` on Postgres: management records, as the request role. Each transaction first sets the organisation
 * that row-level security admits.
 */
import type { Sql } from "../database/Sql.js"
import { SqlError } from "@effect/sql/SqlError"
import { Effect, FiberRef, Layer, Record, Schema } from "effect"
import {
  type AccountStock,
  type DraftSave,
  type ReadSelection,
  Records,
  type Repositories,
  type ResendSelection,
  type Tx
} from "../../../actors/ports/Records.js"
import type { DomainEvent } from "../../../actors/ports/connection/ConnectionStore.js"
import type { ExecutionId, OrganisationId, UserId } from "../../../domain/Ids.js"
import { AuditRows } from "../AuditRow.js"
import { Commits, type TransactionWrites, transactionWrites } from "../database/CommitLog.js"
import { noLease } from "../LeasedWork.js"
import { wokenAt } from "../journal/RunColumns.js"
import { AppSql } from "../database/Pools.js"
import { deliveries } from "../WorkKinds.js"
import { readError } from "./RecordErrors.js"
import { tables } from "./RecordTables.js"
import { makeRepository } from "./Repository.js"
import { makeActionHistory } from "../connection/ActionHistory.js"
import { makeDeploying } from "../workflow/Deploying.js"
import { makeKeyLocks, makeReplies } from "./StoredReplies.js"
import { makeTeams } from "./Teams.js"
import { databaseUnavailable, execute } from "../database/DatabaseUnavailable.js"
import { sessionLimits } from "../../../domain/access/Session.js"
import { AnsweredTime } from "../../../domain/Time.js"
import { countOf, rowDecoder, type Table } from "./Table.js"

/** Writes a domain event with the change that it tells of. */
const emit = (sql: Sql, { at, customerId, id, payload, subject, type }: DomainEvent) =>
  sql`INSERT INTO domain_events (id, org, type, subject, customer_id, payload, at)
  VALUES (${id}, current_setting('svc.org'), ${type}, ${subject}, ${customerId}, ${JSON.stringify(payload)}::jsonb, ${at})`.pipe(
    Effect.asVoid,
    Effect.catchAll(readError)
  )

const markNotificationsRead = (sql: Sql, { at, before, customerIds, ids, readerId, spaceId }: ReadSelection) => {
  const isSelected = sql`status IN ('sent', 'failed') AND (${ids === undefined} OR id = ANY(${ids ?? []}))
      AND (space IS NULL OR space = ${spaceId}) AND (${customerIds === undefined} OR customer_id = ANY(${customerIds ?? []}))
      AND (${before === undefined} OR created_at < ${before ?? at})`
  const marked =
    readerId === undefined
      ? sql`UPDATE notifications SET unread_status = status, status = 'read', read_at = ${at} WHERE ${isSelected} RETURNING 1`
      : sql`INSERT INTO notification_reads (notification_id, user_id, org, read_at)
          SELECT id, reader_id, org, ${at} FROM person_notifications WHERE reader_id = ${readerId} AND ${isSelected}
          ON CONFLICT DO NOTHING RETURNING 1`
  return marked.pipe(
    Effect.map((rows) => rows.length),
    Effect.catchAll(readError)
  )
}

const isSaveDue = (sql: Sql, { actorId, at, members, workflowId }: DraftSave) =>
  sql`INSERT INTO draft_saves AS d (workflow_id, actor_id, org, at, members)
    VALUES (${workflowId}, ${actorId}, current_setting('svc.org'), ${at}, ${members})
    ON CONFLICT (workflow_id, actor_id) DO UPDATE SET at = excluded.at, members = excluded.members
    WHERE d.at <= excluded.at - interval '1 minute' OR d.at > excluded.at OR NOT d.members @> excluded.members
    RETURNING 1`.pipe(
    Effect.map((rows) => rows.length > 0),
    Effect.catchAll(readError)
  )

const lastHour = "at > now() - interval '1 hour'"

/** Those who are invited at once are counted one after the other, under the lock of people. */
const takeInviteMail = (sql: Sql, address: string) =>
  sql`DELETE FROM invite_mails WHERE NOT (${sql.literal(lastHour)})`.pipe(
    Effect.zipRight(
      sql`INSERT INTO invite_mails (org, address, at)
        SELECT current_setting('svc.org'), lower(${address}), now()
        WHERE NOT EXISTS (SELECT FROM invite_mails WHERE address = lower(${address}) AND ${sql.literal(lastHour)})
          AND (SELECT count(*) FROM invite_mails WHERE ${sql.literal(lastHour)}) < ${sessionLimits.inviteMailsPerHour}
        RETURNING 1`
    ),
    Effect.map((rows) => rows.length > 0),
    Effect.catchAll(readError)
  )

const noteInviter = (sql: Sql, userId: UserId, by: string) =>
  sql`INSERT INTO invited_people (user_id, org, invited_by, invited_at)
    VALUES (${userId}, current_setting('svc.org'), ${by}, now())
    ON CONFLICT (user_id) DO UPDATE SET invited_by = excluded.invited_by, invited_at = excluded.invited_at`.pipe(
    Effect.asVoid,
    Effect.catchAll(readError)
  )

const decodeAddress = rowDecoder("mail_addresses", { address: Schema.String })
const decodeResent = rowDecoder("deliveries", { queued: Schema.Number, lastAt: Schema.NullOr(AnsweredTime) })

const usableAddresses = (sql: Sql, addresses: ReadonlyArray<string>) =>
  addresses.length === 0
    ? Effect.succeed(addresses)
    : sql`SELECT address FROM mail_addresses WHERE address = ANY(${addresses.map((one) => one.toLowerCase())})
        AND (confirmed_at IS NOT NULL OR usable_until > now())`.pipe(
        Effect.map((rows) => {
          const usable = new Set(rows.map((row) => decodeAddress(row).address))
          return addresses.filter((one) => usable.has(one.toLowerCase()))
        }),
        Effect.catchAll(readError)
      )

const countOfAccount = (sql: Sql, stock: AccountStock) =>
  sql`SELECT svc_account_use(${stock}) AS n`.pipe(Effect.map(countOf), Effect.catchAll(readError))

const wakeRun = (sql: Sql, id: ExecutionId) =>
  sql`UPDATE runs SET wake_at = ${sql.literal(wokenAt)} WHERE id = ${id} AND status = 'running' RETURNING 1`.pipe(
    Effect.map((rows) => rows.length > 0),
    Effect.catchAll(readError)
  )

/** The time of each delivery is stored with it, so that the rate survives restarts. */
const resendDeliveries = (sql: Sql, { endpointId, from, limit, perSecond, statuses, to }: ResendSelection) =>
  sql`
    WITH chosen AS (
      SELECT id, created_at FROM deliveries
      WHERE endpoint_id = ${endpointId} AND status = ANY(${statuses})
        AND created_at >= COALESCE(${from ?? null}::timestamptz, '-infinity') AND created_at < COALESCE(${to ?? null}::timestamptz, 'infinity')
      ORDER BY created_at, id LIMIT ${limit} FOR UPDATE
    ), numbered AS (
      SELECT id, row_number() OVER (ORDER BY created_at, id) - 1 AS nth FROM chosen
    ), sent AS (
      UPDATE deliveries d SET status = 'pending', attempts_before = d.attempts, finished_at = NULL, ${sql.literal(noLease(deliveries("deliveries")))},
        next_at = now() + n.nth / ${perSecond}::float8 * interval '1 second'
      FROM numbered n WHERE d.id = n.id RETURNING d.next_at
    ) SELECT count(*)::int AS queued, max(next_at) AS "lastAt" FROM sent`.pipe(
    Effect.map(([row]) => (row === undefined ? { queued: 0, lastAt: null } : decodeResent(row))),
    Effect.catchAll(readError)
  )

/** Sets whose rows the transaction sees. */
const setOrganisation = (sql: Sql, organisation: string) => sql`SELECT set_config('svc.org', ${organisation}, true)`

const decodeSetting = rowDecoder("organisations", { organisation: Schema.String })

/** The organisation is not set back after a failure, with which the transaction ends. */
const within =
  (sql: Sql): Tx["within"] =>
  (organisation, body) => {
    const setTo = (one: string) => Effect.catchAll(setOrganisation(sql, one), databaseUnavailable)
    return Effect.flatMap(
      Effect.catchAll(sql`SELECT current_setting('svc.org') AS organisation`, readError),
      ([before = {}]) =>
        setTo(organisation).pipe(Effect.zipRight(body), Effect.zipLeft(setTo(decodeSetting(before).organisation)))
    )
  }

const noteChangeOf = (organisations: ReadonlyArray<OrganisationId>) =>
  Effect.map(FiberRef.get(transactionWrites), (state) => {
    for (const organisation of organisations) state?.others.add(organisation)
  })

/** All that a transaction can read and write. */
const makeTx = (sql: Sql, auditRows: AuditRows): Tx => ({
  // Each repository is of its table's record, which a mapping over the tables cannot say.
  ...(Record.map(tables as {}, (table: Table<unknown>) => makeRepository(sql, table)) as unknown as Repositories),
  endWidgetSessions: (widget, at) =>
    execute(sql`UPDATE embed_sessions SET ended_at = ${at} WHERE widget_id = ${widget} AND ended_at IS NULL`),
  markNotificationsRead: (selection) => markNotificationsRead(sql, selection),
  noteInviter: (userId, by) => noteInviter(sql, userId, by),
  takeInviteMail: (address) => takeInviteMail(sql, address),
  usableAddresses: (addresses) => usableAddresses(sql, addresses),
  countOfAccount: (stock) => countOfAccount(sql, stock),
  within: within(sql),
  noteChangeOf,
  wakeRun: (id) => wakeRun(sql, id),
  resendDeliveries: (selection) => resendDeliveries(sql, selection),
  isSaveDue: (save) => isSaveDue(sql, save),
  audit: (entry) =>
    Effect.catchAll(auditRows.write(sql, [entry]), (error) =>
      error._tag === "Unavailable" ? Effect.fail(error) : readError(error)
    ),
  emit: (event) => emit(sql, event),
  ...makeReplies(sql),
  ...makeKeyLocks(sql),
  ...makeTeams(sql),
  ...makeDeploying(sql),
  ...makeActionHistory(sql)
})

/** Announces the commit of a transaction that wrote, so that the read caches of all nodes drop older values. */
const recordWrites = <A, E, R>(
  commits: Commits["Type"],
  organisation: OrganisationId,
  transaction: Effect.Effect<A, E, R>
) =>
  Effect.flatMap(FiberRef.get(transactionWrites), (outer) => {
    // A nested transaction commits with the outer one.
    if (outer !== undefined) return transaction
    const state: TransactionWrites = { isWritten: false, others: new Set() }
    return Effect.locally(transaction, transactionWrites, state).pipe(
      Effect.tap(() =>
        Effect.forEach(state.isWritten ? [organisation, ...state.others] : [], commits.announceCommit, {
          concurrency: "unbounded",
          discard: true
        })
      )
    )
  })

export const layer = Layer.effect(
  Records,
  Effect.gen(function* () {
    const sql = yield* AppSql
    const commits = yield* Commits

    const tx = makeTx(sql, yield* AuditRows)

    return Records.of({
      transact: (organisation, body) =>
        recordWrites(
          commits,
          organisation,
          sql.withTransaction(
            Effect.zipRight(Effect.catchAll(setOrganisation(sql, organisation), databaseUnavailable), body(tx))
          )
        ).pipe(Effect.catchIf((error): error is SqlError => error instanceof SqlError, databaseUnavailable))
    })
  })
)
