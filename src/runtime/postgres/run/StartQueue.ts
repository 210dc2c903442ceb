/**
 * The port `StartQueue` on the writer's pool. One statement takes rows: `svc_take_queued` of `migrations` decides their
 * order, deletes those of runs and starts the runs, and leases those of events.
 */
import { Effect, Layer, Schema } from "effect"
import { randomUUID } from "node:crypto"
import { accountOfRun, type OpenRun } from "../../../actors/ports/run/Journal.js"
import { type LeasedEvent, StartQueue } from "../../../actors/ports/run/StartQueue.js"
import type { PlaceTaker } from "../../../actors/ports/organisation/PlaceHoldings.js"
import type { EventPriority } from "../../../domain/event/Event.js"
import type { EventId, OrganisationId } from "../../../domain/Ids.js"
import { plans } from "../../../domain/organisation/Plan.js"
import { selectOpen } from "../journal/RunColumns.js"
import { journalUnavailable } from "../database/DatabaseUnavailable.js"
import { endFormerLeases, leaseEnd, noLease, withoutWaiting } from "../LeasedWork.js"
import { WriterSql } from "../database/Pools.js"
import { startQueue as kind } from "../WorkKinds.js"
import { castRows } from "../database/Sql.js"
import { rowDecoder } from "../record/Table.js"

/** A run that was started, an event that was leased, or neither: rows were passed over, or none was taken (`isNone`). */
type TakenRow = OpenRun & {
  readonly isNone: boolean
  readonly firstWaiting: EventPriority | null
  readonly eventId: EventId | null
  readonly eventOrganisation: OrganisationId
  readonly eventAccount: OrganisationId
  readonly eventPriority: LeasedEvent["priority"]
  readonly eventShard: number
  readonly claims: number
  readonly lane: string | null
}

/** Of a lone node, or of one in a cluster, whose seat and turn are `$8` and `$9`. */
const takeSql = (
  isInCluster: boolean
) => `SELECT ${selectOpen("(t.run)")}, t.event AS "eventId", t.org AS "eventOrganisation",
    svc_account(t.org) AS "eventAccount", t.priority AS "eventPriority", t.shard AS "eventShard", t.claims, t.lane, t.found IS NULL AS "isNone", w.first AS "firstWaiting"
  FROM (SELECT min(c.priority) AS first FROM queue_classes c CROSS JOIN (SELECT ARRAY(
      SELECT svc_full_organisations($4::text[], $5::int[], $6::text[], $7::int[])) AS orgs) AS filled
    WHERE EXISTS (SELECT FROM svc_waiting_organisations(c.priority, filled.orgs, '', 1))) w
  LEFT JOIN LATERAL (SELECT *, true AS found FROM svc_take_queued${isInCluster ? "_in_cluster" : ""}(
    $1::int[], $2, $3, interval '${kind.lease.seconds} seconds', $4::text[], $5::int[], $6::text[], $7::int[]${
      isInCluster ? ", $8, $9" : ""
    })) t ON true`
const takeAloneSql = takeSql(false)
const takeInClusterSql = takeSql(true)

const adoptSql = `UPDATE start_queue w SET claimed_by = $3, claimed_until = ${leaseEnd(kind)}
  FROM unnest($1::text[], $2::int[]) AS m (id, claims)
  WHERE w.id = m.id AND w.claims = m.claims AND w.claimed_by IS NOT NULL
  RETURNING w.id, w.org AS "organisationId", svc_account(w.org) AS "accountId", ${kind.columns}`

/**
 * Waits for no lock: a row that a flush deletes meanwhile keeps its lease, which the next renewal extends if the row is
 * still there. Waiting for several such rows would be a deadlock with that flush.
 */
const renewSql = `WITH held AS MATERIALIZED (
    SELECT q.seq, q.id FROM start_queue q WHERE q.id = ANY($1::text[]) AND q.claimed_by = $2 AND q.claimed_until > now()
  ), free AS MATERIALIZED (${withoutWaiting(
    "SELECT w.seq FROM start_queue w WHERE w.seq = ANY (ARRAY(SELECT seq FROM held)) AND w.claimed_by = $2"
  )}), renewed AS (
    UPDATE start_queue q SET claimed_until = ${leaseEnd(kind)} FROM free WHERE q.seq = free.seq
  ) SELECT id FROM held`

const releaseSql = `UPDATE start_queue SET ${noLease(kind)} WHERE id = ANY($1::text[]) AND claimed_by = $2`

