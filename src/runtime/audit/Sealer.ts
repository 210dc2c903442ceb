/**
 * Seals audit entries into their organisation's hash chain, within a second of their commit. An entry is sealed only
 * when no older transaction can still commit one, so the order of the chain is that of the transactions and never
 * changes. An organisation whose chain cannot be extended is retried; the others are sealed nevertheless.
 */
import { SqlError } from "@effect/sql/SqlError"
import { Cause, Effect, Layer, Schema } from "effect"
import { DatabaseError } from "pg"
import { Digests } from "../../actors/ports/Digests.js"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import { Ownership } from "../../actors/ports/Ownership.js"
import { backgroundTask, repeatEvery } from "../../actors/BackgroundTask.js"
import { auditHashInput, type StoredAuditEntry } from "../../domain/audit/AuditCommitment.js"
import type { OrganisationId } from "../../domain/Ids.js"
import { operatorText } from "../../domain/OperatorText.js"
import { WriterSql } from "../postgres/database/Pools.js"
import type { CheckpointFile } from "./Checkpoints.js"
import { closeLostBranches } from "./OlderData.js"
import { makeSharedCheckpoints } from "./SharedCheckpoints.js"
import { castRows } from "../postgres/database/Sql.js"
import { storedDocument } from "../../domain/Json.js"
import { rowDecoder } from "../postgres/record/Table.js"

/** So that an entry is sealed within a second of its commit. */
const interval = "700 millis"
/** How often a node of a cluster looks for the checkpoints of the others. */
const adoptInterval = "5 seconds"
/** Entries that are read, hashed and sealed together: they hold the main loop for about 3 ms. */
export const batch = 250

/** The oldest transaction that can still commit entries. */
const oldestOpen = "pg_snapshot_xmin(pg_current_snapshot())::text::bigint"

/** The end of a chain, and the sealer's position: all entries up to it, by (xid, id), are sealed. */
const decodeHead = rowDecoder("audit_heads", {
  seq: Schema.Number,
  hash: Schema.NullOr(Schema.String),
  xid: Schema.String,
  entryId: Schema.String
})
type Head = ReturnType<typeof decodeHead>
const decodeEnd = rowDecoder("audit_seal", { seq: Schema.Number, hash: Schema.String })
const decodeEntry = rowDecoder("audit_entries", {
  entry: storedDocument<StoredAuditEntry>(),
  xid: Schema.String,
  sealed: Schema.Boolean
})

interface Unsealed {
  /** Entries of transactions below this one are all visible. */
  readonly xmin: string
  /** Organisations with entries that may be unsealed. */
  readonly organisations: ReadonlyArray<OrganisationId>
  /** All organisations, if this node has shards that it has not looked at. */
  readonly every?: ReadonlyArray<OrganisationId>
}

interface Link {
  readonly org: OrganisationId
  readonly seq: number
  readonly entry_id: string
  readonly prev_hash: string | null
  readonly hash: string
}

const isPositionTaken = (error: unknown) =>
  error instanceof SqlError && error.cause instanceof DatabaseError && error.cause.code === "23505"

