/**
 * The port `AuditTrail` on Postgres: writes notes in batches, counts reads by the minute, and verifies chains on
 * demand.
 */
import { Clock, Effect, Layer } from "effect"
import { AuditTrail, type AuditQuery, type Checkpoint, type SealedEntry } from "../../actors/ports/AuditTrail.js"
import { Digests } from "../../actors/ports/Digests.js"
import { backgroundTask } from "../../actors/BackgroundTask.js"
import { pollWhileBusy } from "../../actors/PollWhileBusy.js"
import { type AuditEntry, auditHashInput } from "../../domain/Audit.js"
import { Unavailable } from "../../domain/Failure.js"
import type { OrganisationId } from "../../domain/Ids.js"
import { auditSeal, refusalLimits } from "../../domain/Limits.js"
import { AppSql, WriterSql } from "../postgres/Pools.js"
import { auditRow } from "../postgres/AuditRow.js"

const noteInterval = "100 millis"
const mostWaiting = 50_000
const verifyBatch = 2_000

interface Sealed {
  readonly seq: number
  readonly prev_hash: string | null
  readonly hash: string
  /** `null` if the entry was removed. */
  readonly entry: AuditEntry | null
}

const unavailable = () => new Unavailable({ reason: "the database cannot be reached", retryAfterSeconds: 1 })

/** Reads with the same key are counted in one entry. */
const readKey = ({ action, actor, organisationId, resource }: AuditEntry) =>
  [organisationId, actor.id, action, resource.type, resource.id].join("|")

/** Refusals with the same key are counted in one entry. */
const refusalKey = ({ action, actor, changes, organisationId, outcome }: AuditEntry) =>
  ["refusal", organisationId, actor.id, actor.ip, action, outcome, JSON.stringify(changes[0]?.after ?? null)].join("|")

const unlisted = "other addresses"

/** Conditions that limit a query to the entries that the caller may see. */
const reachConditions = (reach: AuditQuery["reach"], add: (value: unknown) => string): ReadonlyArray<string> => {
  if (reach === undefined) return []
  const theirs = `e.customer_id = ANY(${add(reach.customers)})`
  return reach.actorId === null
    ? [theirs]
    : [`(${theirs} OR (e.customer_id IS NULL AND e.actor_id = ${add(reach.actorId)}))`]
}

