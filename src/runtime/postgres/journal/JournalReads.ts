/**
 * Reads journals for replays: first an index without results, then the results in pieces that the caller bounds. No
 * result is parsed here.
 */
import type { SqlError } from "@effect/sql/SqlError"
import { Effect, Schema } from "effect"
import { type Journal } from "../../../actors/ports/run/Journal.js"
import type { Vault } from "../../../actors/ports/Vault.js"
import type { ExecutionId, OrganisationId } from "../../../domain/Ids.js"
import {
  type CallOutcome,
  type IndexedCall,
  type IndexedEntry,
  type IndexedOutput,
  type IndexedResult,
  partsOf,
  reusedCall,
  type StartEntry
} from "../../../domain/run/RunJournal.js"
import type { WriterSql } from "../database/Pools.js"
import {
  decodeEntry,
  decodeResult,
  isDoneKind,
  isOutputKind,
  isSmallKind,
  moveRow,
  outcomeOfKind,
  type SealedRow
} from "./JournalRow.js"
import { journalUnavailable } from "../database/DatabaseUnavailable.js"
import { castRows } from "../database/Sql.js"
import { rowDecoder } from "../record/Table.js"

interface IndexRow extends Omit<SealedRow, "body"> {
  readonly call: number | null
  readonly hash: string | null
  readonly place: string | null
  readonly bytes: number
  readonly body: Uint8Array | null
}

interface TextRow extends Omit<SealedRow, "body"> {
  readonly body: string
}

/** Bytes of results that come with the index, and of results that are copied at a time. */
const smallJournalBytes = 256 * 1024
const copiedBytes = 1024 * 1024

/** The bodies of the first rows come with the index, so that a small journal takes one query. */
const indexSql = `SELECT j.seq, j.kind, j.call, j.hash, j.place, j.bytes,
    CASE WHEN ${isSmallKind} OR j.total <= ${smallJournalBytes} THEN j.body END AS body
  FROM (SELECT seq, kind, call, hash, place, body, octet_length(body) AS bytes,
      sum(octet_length(body)) OVER (ORDER BY seq) AS total
    FROM journal WHERE id = $1) j
  ORDER BY j.seq`

/** As base64, which is read five times as fast as the hexadecimal digits in which a `bytea` comes. */
const resultsSql =
  "SELECT seq, kind, encode(body, 'base64') AS body FROM journal WHERE id = $1 AND seq = ANY($2::int[]) ORDER BY seq"

const sizesSql =
  "SELECT seq, octet_length(body) AS bytes FROM journal WHERE id = $1 AND seq BETWEEN 1 AND $2 ORDER BY seq"

const insertSql = `INSERT INTO journal (id, seq, epoch, kind, call, hash, place, body)
  SELECT $2, j.seq, 1, j.kind, j.call, j.hash, j.place, t.body
  FROM unnest($3::int[], $4::bytea[]) AS t(seq, body) JOIN journal j ON j.id = $1 AND j.seq = t.seq
  ON CONFLICT (id, seq) DO NOTHING`

const stepsSql = `INSERT INTO steps (id, class, org, index, status, path, record)
  SELECT $2, $3, org, index, status, path, (left(record::text, -1) || ',"reused":true}')::json
  FROM steps WHERE id = $1 AND org = $4 AND index < $5 AND index <> ALL($6::int[]) AND status IN ('completed', 'failed', 'skipped')
  ON CONFLICT DO NOTHING`

const decodeSize = rowDecoder("journal", { seq: Schema.Number, bytes: Schema.Number })

/** What the columns tell of a result, and its outcome if the row was opened. */
const headOf = (
  { call, hash, kind, place }: IndexRow,
  outcome: CallOutcome | undefined
): Pick<IndexedCall, "kind" | "call" | "hash" | "place" | "outcome"> | Pick<IndexedOutput, "kind" | "place"> =>
  isOutputKind(kind)
    ? { kind: "output", place: place ?? "" }
    : {
        kind: "done",
        call: call ?? 0,
        hash: hash ?? "",
        ...(place === null ? {} : { place }),
        outcome: outcome ?? outcomeOfKind(kind) ?? "ok"
      }

