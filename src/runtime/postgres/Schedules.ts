/** The port `Schedules`: due times are compared with Postgres' clock, whatever the clocks of the nodes say. */
import { Effect, Layer } from "effect"
import { type DueSchedule, Schedules } from "../../actors/ports/Schedules.js"
import { triggerLimits } from "../../domain/Limits.js"
import type { Trigger } from "../../domain/Trigger.js"
import { AuditRows } from "./AuditRow.js"
import { notSetAside } from "./FailedJobs.js"
import { leaseSeconds } from "./journal/EventRow.js"
import { WriterSql } from "./Pools.js"
import { triggers } from "./records/RecordTables.js"
import { recordOf, selectColumns } from "./records/Table.js"
import { disableTrigger } from "./TriggerDisabling.js"
import { databaseUnavailable } from "./DatabaseUnavailable.js"

const columns = selectColumns(triggers)
const isActive = "status = 'active' AND deleted_at IS NULL"
const millis = (column: string) => `(extract(epoch FROM ${column}) * 1000)::float8`

export const layer = Layer.effect(
  Schedules,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const auditRows = yield* AuditRows

    const select = (condition: string, values: ReadonlyArray<unknown>) =>
      sql
        .unsafe<{ readonly [member: string]: unknown }>(`SELECT ${columns} FROM triggers WHERE ${condition}`, values)
        .pipe(
          Effect.map((rows) => rows.map((row) => recordOf<Trigger>(row))),
          Effect.mapError(databaseUnavailable)
        )

    return Schedules.of({
      lease: (limit) =>
        sql
          .unsafe<DueSchedule>(
            `UPDATE trigger_states s SET leased_until = now() + interval '${leaseSeconds} seconds'
             FROM (SELECT d.trigger_id FROM trigger_states d
               WHERE d.next_fire_at <= now() AND (d.leased_until IS NULL OR d.leased_until < now())
                 AND ${notSetAside("schedules.fire", "d.trigger_id")}
               ORDER BY d.next_fire_at LIMIT $1 FOR UPDATE SKIP LOCKED) due
             WHERE s.trigger_id = due.trigger_id
             RETURNING s.trigger_id AS "triggerId", s.org AS "organisationId", ${millis("s.next_fire_at")} AS "dueAt",
               ${millis("now()")} AS now`,
            [limit]
          )
          .pipe(Effect.mapError(databaseUnavailable)),
      triggers: (ids) => select(`id = ANY($1) AND ${isActive}`, [ids]),
      move: ({ dueAt, triggerId }, nextAt) =>
        sql`UPDATE trigger_states SET next_fire_at = ${nextAt === null ? null : new Date(nextAt)}, leased_until = NULL
          WHERE trigger_id = ${triggerId} AND next_fire_at = ${new Date(dueAt)}`.pipe(
          Effect.asVoid,
          Effect.mapError(databaseUnavailable)
        ),
      isBusy: (organisation, lane) =>
        sql<{ readonly busy: boolean }>`SELECT EXISTS (SELECT FROM lanes WHERE org = ${organisation} AND lane = ${lane})
          OR EXISTS (SELECT FROM start_queue WHERE org = ${organisation} AND lane = ${lane}) AS busy`.pipe(
          Effect.map(([row]) => row?.busy === true),
          Effect.mapError(databaseUnavailable)
        ),
      failing: (limit) =>
        select(
          `${isActive} AND id IN (SELECT trigger_id FROM trigger_states WHERE consecutive_failures >= ${triggerLimits.failures}
             LIMIT $1)`,
          [limit]
        ),
      disable: (after, event, audit) =>
        Effect.flatMap(auditRows.of([audit]), (rows) =>
          disableTrigger(sql, after, event, rows).pipe(Effect.asVoid, Effect.mapError(databaseUnavailable))
        )
    })
  })
)
