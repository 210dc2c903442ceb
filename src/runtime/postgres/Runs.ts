/** The port `Runs` on the writer's pool: claims queued runs, takes over orphaned ones, and finds those that are due. */
import { describe } from "../telemetry/SafeError.js"
import { Effect, Layer, Option } from "effect"
import { JournalUnavailable, type OpenRun } from "../../actors/ports/Journal.js"
import { type DueRun, type PendingWork, Runs } from "../../actors/ports/Runs.js"
import type { ExecutionId, OrganisationId } from "../../domain/Ids.js"
import { plans } from "../../domain/Plan.js"
import { raiseEpoch, updateOwned } from "./journal/Fence.js"
import { hasHistory } from "./journal/JournalRow.js"
import { selectOpen } from "./journal/RunColumns.js"
import { WriterSql } from "./Pools.js"
import { VirtualTags } from "./VirtualTags.js"

interface ClaimedRow extends OpenRun {
  readonly vtag: number
  readonly hasPassedOver: boolean
}

const getSql = `SELECT ${selectOpen("runs")} FROM runs WHERE id = $1 AND org = $2`

/** Shares of the priority classes P1 to P4 among the runs that start, while all four have queued runs. */
const weights = [8, 4, 2, 1] as const

/** Runs that an organisation may have in progress at once, by its plan, as rows of SQL. */
const planLimits = Object.entries(plans)
  .map(([plan, { concurrentRuns }]) => `('${plan}', ${concurrentRuns ?? "NULL"}::int)`)
  .join(", ")

/**
 * Claims queued runs in one statement: merges the heads of the four classes by weighted virtual time, deletes them from
 * the queue and marks them as running. The caller owns the returned runs. `$1`: shards; `$2`: limit; `$3`: virtual time
 * of each class; `$4` and `$5`: organisations with runs in progress, and how many. Organisations at the limit of their
 * plan are passed over. The assignments are those of `evolve` for `Started`.
 */
const claimSql = `
  WITH cap (plan, most) AS (VALUES ${planLimits}), under_way AS (
    SELECT u.org, u.n, cap.most FROM unnest($4::text[], $5::int[]) AS u (org, n)
      LEFT JOIN organisations o ON o.id = u.org LEFT JOIN cap ON cap.plan = o.plan
  ), head AS (
    ${weights
      .map(
        (_, i) => `(SELECT seq, org, vtag, ${i + 1} AS priority FROM start_queue
      WHERE priority = ${i + 1} AND shard = ANY($1::int[]) AND not_before <= now()
        AND org <> ALL(ARRAY(SELECT u.org FROM under_way u WHERE u.n >= u.most))
      ORDER BY vtag, seq LIMIT $2)`
      )
      .join(" UNION ALL ")}
  ), ranked AS (
    SELECT seq, org, ($3::float8[])[priority]
      + (row_number() OVER (PARTITION BY priority ORDER BY vtag, seq))::float8 / (ARRAY[${weights.join(",")}])[priority] AS rank
    FROM head
  ), allowed AS (
    SELECT n.seq, n.rank, cap.most IS NULL OR n.nth <= cap.most - COALESCE(u.n, 0) AS ok
    FROM (SELECT *, row_number() OVER (PARTITION BY org ORDER BY rank) AS nth FROM ranked) n
      LEFT JOIN organisations o ON o.id = n.org LEFT JOIN cap ON cap.plan = o.plan
      LEFT JOIN under_way u ON u.org = n.org
  ), chosen AS (
    SELECT o.seq FROM start_queue o WHERE o.seq IN (SELECT seq FROM allowed WHERE ok ORDER BY rank LIMIT $2)
    FOR UPDATE SKIP LOCKED
  ), gone AS (
    DELETE FROM start_queue WHERE seq IN (SELECT seq FROM chosen) RETURNING id, vtag
  )
  UPDATE runs r SET status = 'running', started_at = COALESCE(r.started_at, now()), ${raiseEpoch("r")}, activations = 1,
    wake_at = now(), deadline_at = CASE WHEN r.started_at IS NULL AND r.tier <> 'instant'
      THEN now() + (r.record->>'ceilingMillis')::float8 * interval '1 millisecond' ELSE r.deadline_at END
  FROM gone WHERE r.id = gone.id
  RETURNING ${selectOpen("r")}, gone.vtag::float8 AS vtag, EXISTS (SELECT FROM allowed WHERE NOT ok) AS "hasPassedOver"`

/** The journal has rows of the run's last activation. The start of a run is there before its first one. */
const hasGrown = `EXISTS (SELECT FROM journal j WHERE j.id = runs.id AND j.seq >= GREATEST(runs.progress, 1))`

/** Running runs whose wake-up time has passed. `$1`: shards; `$2`: runs in progress on this node; `$3`: engines. */
const dueCondition = `shard = ANY($1::int[]) AND wake_at <= now() AND status = 'running' AND NOT id = ANY($2::text[])
  AND (engine = ANY($3::text[]) OR NOT ${hasHistory})`

/** Makes the caller the owner. The other assignments are those of `evolve` for `Resumed`. */
const takeOverSql = `UPDATE runs SET ${raiseEpoch("runs")}, activations = activations + 1, wake_at = now(), waiting = NULL
  WHERE id = $1 AND status = 'running' RETURNING ${selectOpen("runs")}`