export const layer = (checkpoints: CheckpointFile) =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      const sql = yield* WriterSql
      const digests = yield* Digests
      const ownership = yield* Ownership
      const identifiers = yield* Identifiers
      const shared = makeSharedCheckpoints(sql, checkpoints)
      /** Ends of the chains that this node extended last. */
      const heads = new Map<OrganisationId, Head>()
      /** Organisations whose chain could not be extended. */
      const failing = new Set<OrganisationId>()

      /**
       * The stored head. Without one, the end of the chain, and every entry is checked again; also if transaction ids
       * have restarted, as in a restored dump, where the head's transaction lies in the future.
       */
      const headOf = Effect.fnUntraced(function* (org: OrganisationId) {
        const known = heads.get(org)
        if (known !== undefined) return known
        const [stored] = yield* sql`
    SELECT seq::float8 AS seq, hash, xid::text AS xid, entry_id AS "entryId" FROM audit_heads
    WHERE org = ${org} AND xid < ${sql.literal(oldestOpen)}
      AND seq = (SELECT coalesce(max(s.seq), 0) FROM audit_seal s WHERE s.org = ${org})`
        if (stored !== undefined) return decodeHead(stored)
        const [last] = yield* sql`
    SELECT seq::float8 AS seq, hash FROM audit_seal WHERE org = ${org} ORDER BY seq DESC LIMIT 1`
        const end = last === undefined ? undefined : decodeEnd(last)
        return { seq: end?.seq ?? 0, hash: end?.hash ?? null, xid: "0", entryId: "" }
      })

      const linksOf = (
        org: OrganisationId,
        head: Head,
        entries: ReadonlyArray<StoredAuditEntry>
      ): ReadonlyArray<Link> => {
        let { hash, seq } = head
        return entries.map((entry) => {
          seq++
          const next = digests.sha256Hex(auditHashInput(hash, seq, entry))
          const link = { org, seq, entry_id: entry.id, prev_hash: hash, hash: next }
          hash = next
          return link
        })
      }

      /** Seals one batch and returns whether there may be more. */
      const seal = Effect.fnUntraced(function* (org: OrganisationId) {
        const head = yield* headOf(org)
        // Orders by the table's column, not by its text in the list: as text, 1000 comes before 998.
        const rows = (yield* sql`
    SELECT e.entry, e.xid::text AS xid, s.seq IS NOT NULL AS sealed
    FROM audit_entries e LEFT JOIN audit_seal s ON s.entry_id = e.id
    WHERE e.org = ${org} AND (e.xid, e.id) > (${head.xid}::bigint, ${head.entryId}) AND e.xid < ${sql.literal(oldestOpen)}
    ORDER BY e.xid, e.id LIMIT ${batch}`).map(decodeEntry)
        const last = rows.at(-1)
        if (last === undefined) return false
        const links = linksOf(
          org,
          head,
          rows.flatMap(({ entry, sealed }) => (sealed ? [] : [entry]))
        )
        const end = links.at(-1) ?? head
        const next: Head = { seq: end.seq, hash: end.hash, xid: last.xid, entryId: last.entry.id }
        // Of two concurrent sealers the second violates the chain's unique position.
        heads.delete(org)
        yield* sql`
    WITH links AS (
      INSERT INTO audit_seal (org, seq, entry_id, prev_hash, hash)
      SELECT org, seq, entry_id, prev_hash, hash FROM json_to_recordset(${JSON.stringify(links)}::json)
        AS t(org text, seq bigint, entry_id text, prev_hash text, hash text))
    INSERT INTO audit_heads (org, seq, hash, xid, entry_id)
    VALUES (${org}, ${next.seq}, ${next.hash}, ${next.xid}::bigint, ${next.entryId})
    ON CONFLICT (org) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, xid = excluded.xid, entry_id = excluded.entry_id`
        heads.set(org, next)
        checkpoints.extended({ organisationId: org, seq: next.seq, hash: next.hash ?? "" })
        return rows.length === batch
      })

      /** After another node took the position the head is read again. A damaged chain fails each time. */
      const sealBatch = (org: OrganisationId) => Effect.retry(seal(org), { times: 3, while: isPositionTaken })

      const sealAll = (org: OrganisationId, advance: Effect.Effect<void>) =>
        Effect.gen(function* () {
          while (yield* Effect.zipLeft(sealBatch(org), advance));
          failing.delete(org)
        }).pipe(
          Effect.catchAll((error) => {
            // Logged at its beginning only: the background task reports how long it lasts.
            if (failing.has(org)) return Effect.void
            failing.add(org)
            return Effect.annotateLogs(Effect.logWarning("audit.seal_failed", Cause.fail(error)), {
              organisationId: org
            })
          })
        )

      // Of the same snapshot as the entries: all older transactions are visible.
      const unsealedSql = `SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS xmin,
        ARRAY(SELECT DISTINCT org FROM audit_entries WHERE xid >= $1::bigint) AS organisations`
      const everySql = 'ARRAY(SELECT id FROM organisations) AS "every"'
      /** Entries of transactions below this id are sealed in `sealedShards`, except of chains that fail. */
      let sealedBelow: string | undefined
      /** Of which a pass has looked at all organisations. Another node may have left entries in a shard that is gained. */
      let sealedShards: ReadonlySet<number> = new Set()
      let branchesAreClosed = false
      const closeBranches = Effect.suspend(() =>
        branchesAreClosed
          ? Effect.void
          : shared.adopt.pipe(
              Effect.zipRight(closeLostBranches(sql, identifiers, checkpoints)),
              Effect.flatMap(shared.shareAll)
            )
      ).pipe(Effect.tap(() => Effect.sync(() => void (branchesAreClosed = true))))
      // Before the first request; what fails now is tried again, and told, by the background task.
      yield* Effect.ignore(closeBranches)
      const writeCheckpoints = (all: boolean) => Effect.flatMap(checkpoints.write({ all }), shared.share)
      const pass = Effect.fnUntraced(function* (advance: Effect.Effect<void>) {
        yield* closeBranches
        const shards = new Set(ownership.ownedShards())
        const hasGained = [...shards].some((shard) => !sealedShards.has(shard))
        // Not decoded, since one organisation that cannot be read would leave the chains of all unsealed.
        const [found] = yield* castRows<Unsealed>(
          sql.unsafe(hasGained ? `${unsealedSql}, ${everySql}` : `/* svc_unsealed */ ${unsealedSql}`, [
            sealedBelow ?? null
          ])
        )
        if (found === undefined) return
        const gained = (found.every ?? []).filter((org) => !sealedShards.has(ownership.shardOf(org)))
        for (const org of new Set([...found.organisations, ...gained, ...failing])) {
          if (ownership.owns(ownership.shardOf(org))) yield* sealAll(org, advance)
          else failing.delete(org)
        }
        sealedBelow = found.xmin
        sealedShards = shards
        yield* writeCheckpoints(false)
        if (failing.size > 0) return yield* Effect.fail(new SealFailed(failing.size))
      })

      const task = yield* backgroundTask("audit.seal", pass, { isOfShards: true })
      // Something may always be unsealed.
      yield* task.reportWaiting(true)
      // The last pass waits for the running one: two at once would want the same position.
      const turn = yield* Effect.makeSemaphore(1)
      const run = turn.withPermits(1)(task.run)
      yield* repeatEvery(interval, run, "later")
      const adopting = yield* backgroundTask("audit.adopt_checkpoints", shared.adopt)
      if (!ownership.isAlone) yield* repeatEvery(adoptInterval, adopting.run, "later")
      yield* Effect.addFinalizer(() => Effect.zipRight(run, Effect.ignoreLogged(writeCheckpoints(true))))
    })
  )

/** The chains of some organisations could not be extended. */
class SealFailed extends Error {
  constructor(organisations: number) {
    super(`${organisations} organisations have entries that cannot be sealed`)
  }
  get [operatorText]() {
    return this.message
  }
}
