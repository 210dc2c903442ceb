/** The port `Runs` on the writer's pool: takes over orphaned runs, and finds those that are due. */
import { Effect, Layer, Option, Schema } from "effect"
import { type OpenRun } from "../../../actors/ports/run/Journal.js"
import { type DueRun, type PendingWork, Runs } from "../../../actors/ports/run/Runs.js"
import { ExecutionId, type OrganisationId } from "../../../domain/Ids.js"
import { raiseEpoch, updateOwned } from "../journal/Fence.js"
import { hasHistory } from "../journal/JournalRow.js"
import { isChanged, selectOpen, wokenAt } from "../journal/RunColumns.js"
import { hasWork } from "../LeasedWork.js"
import { WriterSql } from "../database/Pools.js"
import { journalUnavailable } from "../database/DatabaseUnavailable.js"
import { deliveries } from "../WorkKinds.js"
import { castRows } from "../database/Sql.js"
import { rowDecoder } from "../record/Table.js"
import { EventPriority } from "../../../domain/event/Event.js"

const getSql = `SELECT ${selectOpen("runs")} FROM runs WHERE id = $1 AND org = $2`

const isKnownSql = `SELECT EXISTS (SELECT FROM runs WHERE id = $1 AND org = $2)
  OR EXISTS (SELECT FROM executions WHERE id = $1 AND org = $2) AS known`
const decodeKnown = rowDecoder("runs", { known: Schema.Boolean })

/** The journal has rows of the run's last activation. The start of a run is there before its first one. */
const hasGrown = `EXISTS (SELECT FROM journal j WHERE j.id = runs.id AND j.seq >= GREATEST(runs.progress, 1))`

/** Running runs whose wake-up time has passed. `$1`: shards; `$2`: runs in progress on this node; `$3`: engines. */
const dueCondition = `shard = ANY($1::int[]) AND wake_at <= now() AND status = 'running' AND NOT id = ANY($2::text[])
  AND (engine = ANY($3::text[]) OR NOT ${hasHistory})`

const overdueCondition = "shard = ANY($1::int[]) AND deadline_at <= now()"

/** Makes the caller the owner. The other assignments are those of `evolve` for `Resumed`. */
const takeOverSql = `UPDATE runs SET ${raiseEpoch("runs")}, activations = activations + 1, wake_at = now(), waiting = NULL, ${isChanged}
  WHERE id = $1 AND status = 'running' RETURNING ${selectOpen("runs")}`

const resetActivationsSql = updateOwned("activations = 1, progress = $3")
const markComputingSql = updateOwned("activations = activations + 1")
const unmarkComputingSql = updateOwned("activations = GREATEST(activations - 1, 0)")
const clearActivationsSql = updateOwned("activations = 0")
const takeWokenSql = `${updateOwned("wake_at = now()")} AND runs.wake_at = ${wokenAt} RETURNING runs.id`
const setEngineSql = updateOwned("engine = $3")

/**
 * The first class of which rows wait, if some row may start or a lease has expired. One look-up by an index finds the
 * earliest waiting row.
 */
const firstQueued = `CASE WHEN COALESCE((SELECT q.not_before FROM start_queue q WHERE NOT q.held AND q.claimed_by IS NULL
    AND q.shard = ANY($1::int[]) ORDER BY q.not_before LIMIT 1) <= now(), false)
  OR EXISTS (SELECT FROM start_queue WHERE claimed_by IS NOT NULL AND claimed_until <= now() AND shard = ANY($1::int[]))
  THEN COALESCE((SELECT min(c.priority) FROM queue_classes c WHERE EXISTS (SELECT FROM start_queue q
    WHERE NOT q.held AND q.claimed_by IS NULL AND q.priority = c.priority)), 1) END`

const hasWorkSql = `/* svc_run_work */ SELECT EXISTS (SELECT FROM runs WHERE ${dueCondition}) AS due,
  ${firstQueued} AS queued,
  EXISTS (SELECT FROM runs WHERE ${overdueCondition}) AS overdue,
  ${hasWork(deliveries("deliveries"))} AS deliveries`

const decodeWork = rowDecoder("runs", {
  due: Schema.Boolean,
  queued: Schema.NullOr(EventPriority),
  overdue: Schema.Boolean,
  deliveries: Schema.Boolean
})
const decodeId = rowDecoder("runs", { id: ExecutionId })
const decodeClock = rowDecoder("of clocks", { at: Schema.Number })

const everyWork: PendingWork = { due: true, queued: 1, overdue: true, deliveries: true }