const resetActivationsSql = updateOwned("activations = 1, progress = $3")
const clearActivationsSql = updateOwned("activations = 0")
const setEngineSql = updateOwned("engine = $3")

const hasWorkSql = `SELECT EXISTS (SELECT FROM runs WHERE ${dueCondition}) AS due,
  EXISTS (SELECT FROM start_queue WHERE shard = ANY($1::int[]) AND not_before <= now()) AS queued,
  EXISTS (SELECT FROM runs WHERE deadline_at <= now()) AS overdue,
  EXISTS (SELECT FROM deliveries WHERE status = 'pending' AND next_at <= now()
    AND (claimed_until IS NULL OR claimed_until <= now())) AS deliveries`

const unavailable = (error: unknown) => new JournalUnavailable({ reason: describe(error) })

export const layer = Layer.effect(
  Runs,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const tags = yield* VirtualTags
    /** Virtual time of each class: started runs, divided by the class's weight. */
    const virtualTimes: [number, number, number, number] = [0, 0, 0, 0]

    const get = Effect.fn("Runs.get")(function* (organisation: OrganisationId, id: ExecutionId) {
      const [run] = yield* sql.unsafe<OpenRun>(getSql, [id, organisation])
      return Option.fromNullable(run)
    }, Effect.mapError(unavailable))

    const takeOver = Effect.fn("Runs.takeOver")(function* (id: ExecutionId) {
      const [run] = yield* sql.unsafe<OpenRun>(takeOverSql, [id])
      return Option.fromNullable(run)
    }, Effect.mapError(unavailable))

    const recordProgress = Effect.fn("Runs.recordProgress")(function* (run: OpenRun, rows: number) {
      yield* sql.unsafe(resetActivationsSql, [[run.id], [run.epoch], rows])
    }, Effect.mapError(unavailable))

    const clearActivations = Effect.fn("Runs.clearActivations")(function* (
      found: ReadonlyArray<{ readonly id: ExecutionId; readonly epoch: number }>
    ) {
      yield* sql.unsafe(clearActivationsSql, [found.map(({ id }) => id), found.map(({ epoch }) => epoch)])
    }, Effect.mapError(unavailable))

    const changeEngine = Effect.fn("Runs.changeEngine")(function* (run: OpenRun, engine: string) {
      yield* sql.unsafe(setEngineSql, [[run.id], [run.epoch], engine])
      return { ...run, engine }
    }, Effect.mapError(unavailable))

    const findWork = Effect.fn("Runs.findWork")(function* (
      shards: ReadonlyArray<number>,
      active: ReadonlyArray<ExecutionId>,
      engines: ReadonlyArray<string>
    ) {
      const [found] = yield* sql.unsafe<PendingWork>(hasWorkSql, [shards, active, engines])
      return found ?? { due: true, queued: true, overdue: true, deliveries: true }
    }, Effect.mapError(unavailable))

    const findDue = Effect.fn("Runs.findDue")(function* (
      shards: ReadonlyArray<number>,
      active: ReadonlyArray<ExecutionId>,
      limit: number,
      engines: ReadonlyArray<string>
    ) {
      return yield* sql.unsafe<DueRun>(
        `SELECT id, org AS "organisationId", CASE WHEN ${hasGrown} THEN 0 ELSE activations END AS activations FROM runs WHERE ${dueCondition} ORDER BY wake_at LIMIT $4`,
        [shards, active, engines, limit]
      )
    }, Effect.mapError(unavailable))

    const claim = Effect.fn("Runs.claim")(function* (
      shards: ReadonlyArray<number>,
      slots: number,
      underWay: ReadonlyMap<OrganisationId, number>
    ) {
      const rows = yield* sql.unsafe<ClaimedRow>(claimSql, [
        shards,
        slots,
        virtualTimes,
        [...underWay.keys()],
        [...underWay.values()]
      ])
      for (const row of rows) {
        tags.started(row.vtag)
        virtualTimes[row.priority - 1] = (virtualTimes[row.priority - 1] ?? 0) + 1 / (weights[row.priority - 1] ?? 1)
      }
      // A class without queued runs earns no credit for later.
      const ahead = Math.max(...virtualTimes)
      for (let i = 0; i < virtualTimes.length; i++) virtualTimes[i] = Math.max(virtualTimes[i] ?? 0, ahead - 1)
      const runs = rows.map(({ hasPassedOver: _passed, vtag: _vtag, ...run }) => run)
      return { runs, hasPassedOver: rows[0]?.hasPassedOver === true }
    }, Effect.mapError(unavailable))

    const findOverdue = Effect.fn("Runs.findOverdue")(function* (limit: number) {
      return yield* sql<{ id: ExecutionId; organisationId: OrganisationId }>`
      SELECT id, org AS "organisationId" FROM runs WHERE deadline_at <= now() ORDER BY deadline_at LIMIT ${limit}`
    }, Effect.mapError(unavailable))

    const clockOffset = Effect.gen(function* () {
      const before = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
      const [row] = yield* sql<{ at: number }>`SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS at`
      const after = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
      return (row?.at ?? after) - (before + after) / 2
    }).pipe(Effect.mapError(unavailable))

    return Runs.of({
      get,
      takeOver,
      recordProgress,
      clearActivations,
      changeEngine,
      findWork,
      findDue,
      claim,
      findOverdue,
      clockOffset
    })
  })
)
