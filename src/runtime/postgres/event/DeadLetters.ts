/** The port `DeadLetters`: requests use the request role, the replays of many that of the writer. */
import { Duration, Effect, Layer, Option, Schema } from "effect"
import {
  type CauseFilter,
  DeadLetters,
  type DeadLetterSource,
  type NewReplay,
  type RunningReplay,
  type ScheduledReplay
} from "../../../actors/ports/event/DeadLetters.js"
import { type EventHome, RecordScope } from "../../../actors/ports/event/EventReads.js"
import { PlatformConfiguration } from "../../../actors/ports/organisation/PlatformConfiguration.js"
import { Vault } from "../../../actors/ports/Vault.js"
import { ReplayView } from "../../../domain/event/EventView.js"
import { DeadLetterId, EventId } from "../../../domain/Ids.js"
import { isObject, type Json, StoredJson } from "../../../domain/Json.js"
import { autoReplays, eventLimits } from "../../../domain/Limits.js"
import { AuditRows } from "../AuditRow.js"
import { changeSql, dueSql, leaseEnd, makeLeasedWork, type WorkKind, withoutWaiting } from "../LeasedWork.js"
import { AppSql, WriterSql } from "../database/Pools.js"
import { deployedLetters, platformAutoReplay, reconnectedLetters } from "./ReplayCauses.js"
import { lettersInScope } from "./ScopedRows.js"
import { exactPayload, EventRow } from "./EventRows.js"
import { databaseUnavailable, execute, rowsOf } from "../database/DatabaseUnavailable.js"
import { organisationReader } from "../database/OrganisationRole.js"
import { castRows } from "../database/Sql.js"
import { Event } from "../../../domain/event/Event.js"
import { countOf, rowDecoder } from "../record/Table.js"

/** Replays of many dead letters. The lease is the time of a replay's next part. */
const replays = {
  task: "events.replay",
  table: "replays",
  key: ["id"],
  isDue: "w.status = 'running'",
  dueAt: "w.next_at",
  lease: { until: "next_at", seconds: 15 },
  columns: `w.space AS "spaceId", w.filter, w.most AS limit, w.per_second AS "ratePerSecond", w.created_by AS "createdBy",
    w.after, w.replayed, w.failed, w.causes`
} as const satisfies WorkKind

/** Dead letters that their policies replay on a schedule. The lease is the time at which the schedule looks again. */
const scheduledLetters = {
  task: "events.replay",
  table: "dead_letters",
  key: ["id"],
  isDue: "(w.status = 'pending' OR w.status = 'replaying' AND w.replay_cause = 'schedule')",
  dueAt: "w.replay_at",
  lease: { until: "replay_at", seconds: 15 },
  columns: `w.space AS "spaceId"`
} as const satisfies WorkKind

export const work = [replays, scheduledLetters] as const

const seconds = (duration: Duration.Duration) => Duration.toSeconds(duration)

const decodeSource = rowDecoder("dead_letters", {
  ...EventRow.pick(
    "organisationId",
    "source",
    "triggerId",
    "connector",
    "connectionId",
    "customerId",
    "type",
    "priority",
    "payload",
    "sealed"
  ).fields,
  id: DeadLetterId,
  eventId: Schema.NullOr(EventId),
  deliveryId: Schema.NullOr(Schema.String),
  executionId: Schema.NullOr(Schema.String),
  status: Schema.String,
  context: StoredJson,
  record: Schema.NullOr(Event.fields.record)
})
type SourceRow = ReturnType<typeof decodeSource>

const sourceSql = `SELECT id, org AS "organisationId", event_id AS "eventId", delivery_id AS "deliveryId",
  execution_id AS "executionId", status, context, COALESCE(source, 'system') AS source, trigger_id AS "triggerId", connector, connection_id AS "connectionId",
  customer_id AS "customerId", type, priority, payload, sealed, record
  FROM dead_letters WHERE org = $1 AND space = $2 AND id = $3`

const routeOf = (context: Json): string | null => {
  const route = isObject(context) ? context["routeId"] : null
  return typeof route === "string" ? route : null
}

const decodeReplay = rowDecoder("replays", { ...ReplayView.fields, scope: Schema.NullOr(RecordScope) })
const decodeId = rowDecoder("dead_letters", { id: DeadLetterId })

/** The condition on the dead letters whose cause is gone; `add` makes a parameter of a value. */
const resolvedCondition = (resolved: CauseFilter, platform: string | null, add: (value: unknown) => string) => {
  const allowed = `svc_auto_replays(d, '${resolved.cause}', ${add(platform)}::jsonb)`
  return resolved.cause === "deploy"
    ? `${deployedLetters(add(resolved.workflowId), `${add(resolved.environments)}::text[]`, `${add(resolved.customerId ?? null)}::text`)} AND ${allowed}`
    : `${reconnectedLetters(add(resolved.connectionId), `${add(resolved.ownerId)}::text`)} AND ${allowed}`
}