export const layer = (checkpoints: { readonly latest: (organisation: OrganisationId) => Checkpoint | null }) =>
  Layer.scoped(
    AuditTrail,
    Effect.gen(function* () {
      const app = yield* AppSql
      const writer = yield* WriterSql
      const digests = yield* Digests
      let waiting: Array<AuditEntry> = []
      let reads = new Map<string, AuditEntry>()
      /** How many entries of refusals each actor has in this minute. */
      let refused = new Map<string, number>()
      let minute = 0

      const insert = (entries: ReadonlyArray<AuditEntry>) =>
        writer`INSERT INTO audit_entries (id, org, at, actor_type, actor_id, action, resource_type, resource_id, customer_id, outcome, entry)
        SELECT id, org, at, actor_type, actor_id, action, resource_type, resource_id, customer_id, outcome, entry
        FROM json_to_recordset(${JSON.stringify(entries.map(auditRow))}::json) AS t(id text, org text, at timestamptz, actor_type text,
          actor_id text, action text, resource_type text, resource_id text, customer_id text, outcome text, entry json)
        ON CONFLICT (id) DO NOTHING`

      const closeMinute = (all: boolean) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          const current = Math.floor(now / 60_000)
          if (!all && current === minute) return
          minute = current
          waiting.push(...reads.values())
          reads = new Map()
          refused = new Map()
        })

      const flush = Effect.gen(function* () {
        const entries = waiting
        if (entries.length === 0) return
        waiting = []
        yield* Effect.tapError(insert(entries), () =>
          Effect.sync(() => {
            waiting = [...entries, ...waiting].slice(0, mostWaiting)
          })
        )
      })
      const task = yield* backgroundTask("audit.write", flush)
      const pass = closeMinute(false).pipe(
        Effect.zipRight(task.run),
        Effect.zipRight(Effect.suspend(() => task.reportWaiting(waiting.length > 0))),
        Effect.map(() => waiting.length > 0 || reads.size > 0)
      )
      const lookAfter = yield* pollWhileBusy(noteInterval, pass)
      yield* Effect.addFinalizer(() => Effect.zipRight(closeMinute(true), task.run))

      const scoped = <A>(
        organisation: OrganisationId,
        body: Effect.Effect<A, unknown>
      ): Effect.Effect<A, Unavailable> =>
        app
          .withTransaction(Effect.zipRight(app`SELECT set_config('svc.org', ${organisation}, true)`, body))
          .pipe(Effect.mapError(unavailable))

      const list = (organisation: OrganisationId, query: AuditQuery) => {
        const values: Array<unknown> = [organisation]
        const add = (value: unknown) => `$${values.push(value)}`
        const is = (column: string, value: string | undefined) =>
          value === undefined ? [] : [`e.${column} = ${add(value)}`]
        const where = [
          "e.org = $1",
          ...is("customer_id", query.customerId),
          ...is("actor_type", query.actorType),
          ...is("actor_id", query.actorId),
          ...is("action", query.action),
          ...is("resource_type", query.resourceType),
          ...is("resource_id", query.resourceId),
          ...reachConditions(query.reach, add),
          ...(query.from === undefined ? [] : [`e.at >= ${add(query.from)}`]),
          ...(query.to === undefined ? [] : [`e.at < ${add(query.to)}`]),
          ...(query.before === undefined ? [] : [`e.id < ${add(query.before)}`])
        ].join(" AND ")
        return scoped(
          organisation,
          app.unsafe<{ entry: AuditEntry; seq: number | null; prevHash: string | null; hash: string | null }>(
            `SELECT e.entry, s.seq::float8 AS seq, s.prev_hash AS "prevHash", s.hash FROM audit_entries e
           LEFT JOIN audit_seal s ON s.entry_id = e.id WHERE ${where} ORDER BY e.id DESC LIMIT ${add(query.limit)}`,
            values
          )
        ).pipe(Effect.map((rows) => rows.map(({ entry, ...place }): SealedEntry => ({ ...entry, ...place }))))
      }

      /** The part of the chain with all entries of a period: the chain is in the order of commits. */
      const rangeOf = Effect.fnUntraced(function* (
        organisation: OrganisationId,
        from: string | undefined,
        to: string | undefined
      ) {
        const [row] = yield* app<{ first: number | null; last: number | null }>`
        SELECT min(s.seq)::float8 AS first, max(s.seq)::float8 AS last FROM audit_seal s LEFT JOIN audit_entries e ON e.id = s.entry_id
        WHERE s.org = ${organisation} AND (${from ?? null}::timestamptz IS NULL OR e.at >= ${from ?? null})
          AND (${to ?? null}::timestamptz IS NULL OR e.at < ${to ?? null})`
        return { first: from === undefined ? 1 : (row?.first ?? 1), last: row?.last ?? 0 }
      })

      const chain = (organisation: OrganisationId, after: number, last: number) =>
        app<Sealed>`SELECT s.seq::float8 AS seq, s.prev_hash, s.hash, e.entry FROM audit_seal s LEFT JOIN audit_entries e ON e.id = s.entry_id
        WHERE s.org = ${organisation} AND s.seq > ${after} AND s.seq <= ${last} ORDER BY s.seq LIMIT ${verifyBatch}`

      const genuine = (row: Sealed, before: Sealed | undefined, checkpoint: Checkpoint | null): boolean =>
        row.entry !== null &&
        digests.sha256Hex(auditHashInput(row.prev_hash, row.seq, row.entry)) === row.hash &&
        row.prev_hash === (before?.hash ?? null) &&
        (checkpoint?.seq !== row.seq || checkpoint.hash === row.hash)

      /**
       * The number of unsealed entries after the sealer's position, and the oldest of them. An entry whose seal was
       * removed shows as a gap in the chain.
       */
      const unsealedOf = Effect.fnUntraced(function* (organisation: OrganisationId) {
        const [row] = yield* app<{ n: number; id: string | null; at: string | null; age: number | null }>`
          SELECT count(*)::int AS n, (array_agg(e.id ORDER BY e.id))[1] AS id,
            to_char(min(e.at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at,
            extract(epoch FROM now() - min(e.at))::float8 AS age
          FROM audit_entries e
          WHERE e.org = ${organisation} AND NOT EXISTS (SELECT 1 FROM audit_seal s WHERE s.entry_id = e.id)`
        const { age = null, at = null, id = null, n = 0 } = row ?? {}
        const oldest = id === null || at === null ? null : { id, at, ageSeconds: age ?? 0 }
        return { unsealed: n, oldest }
      })

      // One index scan for each organisation, from the position of its sealer.
      const backlog = writer<{ unsealed: number; oldest: number }>`
        SELECT count(e.at)::int AS unsealed, coalesce(max(extract(epoch FROM now() - e.at)), 0)::float8 AS oldest
        FROM organisations o LEFT JOIN audit_heads h ON h.org = o.id CROSS JOIN LATERAL (
          SELECT e.at FROM audit_entries e
          WHERE e.org = o.id AND (e.xid, e.id) > (coalesce(h.xid, 0), coalesce(h.entry_id, ''))
          ORDER BY e.xid, e.id LIMIT ${mostWaiting}) e`.pipe(
        Effect.map(([row]) => ({ unsealed: row?.unsealed ?? 0, oldestSeconds: Math.max(0, row?.oldest ?? 0) })),
        Effect.mapError(unavailable)
      )

      const verify = (organisation: OrganisationId, from: string | undefined, to: string | undefined) =>
        scoped(
          organisation,
          Effect.gen(function* () {
            const checkpoint = checkpoints.latest(organisation)
            // Read before the chain: an entry that is sealed meanwhile counts as unsealed, and none is missed.
            const { oldest, unsealed } = yield* unsealedOf(organisation)
            const { first, last } = yield* rangeOf(organisation, from, to)
            let before = first === 1 ? undefined : (yield* chain(organisation, first - 2, first - 1))[0]
            let next = first
            let checked = 0
            let firstBadSeq: number | null = null
            while (next <= last) {
              const rows: ReadonlyArray<Sealed> = yield* chain(organisation, next - 1, last)
              for (const row of rows) {
                // A missing entry is as bad as a wrong one.
                if (firstBadSeq === null && row.seq !== next) firstBadSeq = next
                if (firstBadSeq === null && !genuine(row, before, checkpoint)) firstBadSeq = row.seq
                checked++
                next = row.seq + 1
                before = row
              }
              if (rows.length === 0) break
            }
            // Detects a chain that was truncated before its last checkpoint.
            if (firstBadSeq === null && to === undefined && checkpoint !== null && next <= checkpoint.seq)
              firstBadSeq = next
            const isLate = oldest !== null && oldest.ageSeconds > auditSeal.overdueSeconds
            return {
              ok: firstBadSeq === null && !isLate,
              checked,
              firstBadSeq,
              checkpoint,
              unsealed,
              oldestUnsealed: oldest === null ? null : { id: oldest.id, at: oldest.at }
            }
          })
        )

      const count = (key: string, entry: AuditEntry) => {
        if (reads.size === 0) minute = Math.floor(Date.parse(entry.at) / 60_000)
        const known = reads.get(key)
        reads.set(key, known === undefined ? entry : { ...known, count: known.count + 1 })
        lookAfter()
        return known === undefined
      }

      return AuditTrail.of({
        append: (entry) => {
          if (waiting.length < mostWaiting) waiting.push(entry)
          lookAfter()
        },
        countRead: (entry) => void count(readKey(entry), entry),
        countRefusal: (entry) => {
          const listed = refused.get(entry.actor.id) ?? 0
          const told =
            listed < refusalLimits.auditedAddresses || reads.has(refusalKey(entry))
              ? entry
              : { ...entry, actor: { ...entry.actor, ip: unlisted, userAgent: null } }
          if (count(refusalKey(told), told)) refused.set(entry.actor.id, listed + 1)
        },
        list,
        verify,
        backlog
      })
    })
  )
