/** The port `Deliveries` on the writer's pool: claims due deliveries and records results. All times are Postgres'. */
import { describe } from "../telemetry/SafeError.js"
import { Duration, Effect, Layer } from "effect"
import { Deliveries } from "../../actors/ports/Deliveries.js"
import {
  type Delivery,
  type DeliveryEndpoint,
  deliveriesInFlight,
  deliveryTimeout,
  isGone,
  type Verdict
} from "../../domain/Delivery.js"
import { Unavailable } from "../../domain/Failure.js"
import type { OrganisationId } from "../../domain/Ids.js"
import { callbackSecretOverlap } from "../../domain/Limits.js"
import { disableAfterFailing } from "../../domain/WebhookEndpoint.js"
import { notSetAside } from "./FailedJobs.js"
import { WriterSql } from "./Pools.js"

export interface DeliveriesOptions {
  /** No other node uses this database, so claims found at the start belong to a process that has ended. */
  readonly isOnlyNode: boolean
}

/** Longer than any attempt, including the read of its secrets and the write of its result. */
const lease = Duration.sum(deliveryTimeout, Duration.seconds(15))

/** Due deliveries that one claim considers. */
const maxCandidates = 1_000

/** The endpoint of a URL, as `endpointOf` computes it. */
const endpointSql = (url: string) => `split_part(split_part(${url}, '#', 1), '?', 1)`

/** Columns of an attempt; `$n` of its rows are the statement's. */
const attemptColumns = "id, org, endpoint_id, delivery_id, event_type, number, outcome, status, error, duration_ms"

/**
 * Claims the longest-due deliveries, within the limits of each endpoint and organisation, and sets those of disabled and
 * deleted endpoints aside. Deliveries of an endpoint go to its present URL. `$2`: endpoints that are full; `$3` and `$4`:
 * endpoints with deliveries in flight, and how many; `$6`: the overlap of secrets; `$7`: organisations that are full; `$8`
 * and `$9`: organisations with deliveries in flight, and how many. Always returns a row, so that
 * `skipped` is known.
 */
const claimSql = `
  WITH due AS MATERIALIZED (
    SELECT d.id, d.org, d.next_at, ${endpointSql("COALESCE(e.url, d.url)")} AS endpoint,
      d.endpoint_id IS NOT NULL AND e.status IS DISTINCT FROM 'active' AS is_closed
    FROM deliveries d LEFT JOIN webhook_endpoints e ON e.id = d.endpoint_id
    WHERE d.status = 'pending' AND d.next_at <= now() AND (d.claimed_until IS NULL OR d.claimed_until <= now())
      AND NOT ${endpointSql("COALESCE(e.url, d.url)")} = ANY($2::text[])
      AND NOT d.org = ANY($7::text[]) AND ${notSetAside("deliveries.send", "d.id")}
    ORDER BY d.next_at LIMIT ${maxCandidates}
  ), skipped AS (
    UPDATE deliveries d SET status = 'undelivered', finished_at = now(), claimed_until = NULL, last_error = 'the endpoint is disabled'
    FROM due WHERE d.id = due.id AND due.is_closed AND d.status = 'pending'
    RETURNING d.id, d.org, d.endpoint_id, d.event_type, d.attempts
  ), noted AS (
    INSERT INTO delivery_attempts (${attemptColumns})
    SELECT svc_new_id('att'), org, endpoint_id, id, event_type, attempts, 'skipped', NULL, 'the endpoint is disabled', NULL
    FROM skipped
  ), placed AS (
    SELECT due.id, due.org, due.next_at, COALESCE(t.taken, 0) + row_number() OVER (PARTITION BY due.endpoint ORDER BY due.next_at, due.id) AS place
    FROM due LEFT JOIN unnest($3::text[], $4::int[]) AS t(endpoint, taken) USING (endpoint) WHERE NOT due.is_closed
  ), shared AS (
    SELECT p.id, p.next_at, COALESCE(t.taken, 0) + row_number() OVER (PARTITION BY p.org ORDER BY p.next_at, p.id) AS place
    FROM placed p LEFT JOIN unnest($8::text[], $9::int[]) AS t(org, taken) USING (org)
    WHERE p.place <= ${deliveriesInFlight.perEndpoint}
  ), chosen AS (
    SELECT d.id FROM deliveries d
    WHERE d.id IN (SELECT id FROM shared WHERE place <= ${deliveriesInFlight.perOrganisation} ORDER BY next_at LIMIT $1)
      AND d.status = 'pending' AND (d.claimed_until IS NULL OR d.claimed_until <= now())
    FOR UPDATE SKIP LOCKED
  ), claimed AS (
    UPDATE deliveries d SET claimed_until = now() + $5 * interval '1 millisecond', attempts = d.attempts + 1
    FROM chosen WHERE d.id = chosen.id
    RETURNING d.id, d.org, d.space, d.kind, d.endpoint_id, d.url, d.execution_id, d.payload, d.attempts, d.attempts_before
  )
  SELECT c.id, c.org AS "organisationId", c.space AS "spaceId", c.kind, COALESCE(e.url, c.url) AS url,
    c.execution_id AS "executionId", c.payload, c.attempts AS attempt, c.attempts - c.attempts_before AS "scheduledAttempt",
    e.id AS "endpointId", e.secret,
    CASE WHEN e.rotated_at > now() - $6 * interval '1 millisecond' THEN e.secret_before END AS "secretBefore",
    (SELECT count(*)::int FROM skipped) AS skipped
  FROM (SELECT) one LEFT JOIN claimed c ON true LEFT JOIN webhook_endpoints e ON e.id = c.endpoint_id`

