/** The port `DeadLetters`: requests use the request role, the replays of many that of the writer. */
import type { SqlClient } from "@effect/sql/SqlClient"
import { Effect, Layer, Option } from "effect"
import {
  DeadLetters,
  type DeadLetterSource,
  type NewReplay,
  type RunningReplay
} from "../../../actors/ports/DeadLetters.js"
import type { EventHome } from "../../../actors/ports/EventReads.js"
import { Vault } from "../../../actors/ports/Vault.js"
import type { ReplayView } from "../../../domain/EventView.js"
import { Unavailable } from "../../../domain/Failure.js"
import type { DeadLetterId } from "../../../domain/Ids.js"
import { isObject } from "../../../domain/Json.js"
import { eventLimits } from "../../../domain/Limits.js"
import { auditRow } from "../AuditRow.js"
import { AppSql, WriterSql } from "../Pools.js"
import { exactPayload, type EventRow } from "./EventRows.js"

/** Seconds for which a node has a replay that it advances. */
const leaseSeconds = 30

const unavailable = () => new Unavailable({ reason: "the database cannot be reached", retryAfterSeconds: 1 })

type SourceRow = Omit<DeadLetterSource, "routeId"> &
  Pick<EventRow, "sealed"> & { readonly context: unknown; readonly organisationId: EventRow["organisationId"] }

const sourceSql = `SELECT id, org AS "organisationId", event_id AS "eventId", delivery_id AS "deliveryId", status, context,
  COALESCE(source, 'system') AS source, trigger_id AS "triggerId", connector, connection_id AS "connectionId",
  customer_id AS "customerId", type, priority, payload, sealed, record
  FROM dead_letters WHERE org = $1 AND space = $2 AND id = $3`

const routeOf = (context: unknown): string | null => {
  const route = isObject(context as SourceRow["payload"]) ? Reflect.get(Object(context), "routeId") : null
  return typeof route === "string" ? route : null
}

const replayColumns = `id, org AS "organisationId", space AS "spaceId", filter, most AS limit, per_second AS "ratePerSecond",
  created_by AS "createdBy", after, replayed, failed`

type ReplayRow = Omit<ReplayView, "createdAt" | "finishedAt"> & {
  readonly createdAt: Date
  readonly finishedAt: Date | null
}

/** The conditions of a replay's filter. */
const filterConditions = ({ filter }: NewReplay, add: (value: unknown) => string): ReadonlyArray<string> => [
  ...(filter.triggerId === undefined ? [] : [`trigger_id = ${add(filter.triggerId)}`]),
  ...(filter.connector === undefined ? [] : [`connector = ${add(filter.connector)}`]),
  ...(filter.customerId === undefined ? [] : [`customer_id = ${add(filter.customerId)}`]),
  ...(filter.customerIds === undefined ? [] : [`customer_id = ANY(${add(filter.customerIds)})`]),
  ...(filter.type === undefined ? [] : [`type = ${add(filter.type)}`]),
  ...(filter.code === undefined ? [] : [`error->>'code' = ${add(filter.code)}`]),
  ...(filter.createdAfter === undefined ? [] : [`created_at > ${add(filter.createdAfter)}::timestamptz`]),
  ...(filter.createdBefore === undefined ? [] : [`created_at < ${add(filter.createdBefore)}::timestamptz`])
]

const insertAudit = (sql: SqlClient, audit: Parameters<typeof auditRow>[0]) => {
  const row = auditRow(audit)
  return sql`INSERT INTO audit_entries ${sql.insert({ ...row, entry: JSON.stringify(row.entry) })}`
}

