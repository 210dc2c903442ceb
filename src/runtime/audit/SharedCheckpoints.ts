/**
 * Brings the checkpoints of each node to the files of all, by a table. The table is no proof: its lines are signed, and a line
 * that was taken away, or put back, changes no file. A checkpoint of another node takes the place of an older one only if
 * the chain still has that.
 */
import { Effect, Schema } from "effect"
import type { Checkpoint } from "../../actors/ports/AuditTrail.js"
import type { OrganisationId } from "../../domain/Ids.js"
import { rowDecoder } from "../postgres/record/Table.js"
import type { WriterSql } from "../postgres/database/Pools.js"
import { type CheckpointFile, type CheckpointLine, isBranch } from "./Checkpoints.js"

/** Lines that are read together. */
const page = 2_000

const decodeLine = rowDecoder("audit_checkpoints", {
  org: Schema.String,
  place: Schema.String,
  line: Schema.String,
  /** Unix seconds. */
  writtenAt: Schema.Number
})
const decodeHash = rowDecoder("audit_seal", { org: Schema.String, seq: Schema.Number, hash: Schema.String })

export const makeSharedCheckpoints = (sql: WriterSql["Type"], file: CheckpointFile) => {
  /** Checkpoints of this node that the table does not have. */
  const unshared = new Map<OrganisationId, Checkpoint>()
  /** The newest line that was read, Unix seconds. */
  let readUntil: number | null = null
  const contradicted = new Set<OrganisationId>()

  const insert = (lines: ReadonlyArray<CheckpointLine>) => {
    const rows = lines.map((line) => ({
      org: line.organisationId,
      place: isBranch(line) ? line.signature : "",
      seq: isBranch(line) ? line.closed.seq : line.seq,
      line: JSON.stringify(line)
    }))
    return sql`
      INSERT INTO audit_checkpoints AS c (org, place, seq, line)
      SELECT org, place, seq, line FROM json_to_recordset(${JSON.stringify(rows)}::json)
        AS t(org text, place text, seq bigint, line text)
      ON CONFLICT (org, place) DO UPDATE SET seq = excluded.seq, line = excluded.line, written_at = now()
        WHERE c.seq < excluded.seq`
  }

  /** Gives other nodes these checkpoints, and those that could not be given before. */
  const share = Effect.fnUntraced(function* (written: ReadonlyArray<Checkpoint>) {
    for (const checkpoint of written) unshared.set(checkpoint.organisationId, checkpoint)
    const lines = [...unshared.values()]
    if (lines.length === 0) return
    yield* insert(lines)
    for (const line of lines) if (unshared.get(line.organisationId) === line) unshared.delete(line.organisationId)
  })

  /** Gives other nodes all that the file has. The table forgets the checkpoints of branches that this node has closed. */
  const shareAll = (closed: ReadonlyArray<OrganisationId>) =>
    sql.withTransaction(
      Effect.gen(function* () {
        yield* sql`DELETE FROM audit_checkpoints WHERE org = ANY(${closed}) AND place = ''`
        const lines = file.lines()
        for (let at = 0; at < lines.length; at += page) yield* insert(lines.slice(at, at + page))
      })
    )

  /** Without the checkpoints of chains that no longer have the entry of the file's own checkpoint. */
  const consistent = Effect.fnUntraced(function* (news: ReadonlyArray<Checkpoint>) {
    const own = news.flatMap(({ organisationId }) => file.latest(organisationId) ?? [])
    const places = JSON.stringify(own.map(({ organisationId, seq }) => ({ org: organisationId, seq })))
    const rows =
      own.length === 0
        ? []
        : yield* sql`
          SELECT s.org, s.seq::float8 AS seq, s.hash FROM audit_seal s
          JOIN json_to_recordset(${places}::json) AS t(org text, seq bigint) USING (org, seq)`
    const hashes = new Map(rows.map(decodeHash).map(({ hash, org }) => [org, hash]))
    const lost = own.filter(({ hash, organisationId }) => hashes.get(organisationId) !== hash)
    for (const { organisationId, seq } of lost) {
      if (contradicted.has(organisationId)) continue
      contradicted.add(organisationId)
      yield* Effect.annotateLogs(Effect.logError("audit.chain_changed"), {
        organisationId,
        seq,
        remedy: "verify the chain: it does not have the entry of this node's checkpoint, which is kept"
      })
    }
    const ids = new Set(lost.map(({ organisationId }) => organisationId))
    return news.filter(({ organisationId }) => !ids.has(organisationId))
  })

  const adoptPage = Effect.fnUntraced(function* (lines: ReadonlyArray<string>) {
    yield* file.adopt(file.newsIn(lines).filter(isBranch))
    yield* file.adopt(yield* consistent(file.newsIn(lines).flatMap((line) => (isBranch(line) ? [] : [line]))))
  })

  /** Adds what other nodes have given since the last time; the first time all. */
  const adopt = Effect.gen(function* () {
    let newest = readUntil
    let after = { org: "", place: "" }
    for (;;) {
      // A little of what was read before, again: lines may become visible out of order.
      const rows = (yield* sql`
        SELECT org, place, line, extract(epoch FROM written_at)::float8 AS "writtenAt" FROM audit_checkpoints
        WHERE (org, place) > (${after.org}, ${after.place})
          AND (${readUntil}::float8 IS NULL OR written_at > to_timestamp(${readUntil}) - interval '2 minutes')
        ORDER BY org, place LIMIT ${page}`).map(decodeLine)
      yield* adoptPage(rows.map(({ line }) => line))
      for (const { writtenAt } of rows) newest = Math.max(newest ?? 0, writtenAt)
      const last = rows.at(-1)
      if (last === undefined || rows.length < page) break
      after = last
    }
    readUntil = newest
  })

  return { adopt, share, shareAll }
}
