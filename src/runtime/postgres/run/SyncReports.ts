/**
 * The port `SyncReports`: a report, its entries in parts, the event that tells of it and the journal row of its call are one
 * transaction, which only the owner of the run makes.
 */
import { Effect, Layer, Option, Schema } from "effect"
import { Fenced } from "../../../actors/ports/run/Journal.js"
import { type NewReport, type PlacedEntry, SyncReports } from "../../../actors/ports/run/SyncReports.js"
import { Vault } from "../../../actors/ports/Vault.js"
import { comparisonLimits, ReportedChange, ReportOp, SyncReport } from "../../../domain/diff/SyncReport.js"
import { journalUnavailable } from "../database/DatabaseUnavailable.js"
import { organisationReader } from "../database/OrganisationRole.js"
import { AppSql, WriterSql } from "../database/Pools.js"
import { selectOwned } from "../journal/Fence.js"
import { journal } from "../journal/FlushTables.js"
import { encodeEntry } from "../journal/JournalRow.js"
import { rowDecoder } from "../record/Table.js"

const lockSql = `WITH owned AS MATERIALIZED (${selectOwned("$1", "$2")}) SELECT id FROM owned`
const insertEntry = journal.insert("$1", () => false)

/** As long as the record of its run is kept, `$9` days. */
const expiry = "now() + ($9::int + 1) * interval '1 day'"
const insertSql = `INSERT INTO sync_reports (id, org, space, execution_id, workflow_id, customer_id, name, summary, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8::json, ${expiry}) RETURNING expires_at`
const insertPartsSql = `INSERT INTO sync_report_parts (report_id, org, first, op, count, size, entries, expires_at)
  SELECT $1, $2, p.first, p.op, p.count, length(p.entries), p.entries::json, r.expires_at
  FROM unnest($3::int[], $4::text[], $5::int[], $6::text[]) AS p (first, op, count, entries), sync_reports r WHERE r.id = $1`

const columns = `id, execution_id AS "executionId", workflow_id AS "workflowId", customer_id AS "customerId", name, summary,
  created_at AS "createdAt"`

const decodeReport = rowDecoder("sync_reports", SyncReport)
const decodePart = rowDecoder("sync_report_parts", {
  first: Schema.Number,
  entries: Schema.Array(ReportedChange)
})

const asOrganisation = organisationReader("sync_reports.read_failed")

/** Characters of a page, after which it has no further part: entries may be large. */
const pageCharacters = 1024 * 1024

/**
 * The parts that a page begins with: `$4` at most, and as many characters as a page has. `$2`: the entries of the report before
 * the page; `$3`: the kind of entries, null for all.
 */
const partsSql = `SELECT first, entries FROM (
    SELECT first, entries, sum(size) OVER (ORDER BY first) - size AS before
    FROM (SELECT first, size, entries FROM sync_report_parts
      WHERE report_id = $1 AND first + count > $2 AND ($3::text IS NULL OR op = $3) ORDER BY first LIMIT $4) AS listed) AS sized
  WHERE before < ${pageCharacters} ORDER BY first`

/** The parts that so many entries are in: of each kind the first and the last may have few. */
const mostParts = (entries: number): number =>
  Math.ceil(entries / comparisonLimits.partEntries) + 2 * ReportOp.literals.length

const placedEntries = ({ entries, first }: ReturnType<typeof decodePart>): ReadonlyArray<PlacedEntry> =>
  entries.map((entry, at) => ({ place: first + at, entry }))

export const layer = Layer.effect(
  SyncReports,
  Effect.gen(function* () {
    const writer = yield* WriterSql
    const sql = yield* AppSql
    const vault = yield* Vault

    const insert = Effect.fnUntraced(function* ({ eventId, id, name, parts, run, summary }: NewReport) {
      const { customerId, id: executionId, organisationId, record, retention, spaceId, workflowId } = run
      yield* writer.unsafe(insertSql, [
        id,
        organisationId,
        spaceId,
        executionId,
        workflowId,
        customerId,
        name,
        JSON.stringify(summary),
        retention
      ])
      if (parts.length > 0)
        yield* writer.unsafe(insertPartsSql, [
          id,
          organisationId,
          parts.map(({ first }) => first),
          parts.map(({ op }) => op),
          parts.map(({ count }) => count),
          parts.map(({ entries }) => entries)
        ])
      const payload = {
        reportId: id,
        executionId,
        workflowId,
        workflowName: record.workflowName,
        customerId,
        environment: record.environment,
        name,
        summary
      }
      yield* writer`INSERT INTO domain_events (id, org, type, subject, customer_id, payload)
        VALUES (${eventId}, ${organisationId}, 'sync_report.created', ${id}, ${customerId}, ${JSON.stringify(payload)}::jsonb)`
    })

    const add: SyncReports["Type"]["add"] = Effect.fn("SyncReports.add")(function* (report, place, entry) {
      const sealer = yield* Effect.mapError(vault.of(report.run.organisationId), journalUnavailable)
      return yield* Effect.gen(function* () {
        const owned = yield* writer.unsafe(lockSql, [[place.id], [place.epoch]])
        if (owned.length === 0) return yield* new Fenced({ id: place.id })
        yield* insert(report)
        yield* writer.unsafe(insertEntry, [JSON.stringify([encodeEntry(sealer, place, entry)])])
      }).pipe(
        writer.withTransaction,
        Effect.mapError((error) => (error._tag === "Fenced" ? error : journalUnavailable(error)))
      )
    })

    return SyncReports.of({
      add,
      list: (organisation, run, after, limit) =>
        asOrganisation(
          sql,
          organisation,
          sql.unsafe(
            `SELECT ${columns} FROM sync_reports WHERE execution_id = $1 AND org = $2 AND id > $3 ORDER BY id LIMIT $4`,
            [run, organisation, after ?? "", limit]
          )
        ).pipe(Effect.map((rows) => rows.map((row) => decodeReport(row)))),
      find: (organisation, id) =>
        asOrganisation(
          sql,
          organisation,
          sql.unsafe(`SELECT ${columns} FROM sync_reports WHERE id = $1 AND org = $2`, [id, organisation])
        ).pipe(Effect.map(([row]) => Option.map(Option.fromNullable(row), decodeReport))),
      entries: (organisation, id, { after, limit, op }) =>
        asOrganisation(sql, organisation, sql.unsafe(partsSql, [id, after, op ?? null, mostParts(limit)])).pipe(
          Effect.map((rows) => rows.flatMap((row) => placedEntries(decodePart(row)))),
          Effect.map((entries) => entries.filter(({ place }) => place >= after).slice(0, limit))
        )
    })
  })
)