export const makeJournalReads = (
  sql: WriterSql["Type"],
  vault: Vault["Type"]
): Pick<Journal["Type"], "index" | "results" | "copy" | "takeOverSteps"> => {
  // Not decoded, since a replay reads thousands, and a sealed body that another wrote does not open.
  const readRows = (
    id: ExecutionId,
    places: ReadonlyArray<number>
  ): Effect.Effect<ReadonlyArray<SealedRow>, SqlError> =>
    Effect.map(castRows<TextRow>(sql.unsafe(resultsSql, [id, places])), (rows) =>
      rows.map(({ body, kind, seq }) => ({ seq, kind, body: Buffer.from(body, "base64") }))
    )

  const index = Effect.fn("Journal.index")(function* (organisation: OrganisationId, id: ExecutionId) {
    const sealer = yield* vault.of(organisation)
    // Not decoded, for the same reason.
    const rows = yield* castRows<IndexRow>(sql.unsafe(indexSql, [id]))
    let start: StartEntry | undefined
    let bytes = 0
    const rest: Array<IndexedEntry> = []
    const found = new Map<number, Pick<IndexedResult, "bytes" | "result">>()
    for (const row of rows) {
      bytes += row.bytes
      const { body, kind, seq } = row
      if (!isDoneKind(kind) && !isOutputKind(kind)) {
        if (body === null) continue
        const entry = decodeEntry(sealer, id, { seq, kind, body })
        if (entry.kind === "start") start = entry
        else rest.push(entry.kind === "reused" ? reusedCall(entry, found.get(entry.of)) : entry)
        continue
      }
      // A large row of an earlier release does not tell how its call ended: it is opened alone.
      const isUntold = !isOutputKind(kind) && outcomeOfKind(kind) === undefined
      const sealed = body ?? (isUntold ? (yield* readRows(id, [seq]))[0]?.body : undefined)
      const opened = sealed === undefined ? undefined : decodeResult(sealer, id, { seq, kind, body: sealed })
      const result = body === null || opened === undefined ? {} : { result: opened.result }
      found.set(seq, { bytes: row.bytes, ...result })
      rest.push({ ...headOf(row, opened?.outcome), seq, bytes: row.bytes, ...result })
    }
    return { start, rest, bytes }
  }, Effect.mapError(journalUnavailable))

  const results = Effect.fn("Journal.results")(function* (
    organisation: OrganisationId,
    id: ExecutionId,
    places: ReadonlyArray<number>
  ) {
    const sealer = yield* vault.of(organisation)
    const rows = yield* readRows(id, places)
    const found = new Map(rows.map((row) => [row.seq, decodeResult(sealer, id, row).result]))
    return places.flatMap((place) => found.get(place) ?? [])
  }, Effect.mapError(journalUnavailable))

  const copy = Effect.fn("Journal.copy")(function* (
    organisation: OrganisationId,
    from: ExecutionId,
    to: ExecutionId,
    until: number
  ) {
    const sealer = yield* vault.of(organisation)
    const rows = (yield* sql.unsafe(sizesSql, [from, until])).map(decodeSize)
    for (const part of partsOf(rows, copiedBytes)) {
      const places = part.map(({ seq }) => seq)
      const sealed = yield* readRows(from, places)
      const moved = sealed.map((row) => Buffer.from(moveRow(sealer, from, to, row)))
      yield* sql.unsafe(insertSql, [from, to, places, moved])
    }
  }, Effect.mapError(journalUnavailable))

  const takeOverSteps: Journal["Type"]["takeOverSteps"] = ({ id, organisationId, record, retention }, rows, open) =>
    Effect.mapError(
      sql.unsafe(stepsSql, [record.parentId, id, retention, organisationId, rows, open]),
      journalUnavailable
    ).pipe(Effect.asVoid)

  return { index, results, copy, takeOverSteps }
}