/** A run that ended its processes runs again only on a request of its own, with the rights of its caller. */
const canBeMany = "(d.event_id IS NOT NULL OR d.delivery_id IS NOT NULL)"

/** The conditions of a replay's filter. */
const filterConditions = ({ filter }: NewReplay, add: (value: unknown) => string): ReadonlyArray<string> => [
  ...(filter.triggerId === undefined ? [] : [`trigger_id = ${add(filter.triggerId)}`]),
  ...(filter.connector === undefined ? [] : [`connector = ${add(filter.connector)}`]),
  ...(filter.customerId === undefined ? [] : [`customer_id = ${add(filter.customerId)}`]),
  ...(filter.customerIds === undefined ? [] : [`customer_id = ANY(${add(filter.customerIds)})`]),
  ...(filter.type === undefined ? [] : [`type = ${add(filter.type)}`]),
  ...lettersInScope(filter.scope, add),
  ...(filter.code === undefined ? [] : [`error->>'code' = ${add(filter.code)}`]),
  ...(filter.createdAfter === undefined ? [] : [`created_at > ${add(filter.createdAfter)}::timestamptz`]),
  ...(filter.createdBefore === undefined ? [] : [`created_at < ${add(filter.createdBefore)}::timestamptz`])
]

/**
 * A node that died may have replayed more than it has recorded, so that the letters are counted. Letters that the replay
 * took and did not replay, since their policy changed, are pending again.
 */
const finishSql = `
  WITH left_over AS (
    UPDATE dead_letters SET status = 'pending', replay_id = NULL, replay_cause = NULL
    WHERE replay_id = $1 AND status = 'replaying'
  )
  UPDATE replays SET after = $2, failed = $4,
    replayed = GREATEST($3, (SELECT count(*) FROM dead_letters WHERE replay_id = $1 AND status = 'replayed')),
    status = CASE WHEN causes = $5 THEN 'finished' ELSE status END, next_at = now(),
    finished_at = CASE WHEN causes = $5 THEN now() END
  WHERE id = $1`

/** `$5`: milliseconds until the next part. */
const advanceSql = changeSql(
  replays,
  "after = $2, replayed = $3, failed = $4, next_at = now() + $5 * interval '1 millisecond'"
)

/**
 * `$1`: how many; `$2`: the platform's policy. Each dead letter is looked at once, when its time has come: if its policy
 * replays nothing on a schedule then, the schedule forgets it.
 */
const leaseScheduledSql = `
  WITH due AS (
    ${withoutWaiting(dueSql(scheduledLetters, "w.id"))}
  ), judged AS (
    SELECT d.id, svc_auto_replays(d, 'schedule', $2::jsonb) AS allowed,
      d.created_at + LEAST(${seconds(autoReplays.longestPause)}, ${seconds(autoReplays.pause)} * ${autoReplays.pauseFactor} ^ LEAST(d.retry_count, 10)) * interval '1 second' AS at
    FROM due JOIN dead_letters d ON d.id = due.id
  ), taken AS (
    UPDATE dead_letters d SET
      replay_at = CASE WHEN NOT j.allowed THEN NULL WHEN j.at > now() THEN j.at ELSE ${leaseEnd(scheduledLetters)} END,
      status = CASE WHEN j.allowed AND j.at <= now() THEN 'replaying' ELSE 'pending' END,
      replay_cause = CASE WHEN j.allowed AND j.at <= now() THEN 'schedule' END
    FROM judged j WHERE d.id = j.id RETURNING d.id, d.org, d.space, d.status, d.created_at
  ) SELECT id, org AS "organisationId", space AS "spaceId" FROM taken WHERE status = 'replaying' ORDER BY created_at, id`

const readAs = organisationReader()