interface ClaimRow extends Omit<Delivery, "endpoint" | "id"> {
  /** `null`: nothing was claimed. */
  readonly id: Delivery["id"] | null
  readonly endpointId: DeliveryEndpoint["id"] | null
  readonly secret: Uint8Array | null
  readonly secretBefore: Uint8Array | null
  readonly skipped: number
}

const deliveryOf = ({
  endpointId,
  id,
  secret,
  secretBefore,
  skipped: _skipped,
  ...row
}: ClaimRow): ReadonlyArray<Delivery> =>
  id === null
    ? []
    : [
        {
          ...row,
          id,
          endpoint: endpointId === null || secret === null ? null : { id: endpointId, secret, secretBefore }
        }
      ]

/**
 * Records an attempt; a delivery that is given up becomes a dead letter. `$3`: the new status; `$4`: the pause before the next attempt; `$7`: milliseconds that it took; `$8`:
 * the endpoint is gone; `$9`: milliseconds of failures after which an endpoint is disabled; `$10`: the URL that was called,
 * since the result says nothing about an endpoint's newer URL.
 */
const settleSql = `
  WITH settled AS (
    UPDATE deliveries SET claimed_until = NULL, last_status = $5, last_error = $6,
      status = CASE WHEN $8 AND endpoint_id IS NOT NULL THEN 'undelivered' ELSE $3 END,
      next_at = CASE WHEN $3 = 'pending' THEN now() + $4 * interval '1 millisecond' ELSE next_at END,
      finished_at = CASE WHEN $3 = 'pending' THEN NULL ELSE now() END
    WHERE id = $1 AND status = 'pending' AND attempts = $2
    RETURNING id, org, space, kind, status, url, endpoint_id, event_type, execution_id, customer_id, payload, attempts, notification_id
  ), buried AS (
    INSERT INTO dead_letters (id, org, space, execution_id, delivery_id, customer_id, type, priority, payload, error, context, expires_at)
    SELECT svc_new_id('dlq'), s.org, COALESCE(s.space, e.space,
        (SELECT w.id FROM workspaces w WHERE w.org = s.org ORDER BY w.created_at, w.id LIMIT 1)),
      s.execution_id, s.id, s.customer_id, s.kind || '.exhausted', 4, s.payload::json,
      json_build_object('code', 'DELIVERY_EXHAUSTED', 'message', $6::text, 'category', 'transient', 'step', NULL, 'stack', NULL),
      json_build_object('endpointId', s.endpoint_id, 'eventType', s.event_type, 'attempts', s.attempts, 'status', $5::int,
        'url', ${endpointSql("COALESCE(e.url, s.url)")}), now() + interval '30 days'
    FROM settled s LEFT JOIN webhook_endpoints e ON e.id = s.endpoint_id WHERE s.status = 'exhausted'
  ), revived AS (
    UPDATE dead_letters d SET status = 'replayed' FROM settled s
    WHERE s.status = 'delivered' AND d.delivery_id = s.id AND d.status = 'pending'
  ), notified AS (
    UPDATE notifications n SET pending = n.pending - 1,
      status = CASE WHEN n.status <> 'queued' THEN n.status WHEN $3 = 'delivered' THEN 'sent'
        WHEN n.pending <= 1 THEN 'failed' ELSE n.status END
    FROM settled s WHERE n.id = s.notification_id AND n.org = s.org AND $3 <> 'pending'
  ), noted AS (
    INSERT INTO delivery_attempts (${attemptColumns})
    SELECT svc_new_id('att'), org, endpoint_id, id, event_type, attempts,
      CASE WHEN $3 = 'delivered' THEN 'delivered' ELSE 'failed' END, $5, $6, $7::int FROM settled
  ), judged AS (
    SELECT e.id, $3 <> 'delivered' AND ($8 OR e.failing_since <= now() - $9 * interval '1 millisecond') AS is_over
    FROM settled s JOIN webhook_endpoints e ON e.id = s.endpoint_id
    WHERE e.status = 'active' AND e.url = $10 AND ($8 OR (e.failing_since IS NULL) = ($3 <> 'delivered')
      OR ($3 <> 'delivered' AND e.failing_since <= now() - $9 * interval '1 millisecond'))
  ), changed AS (
    UPDATE webhook_endpoints e SET
      failing_since = CASE WHEN $3 = 'delivered' THEN NULL ELSE COALESCE(e.failing_since, now()) END,
      status = CASE WHEN j.is_over THEN 'disabled' ELSE e.status END,
      disabled_reason = CASE WHEN j.is_over THEN CASE WHEN $8 THEN 'gone' ELSE 'failing' END END,
      updated_at = CASE WHEN j.is_over THEN now() ELSE e.updated_at END,
      version = CASE WHEN j.is_over THEN e.version + 1 ELSE e.version END
    FROM judged j WHERE e.id = j.id AND e.status = 'active' AND e.url = $10
    RETURNING e.id, e.org, e.url, e.status, e.disabled_reason
  )
  INSERT INTO domain_events (id, org, type, subject, payload)
  SELECT svc_new_id('evt'), org, 'webhook_endpoint.disabled', id,
    jsonb_build_object('webhookEndpointId', id, 'url', url, 'reason', disabled_reason)
  FROM changed WHERE status = 'disabled'`

