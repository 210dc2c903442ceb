/** The port `Schedules`: due times are compared with Postgres' clock, never with a node's. */
import { Effect, Layer } from "effect"
import { type DueSchedule, Schedules } from "../../../actors/pipeline/ScheduleSweep.js"
import { triggerLimits } from "../../../domain/Limits.js"
import { Trigger } from "../../../domain/trigger/Trigger.js"
import { AuditRows } from "../AuditRow.js"
import { makeLeasedWork, settleSql } from "../LeasedWork.js"
import { WriterSql } from "../database/Pools.js"
import { tables } from "../record/RecordTables.js"
import { rowDecoder, selectColumns } from "../record/Table.js"
import { disableTrigger } from "./TriggerDisabling.js"
import { databaseUnavailable, execute, recordsOf } from "../database/DatabaseUnavailable.js"
import { schedules as kind } from "../WorkKinds.js"

export const work = [kind] as const

const { triggers } = tables

const columns = selectColumns(triggers)
const decodeKeys = rowDecoder("triggers", Trigger.stored.pick("id", "organisationId"))
const isActive = "status = 'active' AND deleted_at IS NULL"

/** `$1`: the trigger; `$2`: the next time; `$3`: the time that was due, unless it was edited since. */
const moveSql = settleSql(kind, "next_fire_at = $2", "w.next_fire_at = $3")

export const layer = Layer.effect(
  Schedules,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const auditRows = yield* AuditRows
    const { leaseDue } = makeLeasedWork<DueSchedule>(sql, kind)

    const select = (condition: string, values: ReadonlyArray<unknown>) =>
      recordsOf(sql.unsafe(`SELECT ${columns} FROM triggers WHERE ${condition}`, values), (row) => ({
        ...decodeKeys(row),
        read: Effect.sync(() => triggers.decode(row))
      }))

    return Schedules.of({
      leaseDue,
      triggers: (ids) => select(`id = ANY($1) AND ${isActive}`, [ids]),
      move: ({ dueAt, id }, nextAt) =>
        execute(sql.unsafe(moveSql, [id, nextAt === null ? null : new Date(nextAt), new Date(dueAt)])),
      isBusy: (organisation, lane) =>
        sql`SELECT EXISTS (SELECT FROM lanes WHERE org = ${organisation} AND lane = ${lane})
          OR EXISTS (SELECT FROM start_queue WHERE org = ${organisation} AND lane = ${lane}) AS busy`.pipe(
          Effect.map(([row]) => row?.["busy"] === true),
          Effect.mapError(databaseUnavailable)
        ),
      failing: (limit) =>
        select(
          `${isActive} AND id IN (SELECT trigger_id FROM trigger_states WHERE consecutive_failures >= ${triggerLimits.failures}
             LIMIT $1)`,
          [limit]
        ),
      disable: (after, event, audit) =>
        Effect.flatMap(auditRows.of([audit]), (rows) => execute(disableTrigger(sql, after, event, rows)))
    })
  })
)
