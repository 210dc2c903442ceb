/**
 * Seals entries into their organisation's hash chain, within a second of their commit. An entry is sealed only when no
 * older transaction can still commit one, so the order of the chain is that of the transactions and never changes.
 */
import { Effect, Layer } from "effect"
import { Digests } from "../../actors/ports/Digests.js"
import { Ownership } from "../../actors/ports/Ownership.js"
import { type AuditEntry, sealText } from "../../domain/Audit.js"
import type { OrganisationId } from "../../domain/Ids.js"
import { WriterSql } from "../postgres/Pools.js"
import type { CheckpointFile } from "./Checkpoints.js"

/** An entry is sealed within a second. */
const interval = "700 millis"
const batch = 2_000

interface Head {
  readonly seq: number
  readonly hash: string | null
  readonly xid: string
  readonly entryId: string
}

interface Unsealed {
  readonly xmin: string
  /** With entries that may not be sealed yet. */
  readonly organisations: ReadonlyArray<OrganisationId>
}

export const layer = (checkpoints: CheckpointFile) =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      const sql = yield* WriterSql
      const digests = yield* Digests
      const ownership = yield* Ownership
      const heads = new Map<OrganisationId, Head>()

      const headOf = Effect.fnUntraced(function* (organisation: OrganisationId) {
        const known = heads.get(organisation)
        if (known !== undefined) return known
        const [row] = yield* sql<{ seq: number; hash: string; xid: string; entryId: string }>`
      SELECT s.seq::float8 AS seq, s.hash, e.xid::text AS xid, e.id AS "entryId" FROM audit_seal s JOIN audit_entries e ON e.id = s.entry_id
      WHERE s.org = ${organisation} ORDER BY s.seq DESC LIMIT 1`
        return row ?? { seq: 0, hash: null, xid: "0", entryId: "" }
      })

      const seal = Effect.fnUntraced(function* (organisation: OrganisationId) {
        const head = yield* headOf(organisation)
        const rows = yield* sql<{ entry: AuditEntry; xid: string }>`
      SELECT entry, xid::text AS xid FROM audit_entries
      WHERE org = ${organisation} AND (xid, id) > (${head.xid}, ${head.entryId}) AND xid < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
      ORDER BY xid, id LIMIT ${batch}`
        if (rows.length === 0) return 0
        let { entryId, hash, seq, xid } = head
        const links: Array<{ org: string; seq: number; entry_id: string; prev_hash: string | null; hash: string }> = []
        for (const row of rows) {
          seq++
          const next = digests.sha256Hex(sealText(hash, seq, row.entry))
          links.push({ org: organisation, seq, entry_id: row.entry.id, prev_hash: hash, hash: next })
          hash = next
          xid = row.xid
          entryId = row.entry.id
        }
        // Two sealers of one organisation would want the same place: the second fails and reads the head again.
        heads.delete(organisation)
        yield* sql`INSERT INTO audit_seal (org, seq, entry_id, prev_hash, hash)
      SELECT org, seq, entry_id, prev_hash, hash FROM json_to_recordset(${JSON.stringify(links)}::json)
        AS t(org text, seq bigint, entry_id text, prev_hash text, hash text)`
        heads.set(organisation, { seq, hash, xid, entryId })
        yield* checkpoints.offer({ organisationId: organisation, seq, hash: hash ?? "" })
        return rows.length
      })

      // Of the same snapshot as the entries: what is older than it is there to be seen.
      const xmin = sql.literal("pg_snapshot_xmin(pg_current_snapshot())::text AS xmin")
      /** All that was committed before this transaction id is sealed; nothing is known of the time before the start. */
      let sealedBelow: string | undefined
      const look = Effect.gen(function* () {
        const [found] = yield* sealedBelow === undefined
          ? sql<Unsealed>`SELECT ${xmin}, ARRAY(SELECT id FROM organisations) AS organisations`
          : sql<Unsealed>`SELECT ${xmin}, ARRAY(SELECT DISTINCT org FROM audit_entries WHERE xid >= ${sealedBelow}) AS organisations`
        if (found === undefined) return
        for (const org of found.organisations) {
          if (!ownership.holds(ownership.shardOf(org))) continue
          while ((yield* seal(org)) === batch);
        }
        sealedBelow = found.xmin
      }).pipe(Effect.catchAll((error) => Effect.logWarning("sealing the audit trail failed; it is tried again", error)))

      yield* look.pipe(Effect.delay(interval), Effect.forever, Effect.forkScoped)
      yield* Effect.addFinalizer(() => look)
    })
  )