export const layer = Layer.effect(
  DeadLetters,
  Effect.gen(function* () {
    const app = yield* AppSql
    const writer = yield* WriterSql
    const vault = yield* Vault
    const auditRows = yield* AuditRows
    const platformPolicy = platformAutoReplay(yield* PlatformConfiguration)

    const asOrganisation = <A>({ organisationId }: EventHome, body: Effect.Effect<A, unknown>) =>
      readAs(app, organisationId, body)

    const sourceOf = (row: SourceRow) => {
      // A delivery has no event, and so no payload that could be sealed.
      const exact =
        row.eventId === null ? Effect.succeed(row.payload) : exactPayload(vault, { ...row, id: row.eventId })
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
          Effect.flatMap(app.unsafe(sourceSql, [home.organisationId, home.spaceId, id]), ([row]) =>
            row === undefined ? Effect.succeedNone : Effect.asSome(sourceOf(decodeSource(row)))
          )
        ),

      discard: (home, id, audit) =>
        asOrganisation(
          home,
          Effect.tap(setStatus(home, id, "discarded"), (found) => (found ? auditRows.write(app, [audit]) : Effect.void))
        ),

      recordRerun: (home, id) => Effect.asVoid(asOrganisation(home, setStatus(home, id, "replayed"))),

      resend: ({ organisationId, spaceId }, id) =>
        writer
          .withTransaction(
            Effect.gen(function* () {
              const [letter] = yield* writer`UPDATE dead_letters SET status = 'replayed'
                WHERE org = ${organisationId} AND space = ${spaceId} AND id = ${id} AND status IN ('pending', 'replaying')
                  AND delivery_id IS NOT NULL RETURNING delivery_id AS delivery`
              if (letter === undefined) return false
              yield* writer`UPDATE deliveries SET status = 'pending', attempts_before = attempts, next_at = now(), finished_at = NULL
                WHERE id = ${letter["delivery"]} AND org = ${organisationId} AND status <> 'delivered'`
              return true
            })
          )
          .pipe(Effect.mapError(databaseUnavailable)),

      startReplay: ({ organisationId, spaceId }, { createdBy, filter, id, limit, ratePerSecond }, audit) =>
        asOrganisation(
          { organisationId, spaceId },
          Effect.gen(function* () {
            const running = yield* app`SELECT count(*)::int AS n FROM replays
              WHERE org = ${organisationId} AND space = ${spaceId} AND status = 'running' AND cause IS NULL`
            if (countOf(running) >= eventLimits.replays) return false
            yield* app`INSERT INTO replays (id, org, space, filter, most, per_second, created_by)
              VALUES (${id}, ${organisationId}, ${spaceId}, ${JSON.stringify(filter)}::json, ${limit}, ${ratePerSecond}, ${createdBy})`
            yield* auditRows.write(app, [audit])
            return true
          })
        ),

      replay: (home, id, customers) =>
        asOrganisation(
          home,
          app`SELECT id, status, COALESCE(cause, 'request') AS cause, most AS limit, per_second AS "ratePerSecond", replayed, failed,
            created_at AS "createdAt", finished_at AS "finishedAt", filter->'scope' AS scope FROM replays
            WHERE org = ${home.organisationId} AND space = ${home.spaceId} AND id = ${id}
              AND (${customers === undefined} OR filter->>'customerId' = ANY(${customers ?? []}::text[])
                OR filter::jsonb->'customerIds' <@ to_jsonb(${customers ?? []}::text[]))`
        ).pipe(
          Effect.map(([row]) =>
            Option.map(Option.map(Option.fromNullable(row), decodeReplay), ({ scope, ...view }) => ({ scope, view }))
          )
        ),

      leaseScheduled: (most) =>
        // Not decoded, since one dead letter that cannot be read would keep the others from being replayed.
        rowsOf(castRows<ScheduledReplay>(writer.unsafe(leaseScheduledSql, [most, platformPolicy]))),

      putBack: (id) =>
        execute(writer`UPDATE dead_letters SET status = 'pending', replay_id = NULL, replay_cause = NULL, replay_at = NULL
          WHERE id = ${id} AND status = 'replaying'`),

      leaseReplays: makeLeasedWork<RunningReplay>(writer, replays).leaseDue,

      nextOf: (replay, most) => {
        const { resolved } = replay.filter
        const values: Array<unknown> = [replay.organisationId, replay.spaceId, replay.after, most, replay.id]
        const add = (value: unknown) => `$${values.push(value)}`
        const where = [
          ...filterConditions(replay, add),
          // Not what fails after it was asked for, such as its own replays. A cause bounds its filter itself.
          resolved === undefined
            ? "d.created_at <= (SELECT r.created_at FROM replays r WHERE r.id = $5)"
            : resolvedCondition(resolved, platformPolicy, add)
        ].map((one) => ` AND ${one}`)
        const columns = `replay_id = $5, replay_cause = ${add(resolved?.cause ?? null)}::text`
        // Those that this replay has taken already were not replayed before its node died.
        return writer
          .unsafe(
            `WITH next AS (
               SELECT d.id FROM dead_letters d WHERE org = $1 AND space = $2 AND id > $3 AND ${canBeMany}
                 AND (status = 'pending' OR status = 'replaying' AND replay_id = $5)${where.join("")}
               ORDER BY id LIMIT $4 FOR UPDATE
             ) UPDATE dead_letters d SET status = 'replaying', ${columns} FROM next WHERE d.id = next.id RETURNING d.id`,
            values
          )
          .pipe(
            Effect.map((rows) => rows.map((row) => decodeId(row).id).toSorted()),
            Effect.mapError(databaseUnavailable)
          )
      },

      advance: ({ after, causes, failed, id, replayed }, pauseMillis) =>
        (pauseMillis === undefined
          ? writer.unsafe(finishSql, [id, after, replayed, failed, causes])
          : writer.unsafe(advanceSql, [id, after, replayed, failed, pauseMillis])
        ).pipe(Effect.asVoid, Effect.mapError(databaseUnavailable))
    })
  })
)