/** The status of a delivery after a verdict. */
const statusOf = (verdict: Verdict) =>
  verdict._tag === "Delivered" ? "delivered" : verdict._tag === "Exhausted" ? "exhausted" : "pending"

const unavailable = (error: unknown) => new Unavailable({ reason: describe(error), retryAfterSeconds: 1 })

export const layer = ({ isOnlyNode }: DeliveriesOptions) =>
  Layer.effect(
    Deliveries,
    Effect.gen(function* () {
      const sql = yield* WriterSql
      if (isOnlyNode)
        yield* sql`UPDATE deliveries SET claimed_until = NULL WHERE status = 'pending' AND claimed_until > now()`

      const claim = Effect.fn("Deliveries.claim")(function* (
        slots: number,
        underWay: ReadonlyMap<string, number>,
        ofOrganisations: ReadonlyMap<OrganisationId, number> = new Map()
      ) {
        const busy = [...underWay]
        const full = busy.filter(([, taken]) => taken >= deliveriesInFlight.perEndpoint)
        const organisations = [...ofOrganisations]
        const fullOrganisations = organisations.filter(([, taken]) => taken >= deliveriesInFlight.perOrganisation)
        for (;;) {
          const rows = yield* sql.unsafe<ClaimRow>(claimSql, [
            slots,
            full.map(([endpoint]) => endpoint),
            busy.map(([endpoint]) => endpoint),
            busy.map(([, taken]) => taken),
            Duration.toMillis(lease),
            Duration.toMillis(callbackSecretOverlap),
            fullOrganisations.map(([id]) => id),
            organisations.map(([id]) => id),
            organisations.map(([, taken]) => taken)
          ])
          const claimed = rows.flatMap(deliveryOf)
          // Deliveries that were only set aside may have hidden others.
          if (claimed.length > 0 || (rows[0]?.skipped ?? 0) === 0) return claimed
        }
      }, Effect.mapError(unavailable))

      const settle = Effect.fn("Deliveries.settle")(function* (
        { attempt, id, url }: Delivery,
        verdict: Verdict,
        duration: Duration.Duration
      ) {
        yield* sql.unsafe(settleSql, [
          id,
          attempt,
          statusOf(verdict),
          verdict._tag === "Retry" ? Duration.toMillis(verdict.after) : 0,
          verdict.status,
          verdict._tag === "Delivered" ? null : verdict.reason,
          Math.round(Duration.toMillis(duration)),
          isGone(verdict),
          Duration.toMillis(disableAfterFailing),
          url
        ])
      }, Effect.mapError(unavailable))

      return Deliveries.of({ claim, settle })
    })
  )