export const layer = Layer.effect(
  Runs,
  Effect.gen(function* () {
    const sql = yield* WriterSql

    // Not decoded, since the flush wrote them from the same table of columns, and a row of 45 members takes 2 µs.
    const readRun = (text: string, values: ReadonlyArray<unknown>) => castRows<OpenRun>(sql.unsafe(text, values))

    const get = Effect.fn("Runs.get")(function* (organisation: OrganisationId, id: ExecutionId) {
      const [run] = yield* readRun(getSql, [id, organisation])
      return Option.fromNullable(run)
    }, Effect.mapError(journalUnavailable))

    const takeOver = Effect.fn("Runs.takeOver")(function* (id: ExecutionId) {
      const [run] = yield* readRun(takeOverSql, [id])
      return Option.fromNullable(run)
    }, Effect.mapError(journalUnavailable))

    const recordProgress = Effect.fn("Runs.recordProgress")(function* (run: OpenRun, rows: number) {
      yield* sql.unsafe(resetActivationsSql, [[run.id], [run.epoch], rows])
    }, Effect.mapError(journalUnavailable))

    const clearActivations = Effect.fn("Runs.clearActivations")(function* (
      found: ReadonlyArray<{ readonly id: ExecutionId; readonly epoch: number }>
    ) {
      yield* sql.unsafe(clearActivationsSql, [found.map(({ id }) => id), found.map(({ epoch }) => epoch)])
    }, Effect.mapError(journalUnavailable))

    const markComputing = Effect.fn("Runs.markComputing")(function* ({
      epoch,
      id
    }: {
      readonly id: ExecutionId
      readonly epoch: number
    }) {
      yield* sql.unsafe(markComputingSql, [[id], [epoch]])
    }, Effect.mapError(journalUnavailable))

    const unmarkComputing = Effect.fn("Runs.unmarkComputing")(function* (
      found: ReadonlyArray<{ readonly id: ExecutionId; readonly epoch: number }>
    ) {
      yield* sql.unsafe(unmarkComputingSql, [found.map(({ id }) => id), found.map(({ epoch }) => epoch)])
    }, Effect.mapError(journalUnavailable))

    const takeWoken: Runs["Type"]["takeWoken"] = Effect.fn("Runs.takeWoken")(function* (found) {
      const woken = yield* sql.unsafe(takeWokenSql, [found.map(({ id }) => id), found.map(({ epoch }) => epoch)])
      return woken.map((row) => decodeId(row).id)
    }, Effect.mapError(journalUnavailable))

    const changeEngine = Effect.fn("Runs.changeEngine")(function* (run: OpenRun, engine: string) {
      yield* sql.unsafe(setEngineSql, [[run.id], [run.epoch], engine])
      return { ...run, engine }
    }, Effect.mapError(journalUnavailable))

    const findWork = Effect.fn("Runs.findWork")(function* (
      shards: ReadonlyArray<number>,
      active: ReadonlyArray<ExecutionId>,
      engines: ReadonlyArray<string>
    ) {
      const [found] = yield* sql.unsafe(hasWorkSql, [shards, active, engines])
      return found === undefined ? everyWork : decodeWork(found)
    }, Effect.mapError(journalUnavailable))

    const findDue = Effect.fn("Runs.findDue")(function* (
      shards: ReadonlyArray<number>,
      active: ReadonlyArray<ExecutionId>,
      limit: number,
      engines: ReadonlyArray<string>
    ) {
      // Not decoded, since one run that cannot be read would keep the others from going on.
      return yield* castRows<DueRun>(
        sql.unsafe(
          `SELECT id, org AS "organisationId", COALESCE(record->>'accountId', org) AS "accountId", CASE WHEN ${hasGrown} THEN 0 ELSE activations END AS activations FROM runs WHERE ${dueCondition} ORDER BY wake_at LIMIT $4`,
          [shards, active, engines, limit]
        )
      )
    }, Effect.mapError(journalUnavailable))

    const findOverdue = Effect.fn("Runs.findOverdue")(function* (shards: ReadonlyArray<number>, limit: number) {
      // Not decoded, for the same reason.
      return yield* castRows<Pick<DueRun, "id" | "organisationId">>(
        sql.unsafe(
          `SELECT id, org AS "organisationId" FROM runs WHERE ${overdueCondition} ORDER BY deadline_at LIMIT $2`,
          [shards, limit]
        )
      )
    }, Effect.mapError(journalUnavailable))

    const clockOffset = Effect.gen(function* () {
      const before = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
      const [row] = yield* sql`SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS at`
      const after = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
      return (row === undefined ? after : decodeClock(row).at) - (before + after) / 2
    }).pipe(Effect.mapError(journalUnavailable))

    const isKnown: Runs["Type"]["isKnown"] = Effect.fn("Runs.isKnown")(function* (organisation, id) {
      const [found] = (yield* sql.unsafe(isKnownSql, [id, organisation])).map(decodeKnown)
      return found?.known === true
    }, Effect.mapError(journalUnavailable))

    return Runs.of({
      get,
      isKnown,
      takeOver,
      recordProgress,
      markComputing,
      unmarkComputing,
      clearActivations,
      takeWoken,
      changeEngine,
      findWork,
      findDue,
      findOverdue,
      clockOffset
    })
  })
)