export const layer = Layer.effect(
  DeadLetters,
  Effect.gen(function* () {
    const app = yield* AppSql
    const writer = yield* WriterSql
    const vault = yield* Vault

    const asOrganisation = <A>({ organisationId }: EventHome, body: Effect.Effect<A, unknown>) =>
      app
        .withTransaction(Effect.zipRight(app`SELECT set_config('svc.org', ${organisationId}, true)`, body))
        .pipe(Effect.mapError(unavailable))

    const sourceOf = (row: SourceRow) => {
      // A delivery has no event, and so no payload that could be sealed.
      const exact =
        row.eventId === null
          ? Effect.succeed(row.payload)
          : exactPayload(vault, { ...row, id: row.eventId as EventRow["id"] })
      return Effect.map(exact, (payload): DeadLetterSource => ({ ...row, payload, routeId: routeOf(row.context) }))
    }

    const setStatus = ({ organisationId, spaceId }: EventHome, id: string, status: string) =>
      Effect.map(
        app`UPDATE dead_letters SET status = ${status}
          WHERE org = ${organisationId} AND space = ${spaceId} AND id = ${id} AND status IN ('pending', 'replaying') RETURNING id`,
        (rows) => rows.length > 0
      )

    return DeadLetters.of({
      source: (home, id) =>
        asOrganisation(
          home,
          Effect.flatMap(app.unsafe<SourceRow>(sourceSql, [home.organisationId, home.spaceId, id]), ([row]) =>
            row === undefined ? Effect.succeedNone : Effect.asSome(sourceOf(row))
          )
        ),

      discard: (home, id, audit) =>
        asOrganisation(
          home,
          Effect.tap(setStatus(home, id, "discarded"), (found) => (found ? insertAudit(app, audit) : Effect.void))
        ),

      resend: ({ organisationId, spaceId }, id) =>
        writer
          .withTransaction(
            Effect.gen(function* () {
              const [letter] = yield* writer<{ delivery: string }>`UPDATE dead_letters SET status = 'replayed'
                WHERE org = ${organisationId} AND space = ${spaceId} AND id = ${id} AND status IN ('pending', 'replaying')
                  AND delivery_id IS NOT NULL RETURNING delivery_id AS delivery`
              if (letter === undefined) return false
              yield* writer`UPDATE deliveries SET status = 'pending', attempts_before = attempts, next_at = now(), finished_at = NULL
                WHERE id = ${letter.delivery} AND org = ${organisationId} AND status <> 'delivered'`
              return true
            })
          )
          .pipe(Effect.mapError(unavailable)),

      startReplay: ({ organisationId, spaceId }, { createdBy, filter, id, limit, ratePerSecond }, audit) =>
        asOrganisation(
          { organisationId, spaceId },
          Effect.gen(function* () {
            const [running] = yield* app<{ n: number }>`SELECT count(*)::int AS n FROM replays
              WHERE org = ${organisationId} AND space = ${spaceId} AND status = 'running'`
            if ((running?.n ?? 0) >= eventLimits.replays) return false
            yield* app`INSERT INTO replays (id, org, space, filter, most, per_second, created_by)
              VALUES (${id}, ${organisationId}, ${spaceId}, ${JSON.stringify(filter)}::json, ${limit}, ${ratePerSecond}, ${createdBy})`
            yield* insertAudit(app, audit)
            return true
          })
        ),

      replay: (home, id) =>
        asOrganisation(
          home,
          app<ReplayRow>`SELECT id, status, most AS limit, per_second AS "ratePerSecond", replayed, failed,
            created_at AS "createdAt", finished_at AS "finishedAt" FROM replays
            WHERE org = ${home.organisationId} AND space = ${home.spaceId} AND id = ${id}`
        ).pipe(
          Effect.map(([row]) =>
            Option.map(Option.fromNullable(row), (found) => ({
              ...found,
              createdAt: found.createdAt.toISOString(),
              finishedAt: found.finishedAt?.toISOString() ?? null
            }))
          )
        ),

      takeReplays: (most) =>
        writer
          .unsafe<RunningReplay>(
            `UPDATE replays SET next_at = now() + interval '${leaseSeconds} seconds' WHERE id IN (
               SELECT id FROM replays WHERE status = 'running' AND next_at <= now() ORDER BY next_at LIMIT $1
               FOR UPDATE SKIP LOCKED) RETURNING ${replayColumns}`,
            [most]
          )
          .pipe(Effect.mapError(unavailable)),

      nextOf: (replay, most) => {
        const values: Array<unknown> = [replay.organisationId, replay.spaceId, replay.after, most]
        const add = (value: unknown) => `$${values.push(value)}`
        const where = filterConditions(replay, add)
        return writer
          .unsafe<{ readonly id: DeadLetterId }>(
            `SELECT id FROM dead_letters WHERE ${[`org = $1`, `space = $2`, `id > $3`, `status = 'pending'`, ...where].join(" AND ")}
             ORDER BY id LIMIT $4`,
            values
          )
          .pipe(
            Effect.map((rows) => rows.map(({ id }) => id)),
            Effect.mapError(unavailable)
          )
      },

      advance: ({ after, failed, id, replayed }, pauseMillis) =>
        (pauseMillis === undefined
          ? writer`UPDATE replays SET after = ${after}, replayed = ${replayed}, failed = ${failed}, status = 'finished',
              finished_at = now() WHERE id = ${id}`
          : writer`UPDATE replays SET after = ${after}, replayed = ${replayed}, failed = ${failed},
              next_at = now() + ${pauseMillis} * interval '1 millisecond' WHERE id = ${id}`
        ).pipe(Effect.asVoid, Effect.mapError(unavailable))
    })
  })
)
