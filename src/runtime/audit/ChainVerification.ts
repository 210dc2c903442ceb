/** Verifies an organisation's chain of audit entries: its hashes, its gaps, its last checkpoint, and what is unsealed. */
import type { Sql } from "../postgres/database/Sql.js"
import { Effect, Schema } from "effect"
import type { Checkpoint, ClosedBranch } from "../../actors/ports/AuditTrail.js"
import type { Digests } from "../../actors/ports/Digests.js"
import { auditHashInput, type StoredAuditEntry } from "../../domain/audit/AuditCommitment.js"
import type { OrganisationId } from "../../domain/Ids.js"
import { auditSeal } from "../../domain/Limits.js"
import { asOrganisation } from "./AuditQueries.js"
import { storedDocument } from "../../domain/Json.js"
import { rowDecoder } from "../postgres/record/Table.js"

const verifyBatch = 2_000

const decodeSealed = rowDecoder("audit_seal", {
  seq: Schema.Number,
  prev_hash: Schema.NullOr(Schema.String),
  hash: Schema.String,
  /** `null` if the entry was removed. */
  entry: Schema.NullOr(storedDocument<StoredAuditEntry>())
})
type Sealed = ReturnType<typeof decodeSealed>
const decodeRange = rowDecoder("audit_seal", {
  first: Schema.NullOr(Schema.Number),
  last: Schema.NullOr(Schema.Number)
})
const decodeUnsealed = rowDecoder("audit_entries", {
  n: Schema.Number,
  id: Schema.NullOr(Schema.String),
  at: Schema.NullOr(Schema.String),
  age: Schema.NullOr(Schema.Number)
})

/** The checkpoints that were written outside the database. */
export interface Checkpoints {
  readonly latest: (organisation: OrganisationId) => Checkpoint | null
  readonly closedBranches: (organisation: OrganisationId) => ReadonlyArray<ClosedBranch>
}

/** Verifies chains against the checkpoints that were written outside the database. */
export const makeChainVerification = (app: Sql, digests: Digests["Type"], checkpoints: Checkpoints) => {
  /** The part of the chain with all entries of a period: the chain is in the order of commits. */
  const rangeOf = Effect.fnUntraced(function* (
    organisation: OrganisationId,
    from: string | undefined,
    to: string | undefined
  ) {
    const [row] = yield* app`
  SELECT min(s.seq)::float8 AS first, max(s.seq)::float8 AS last FROM audit_seal s LEFT JOIN audit_entries e ON e.id = s.entry_id
  WHERE s.org = ${organisation} AND (${from ?? null}::timestamptz IS NULL OR e.at >= ${from ?? null})
    AND (${to ?? null}::timestamptz IS NULL OR e.at < ${to ?? null})`
    const { first, last } = row === undefined ? { first: null, last: null } : decodeRange(row)
    return {
      first: from === undefined ? 1 : (first ?? 1),
      last: last ?? 0,
      // A period without an entry, as in the future, says nothing about the end of the chain.
      isEmpty: from !== undefined && first === null
    }
  })

  /** At most a batch of the chain's entries after this position. */
  const readChain = (organisation: OrganisationId, after: number, last: number) =>
    Effect.map(
      app`SELECT s.seq::float8 AS seq, s.prev_hash, s.hash, e.entry FROM audit_seal s LEFT JOIN audit_entries e ON e.id = s.entry_id
  WHERE s.org = ${organisation} AND s.seq > ${after} AND s.seq <= ${last} ORDER BY s.seq LIMIT ${verifyBatch}`,
      (rows) => rows.map(decodeSealed)
    )

  /** Whether an entry has the hash that its content, its place and its predecessor give. */
  const isGenuine = (row: Sealed, before: Sealed | undefined, checkpoint: Checkpoint | null): boolean =>
    row.entry !== null &&
    digests.sha256Hex(auditHashInput(row.prev_hash, row.seq, row.entry)) === row.hash &&
    row.prev_hash === (before?.hash ?? null) &&
    (checkpoint?.seq !== row.seq || checkpoint.hash === row.hash)

  /**
   * The number of unsealed entries after the sealer's position, and the oldest of them. An entry whose seal was
   * removed shows as a gap in the chain.
   */
  const unsealedOf = Effect.fnUntraced(function* (organisation: OrganisationId) {
    const [row] = yield* app`
    SELECT count(*)::int AS n, (array_agg(e.id ORDER BY e.id))[1] AS id,
      to_char(min(e.at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at,
      extract(epoch FROM now() - min(e.at))::float8 AS age
    FROM audit_entries e
    WHERE e.org = ${organisation} AND NOT EXISTS (SELECT 1 FROM audit_seal s WHERE s.entry_id = e.id)`
    const { age, at, id, n } = row === undefined ? { age: null, at: null, id: null, n: 0 } : decodeUnsealed(row)
    const oldest = id === null || at === null ? null : { id, at, ageSeconds: age ?? 0 }
    return { unsealed: n, oldest }
  })

  /** Verifies the entries of a period, or all. */
  const verifyChain = (organisation: OrganisationId, from: string | undefined, to: string | undefined) =>
    asOrganisation(
      app,
      organisation,
      Effect.gen(function* () {
        const checkpoint = checkpoints.latest(organisation)
        // Read before the chain: an entry that is sealed meanwhile counts as unsealed, and none is missed.
        const { oldest, unsealed } = yield* unsealedOf(organisation)
        const { first, isEmpty, last } = yield* rangeOf(organisation, from, to)
        let before = first === 1 ? undefined : (yield* readChain(organisation, first - 2, first - 1))[0]
        let next = first
        let checked = 0
        let firstBadSeq: number | null = null
        while (next <= last) {
          const rows: ReadonlyArray<Sealed> = yield* readChain(organisation, next - 1, last)
          for (const row of rows) {
            // A missing entry is as bad as a wrong one.
            if (firstBadSeq === null && row.seq !== next) firstBadSeq = next
            if (firstBadSeq === null && !isGenuine(row, before, checkpoint)) firstBadSeq = row.seq
            checked++
            next = row.seq + 1
            before = row
          }
          if (rows.length === 0) break
        }
        // Detects a chain that was truncated before its last checkpoint.
        if (firstBadSeq === null && to === undefined && !isEmpty && checkpoint !== null && next <= checkpoint.seq)
          firstBadSeq = next
        const isLate = oldest !== null && oldest.ageSeconds > auditSeal.overdueSeconds
        return {
          ok: firstBadSeq === null && !isLate,
          checked,
          firstBadSeq,
          checkpoint,
          unsealed,
          oldestUnsealed: oldest === null ? null : { id: oldest.id, at: oldest.at },
          closedBranches: checkpoints.closedBranches(organisation)
        }
      })
    )

  return verifyChain
}
