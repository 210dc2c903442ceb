/** The port `Subscriptions`. */
import { Effect, Layer, Schema } from "effect"
import {
  type DueSubscription,
  type Subscription,
  type SubscriptionChange,
  Subscriptions
} from "../../../actors/ports/event/Subscriptions.js"
import { AuditRows } from "../AuditRow.js"
import {
  changeSql,
  endFormerLeases,
  keyOf,
  makeFind,
  makeLeasedWork,
  type PlacedKind,
  settleSql,
  type WorkKind
} from "../LeasedWork.js"
import { outwardPlaces } from "../../../domain/Limits.js"
import { SubscriptionStatus } from "../../../domain/trigger/Subscription.js"
import { rowDecoder } from "../record/Table.js"
import { WriterSql } from "../database/Pools.js"
import { transact, transactAudited, writeEvents } from "../connection/ChangeWrites.js"
import { makeReadCache, noOrganisation } from "../ReadCache.js"
import { disableTrigger } from "./TriggerDisabling.js"
import { databaseUnavailable, execute, firstRow } from "../database/DatabaseUnavailable.js"

const isWanted = `(t.status = 'active' AND t.deleted_at IS NULL AND (t.app_event->>'connectionId' IS NULL
  OR t.app_event->>'connectionId' = w.connection_id))`
const isOpen = "(c.status = 'active')"

const subscriptionColumns = `w.org AS "organisationId", w.trigger_id AS "triggerId", w.connection_id AS "connectionId",
  w.state, w.attempts, w.number, w.external_id AS "externalId", w.secret,
  (extract(epoch FROM w.expires_at) * 1000)::float8 AS "expiresAt"`

/** Subscriptions at providers whose state is not what their trigger and connection ask for. */
const kind = {
  task: "events.subscribe",
  table: "subscriptions",
  joins: "JOIN triggers t ON t.id = w.trigger_id JOIN connections c ON c.id = w.connection_id",
  key: ["trigger_id", "connection_id"],
  isDue: `CASE WHEN NOT ${isWanted} THEN w.state <> 'unsubscribed' WHEN NOT ${isOpen} THEN w.state <> 'suspended'
    WHEN w.state IN ('suspended', 'unsubscribed') THEN true ELSE w.next_at <= now() END`,
  dueAt: "COALESCE(w.next_at, '-infinity'::timestamptz)",
  // Longer than a call to a provider may take, with its retries.
  lease: { seconds: 120 },
  reads: `${isWanted} AS wanted, ${isOpen} AS open`,
  columns: `${subscriptionColumns}, due.wanted AS "isWanted", due.open AS "isOpen"`,
  partner: "w.connection_id",
  bounds: outwardPlaces.subscriptions
} as const satisfies WorkKind & PlacedKind

const timeOf = (at: number | null): Date | null => (at === null ? null : new Date(at))

const subscribing = `triggers t JOIN connections c ON c.org = t.org
    AND c.connector = t.app_event->>'connector' AND c.disconnected_at IS NULL AND c.status = 'active'
    AND (t.app_event->>'connectionId' IS NULL OR t.app_event->>'connectionId' = c.id)
    AND (t.customer_id IS NULL OR t.customer_id = c.customer_id)
  WHERE t.type = 'app_event' AND t.app_event->>'delivery' = 'webhook' AND t.deleted_at IS NULL AND t.status = 'active'`
const createSql = `INSERT INTO subscriptions (trigger_id, connection_id, org)
  SELECT t.id, c.id, t.org FROM ${subscribing} ON CONFLICT DO NOTHING`
/** Whether `reconcile` would change something. */
const areMissing = `EXISTS (SELECT FROM ${subscribing}
  AND NOT EXISTS (SELECT FROM subscriptions s WHERE s.trigger_id = t.id AND s.connection_id = c.id))`

export const work = [kind, areMissing] as const

/** `$3`: how many attempts have failed; `$4`: the last error. */
const refuseSql = settleSql(kind, "state = 'failed', attempts = $3, last_error = $4, next_at = NULL")

/** The columns that a change sets. */
const columnsOf = (change: SubscriptionChange): ReadonlyArray<readonly [string, unknown]> =>
  Object.entries({
    state: change.state,
    next_at: timeOf(change.nextAt),
    attempts: change.attempts,
    expires_at: change.expiresAt === undefined ? undefined : timeOf(change.expiresAt),
    external_id: change.externalId,
    last_error: change.lastError,
    number: change.number,
    secret: change.secret
  }).filter(([, value]) => value !== undefined)

const decode = rowDecoder(
  "subscriptions",
  Schema.Struct({
    ...SubscriptionStatus.pick("triggerId", "connectionId", "organisationId", "state", "attempts").fields,
    number: Schema.NullOr(Schema.String),
    externalId: Schema.NullOr(Schema.String),
    secret: Schema.NullOr(Schema.Uint8ArrayFromSelf),
    expiresAt: Schema.NullOr(Schema.Number)
  })
)

export const layer = Layer.effect(
  Subscriptions,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const auditRows = yield* AuditRows
    yield* endFormerLeases(sql, kind)
    const cache = yield* makeReadCache<Subscription>({ organisationOf: noOrganisation })

    return Subscriptions.of({
      reconcile: execute(sql.unsafe(createSql)),
      find: makeFind(sql, kind),
      lease: makeLeasedWork<DueSubscription>(sql, kind).lease,
      save: ({ id }, change) => {
        const columns = columnsOf(change)
        const set = columns.map(([column], at) => `${column} = $${at + 3}`).join(", ")
        const updated = sql.unsafe((change.keepsLease === true ? changeSql : settleSql)(kind, set), [
          ...keyOf(kind, id),
          ...columns.map(([, value]) => value)
        ])
        const { events = [] } = change
        return events.length === 0
          ? updated.pipe(Effect.asVoid, Effect.mapError(databaseUnavailable))
          : transact(sql, Effect.zipRight(updated, writeEvents(sql, events, [])))
      },
      refuse: ({ attempts, connectionId, triggerId }, { disabling, event, lastError }) =>
        transactAudited(sql, auditRows, [disabling.audit], (rows) =>
          Effect.gen(function* () {
            // Serialises refusals of several connections, so that the last one disables the trigger.
            yield* sql`SELECT FROM triggers WHERE id = ${triggerId} FOR UPDATE`
            yield* sql.unsafe(refuseSql, [triggerId, connectionId, attempts + 1, lastError])
            yield* writeEvents(sql, [event], [])
            const others = yield* sql`SELECT FROM subscriptions WHERE trigger_id = ${triggerId}
              AND (state IN ('pending', 'subscribed', 'renewing', 'suspended') OR state = 'failed' AND next_at IS NOT NULL) LIMIT 1`
            if (others.length > 0) return
            const isDisabled = yield* disableTrigger(sql, disabling.after, disabling.event, rows)
            // What the provider does not have begins anew when the trigger is enabled.
            yield* isDisabled
              ? sql`UPDATE subscriptions SET state = 'unsubscribed', number = NULL, secret = NULL, expires_at = NULL, attempts = 0
                  WHERE trigger_id = ${triggerId} AND external_id IS NULL`
              : sql`UPDATE subscriptions SET next_at = now() + interval '1 minute'
                  WHERE trigger_id = ${triggerId} AND connection_id = ${connectionId}`
          })
        ),
      byNumber: (number) =>
        cache.find(number, () =>
          firstRow(
            sql.unsafe(
              `SELECT ${subscriptionColumns} FROM subscriptions w WHERE w.number = $1 AND w.state <> 'unsubscribed'`,
              [number]
            ),
            decode
          )
        )
    })
  })
)