const counted = (condition: string, table = "start_queue") =>
  `(SELECT count(*)::int FROM (SELECT FROM ${table} WHERE ${condition} LIMIT 100000) x)`

/** The oldest waiting row is among the first ones, unless very many are held. */
const backlogSql = `SELECT ${counted("NOT held AND claimed_by IS NULL")} AS waiting, ${counted("held")} AS held,
  ${counted("claimed_by IS NOT NULL")} AS leased, ${counted("status = 'pending'", "dead_letters")} AS dead, COALESCE((SELECT extract(epoch FROM now() - min(not_before))
    FROM (SELECT * FROM start_queue ORDER BY seq LIMIT 10000) q
    WHERE NOT held AND claimed_by IS NULL AND not_before <= now()), 0)::float8 AS "oldestSeconds"`

const decodeBacklog = rowDecoder("start_queue", {
  waiting: Schema.Number,
  held: Schema.Number,
  leased: Schema.Number,
  dead: Schema.Number,
  oldestSeconds: Schema.Number
})

const limitedPlans = Object.entries(plans).flatMap(([plan, { concurrentRuns }]) =>
  concurrentRuns === null ? [] : [{ plan, concurrentRuns }]
)
const planNames = limitedPlans.map(({ plan }) => plan)
const planLimits = limitedPlans.map(({ concurrentRuns }) => concurrentRuns)

export const layer = Layer.effect(
  StartQueue,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const node = randomUUID()
    yield* endFormerLeases(sql, kind)

    const take = Effect.fn("StartQueue.take")(function* (
      shards: ReadonlyArray<number>,
      slots: number,
      underWay: ReadonlyMap<OrganisationId, number>,
      taker: PlaceTaker | null
    ) {
      const values = [shards, slots, node, [...underWay.keys()], [...underWay.values()], planNames, planLimits]
      // Not decoded, since a burst takes hundreds of rows at once, each 2 µs of the main loop before any run starts.
      const rows = yield* castRows<TakenRow>(
        taker === null
          ? sql.unsafe(takeAloneSql, values)
          : sql.unsafe(takeInClusterSql, [...values, taker.seat, taker.turn])
      )
      const runs: Array<OpenRun> = []
      const events: Array<LeasedEvent> = []
      let hasPassedOver = false
      for (const {
        claims,
        eventAccount,
        eventId,
        eventOrganisation,
        eventPriority,
        eventShard,
        firstWaiting: _,
        isNone,
        lane,
        ...run
      } of rows) {
        if (isNone) continue
        if (eventId !== null)
          events.push({
            id: eventId,
            organisationId: eventOrganisation,
            accountId: eventAccount,
            priority: eventPriority,
            shard: eventShard,
            claims,
            lane
          })
        else if (run.id !== null) runs.push(run)
        else hasPassedOver = true
      }
      const taken = new Set([...runs.map(accountOfRun), ...events.map(({ accountId }) => accountId)])
      return {
        runs,
        events,
        passedOver: hasPassedOver ? [...taken] : [],
        firstWaiting: rows[0]?.firstWaiting ?? null
      }
    }, Effect.mapError(journalUnavailable))

    const adopt = Effect.fn("StartQueue.adopt")(function* (
      messages: ReadonlyArray<Pick<LeasedEvent, "id" | "claims">>
    ) {
      // Not decoded, for the same reason.
      return yield* castRows<LeasedEvent>(
        sql.unsafe(adoptSql, [messages.map(({ id }) => id), messages.map(({ claims }) => claims), node])
      )
    }, Effect.mapError(journalUnavailable))

    const renew = Effect.fn("StartQueue.renew")(function* (ids: ReadonlyArray<EventId>) {
      const held = new Set((yield* sql.unsafe(renewSql, [ids, node])).map((row) => row["id"]))
      return ids.filter((id) => held.has(id))
    }, Effect.mapError(journalUnavailable))

    const release = Effect.fn("StartQueue.release")(function* (ids: ReadonlyArray<EventId>) {
      yield* sql.unsafe(releaseSql, [ids, node])
    }, Effect.mapError(journalUnavailable))

    const backlog = Effect.gen(function* () {
      const [row] = yield* sql.unsafe(backlogSql)
      return row === undefined ? { waiting: 0, held: 0, leased: 0, dead: 0, oldestSeconds: 0 } : decodeBacklog(row)
    }).pipe(Effect.mapError(journalUnavailable))

    return StartQueue.of({ node, take, adopt, renew, release, backlog })
  })
)
