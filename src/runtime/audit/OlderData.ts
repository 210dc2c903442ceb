/**
 * Closes branches of audit chains at a start on older data, as after a restore: the checkpoint file then knows entries
 * that the database does not have, and verifying would fail for good. The chain goes on with a signed entry that names
 * both ends.
 */
import { DateTime, Effect, Schema } from "effect"
import type { Identifiers } from "../../actors/ports/Identifiers.js"
import type { Checkpoint } from "../../actors/ports/AuditTrail.js"
import type { AuditEntry } from "../../domain/audit/Audit.js"
import { serviceActor } from "../../domain/access/Caller.js"
import { OrganisationId } from "../../domain/Ids.js"
import { auditRow, insertAuditRows } from "../postgres/AuditRow.js"
import type { WriterSql } from "../postgres/database/Pools.js"
import type { CheckpointFile } from "./Checkpoints.js"
import { rowDecoder } from "../postgres/record/Table.js"

const decodeEnd = rowDecoder("audit_seal", {
  org: OrganisationId,
  seq: Schema.NullOr(Schema.Number),
  hash: Schema.NullOr(Schema.String)
})
type StoredEnd = ReturnType<typeof decodeEnd>

/** The ends of these organisations' chains; an organisation that the data does not know has none. */
const endsOf = (sql: WriterSql["Type"], organisations: ReadonlyArray<string>) =>
  sql`SELECT o.id AS org, s.seq::float8 AS seq, s.hash FROM organisations o LEFT JOIN LATERAL (
      SELECT seq, hash FROM audit_seal WHERE org = o.id ORDER BY seq DESC LIMIT 1) s ON true
    WHERE o.id = ANY(${organisations})`

const entryOf = (
  identifiers: Identifiers["Type"],
  { at, hash, organisationId, seq }: Checkpoint,
  end: StoredEnd,
  now: string
): AuditEntry => ({
  id: identifiers.next("aud"),
  organisationId,
  at: now,
  actor: serviceActor,
  action: "audit.branch_close",
  resource: { type: "audit", id: null, name: null },
  customerId: null,
  outcome: "success",
  requestId: null,
  changes: [
    { path: "seq", before: seq, after: end.seq },
    { path: "hash", before: hash, after: end.hash },
    { path: "checkpointAt", before: at, after: null }
  ],
  count: 1
})

/** Run once at the start, before anything is sealed. Returns the organisations whose branch was closed. */
export const closeLostBranches = Effect.fnUntraced(function* (
  sql: WriterSql["Type"],
  identifiers: Identifiers["Type"],
  checkpoints: CheckpointFile
) {
  const known = checkpoints.all()
  const closed: Array<OrganisationId> = []
  if (known.length === 0) return closed
  const ends = new Map(
    (yield* endsOf(
      sql,
      known.map(({ organisationId }) => organisationId)
    ))
      .map(decodeEnd)
      .map((end) => [end.org, end])
  )
  for (const checkpoint of known) {
    const end = ends.get(checkpoint.organisationId)
    if ((end?.seq ?? 0) >= checkpoint.seq) continue
    const resumed = end?.seq == null || end.hash === null ? null : { seq: end.seq, hash: end.hash }
    // Before the file: a crash between the two repeats the entry, and never loses it.
    if (end !== undefined) {
      const row = auditRow(entryOf(identifiers, checkpoint, end, yield* Effect.map(DateTime.now, DateTime.formatIso)))
      yield* sql.unsafe(insertAuditRows("$1"), [JSON.stringify([row])])
    }
    yield* checkpoints.close(checkpoint, resumed)
    closed.push(checkpoint.organisationId)
    yield* Effect.annotateLogs(Effect.logWarning("audit.branch_closed"), {
      organisationId: checkpoint.organisationId,
      closedSeq: checkpoint.seq,
      resumedSeq: end?.seq ?? 0
    })
  }
  return closed
})
