/** The port `Subscriptions`. */
import { Effect, Layer, Option } from "effect"
import {
  type DueSubscription,
  type FoundSubscription,
  type Subscription,
  Subscriptions
} from "../../actors/ports/Subscriptions.js"
import { AuditRows } from "./AuditRow.js"
import type { Unavailable } from "../../domain/Failure.js"
import { outwardPlaces } from "../../domain/Limits.js"
import { notSetAside } from "./FailedJobs.js"
import { placedCtes, roomValues } from "./PlaceRoom.js"
import { WriterSql } from "./Pools.js"
import { transact, transactAudited, writeEvents } from "./connections/ChangeWrites.js"
import { makeReadCache, noOrganisation } from "./ReadCache.js"
import { disableTrigger } from "./TriggerDisabling.js"
import { databaseUnavailable } from "./DatabaseUnavailable.js"

export interface SubscriptionsOptions {
  /** No other node uses this database, so leases found at the start belong to a process that has ended. */
  readonly isOnlyNode: boolean
}

/** Longer than a call to a provider may take, with its retries. */
const leaseSeconds = 120
const maxAgeMillis = 800
const maxCached = 10_000
const timeOf = (at: number | null): Date | null => (at === null ? null : new Date(at))

const columns = `s.org AS "organisationId", s.trigger_id AS "triggerId", s.connection_id AS "connectionId", s.state,
  s.attempts, s.number, s.external_id AS "externalId", s.secret, (extract(epoch FROM s.expires_at) * 1000)::float8 AS "expiresAt"`

const createSql = `INSERT INTO subscriptions (trigger_id, connection_id, org)
  SELECT t.id, c.id, t.org FROM triggers t JOIN connections c ON c.org = t.org
    AND c.connector = t.app_event->>'connector' AND c.disconnected_at IS NULL AND c.status = 'active'
    AND (t.app_event->>'connectionId' IS NULL OR t.app_event->>'connectionId' = c.id)
    AND (t.customer_id IS NULL OR t.customer_id = c.customer_id)
  WHERE t.type = 'app_event' AND t.app_event->>'delivery' = 'webhook' AND t.deleted_at IS NULL AND t.status = 'active'
  ON CONFLICT DO NOTHING`

const wanted = `(t.status = 'active' AND t.deleted_at IS NULL AND (t.app_event->>'connectionId' IS NULL
  OR t.app_event->>'connectionId' = s.connection_id))`
const open = "(c.status = 'active')"
const id = "s.trigger_id || '|' || s.connection_id"
const dueSince = "COALESCE(s.next_at, '-infinity'::timestamptz)"
const from = "subscriptions s JOIN triggers t ON t.id = s.trigger_id JOIN connections c ON c.id = s.connection_id"
const isDue = `(s.leased_until IS NULL OR s.leased_until < now()) AND CASE
  WHEN NOT ${wanted} THEN s.state <> 'unsubscribed'
  WHEN NOT ${open} THEN s.state <> 'suspended'
  WHEN s.state IN ('suspended', 'unsubscribed') THEN true
  ELSE s.next_at <= now() END`

const findSql = `WITH ${placedCtes(
  `s.trigger_id, s.connection_id, ${id} AS id`,
  `${from} WHERE ${isDue} AND ${notSetAside("events.subscribe", id)}`,
  { org: "s.org", partner: "s.connection_id", at: dueSince },
  outwardPlaces.subscriptions
)} SELECT id, org AS "organisationId", partner, trigger_id AS "triggerId", connection_id AS "connectionId"
  FROM placed ORDER BY place, due_at`

const leaseSql = `UPDATE subscriptions s SET leased_until = now() + interval '${leaseSeconds} seconds'
  FROM (SELECT s.trigger_id, s.connection_id, ${wanted} AS wanted, ${open} AS open FROM ${from}
    WHERE (s.trigger_id, s.connection_id) IN (SELECT * FROM unnest($1::text[], $2::text[])) AND ${isDue}
    FOR UPDATE OF s SKIP LOCKED) due
  WHERE s.trigger_id = due.trigger_id AND s.connection_id = due.connection_id
  RETURNING ${columns}, due.wanted AS "isWanted", due.open AS "isOpen"`

export const layer = ({ isOnlyNode }: SubscriptionsOptions) =>
  Layer.effect(
    Subscriptions,
    Effect.gen(function* () {
      const sql = yield* WriterSql
      const auditRows = yield* AuditRows
      if (isOnlyNode) yield* sql`UPDATE subscriptions SET leased_until = NULL WHERE leased_until IS NOT NULL`
      const cache = yield* makeReadCache<Subscription, Unavailable>({
        maxAgeMillis,
        maxEntries: maxCached,
        organisationOf: noOrganisation
      })

      return Subscriptions.of({
        reconcile: sql.unsafe(createSql).pipe(Effect.asVoid, Effect.mapError(databaseUnavailable)),
        find: (room) =>
          sql.unsafe<FoundSubscription>(findSql, roomValues(room)).pipe(Effect.mapError(databaseUnavailable)),
        lease: (found) =>
          sql
            .unsafe<DueSubscription>(leaseSql, [
              found.map(({ triggerId }) => triggerId),
              found.map(({ connectionId }) => connectionId)
            ])
            .pipe(Effect.mapError(databaseUnavailable)),
        save: ({ connectionId, triggerId }, change) => {
          const {
            attempts,
            events = [],
            expiresAt,
            externalId,
            keepsLease,
            lastError,
            nextAt,
            number,
            secret,
            state
          } = change
          const row = {
            state,
            next_at: timeOf(nextAt),
            ...(keepsLease === true ? {} : { leased_until: null }),
            ...(attempts === undefined ? {} : { attempts }),
            ...(expiresAt === undefined ? {} : { expires_at: timeOf(expiresAt) }),
            ...(externalId === undefined ? {} : { external_id: externalId }),
            ...(lastError === undefined ? {} : { last_error: lastError }),
            ...(number === undefined ? {} : { number }),
            ...(secret === undefined ? {} : { secret })
          }
          const updated = sql`UPDATE subscriptions SET ${sql.update(row)}
          WHERE trigger_id = ${triggerId} AND connection_id = ${connectionId}`
          return events.length === 0
            ? updated.pipe(Effect.asVoid, Effect.mapError(databaseUnavailable))
            : transact(sql, Effect.zipRight(updated, writeEvents(sql, events, [])))
        },
        refuse: ({ attempts, connectionId, triggerId }, { disabling, event, lastError }) =>
          transactAudited(sql, auditRows, [disabling.audit], (rows) =>
            Effect.gen(function* () {
              // Serialises refusals of several connections, so that the last one disables the trigger.
              yield* sql`SELECT FROM triggers WHERE id = ${triggerId} FOR UPDATE`
              yield* sql`UPDATE subscriptions SET state = 'failed', attempts = ${attempts + 1}, last_error = ${lastError},
                next_at = NULL, leased_until = NULL
              WHERE trigger_id = ${triggerId} AND connection_id = ${connectionId}`
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
          Effect.map(
            cache.get(
              number,
              sql
                .unsafe<Subscription>(
                  `SELECT ${columns} FROM subscriptions s WHERE s.number = $1 AND s.state <> 'unsubscribed'`,
                  [number]
                )
                .pipe(
                  Effect.map(([row]) => row),
                  Effect.mapError(databaseUnavailable)
                )
            ),
            Option.fromNullable
          )
      })
    })
  )
