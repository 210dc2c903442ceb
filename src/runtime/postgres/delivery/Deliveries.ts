/** The port `Deliveries` on the writer's pool: claims due deliveries and records results. All times are Postgres'. */
import { Duration, Effect, Layer, Schema } from "effect"
import { Deliveries, type DeliveryUse } from "../../../actors/ports/delivery/Deliveries.js"
import type { DueWork } from "../../../actors/ports/LeasedWork.js"
import { Ownership } from "../../../actors/ports/Ownership.js"
import type { Room } from "../../../actors/Places.js"
import { type Delivery, type DeliveryEndpoint, isGone, type Verdict } from "../../../domain/delivery/Delivery.js"
import { callbackSecretOverlap, outwardPlaces } from "../../../domain/Limits.js"
import { disableAfterFailing } from "../../../domain/delivery/WebhookEndpoint.js"
import { accountSql, endFormerLeases, findCtes, leasedUntil, leaseSql, roomValues, settleSql } from "../LeasedWork.js"
import { WriterSql } from "../database/Pools.js"
import { databaseUnavailable } from "../database/DatabaseUnavailable.js"
import { deliveries, endpointSql } from "../WorkKinds.js"
import { castRows } from "../database/Sql.js"
import { rowDecoder } from "../record/Table.js"

/** The kind apart from its places, which the uses do not share. */
const kind = deliveries("deliveries")

export const work = [kind] as const

const Strings = Schema.Array(Schema.String)

/** Columns of an attempt; `$n` of its rows are the statement's. */
const attemptColumns = "id, org, endpoint_id, delivery_id, event_type, number, outcome, status, error, duration_ms"

/**
 * Finds deliveries that may get a place, and sets those of disabled and deleted endpoints aside. Deliveries of an endpoint
 * go to its present URL. Always returns a row, so that `skipped` is known.
 */
const findSql = (use: DeliveryUse) => `
  WITH ${findCtes(deliveries(use), ", w.endpoint_id IS NOT NULL AND e.status IS DISTINCT FROM 'active' AS is_closed")}, skipped AS (
    UPDATE deliveries d SET status = 'undelivered', finished_at = now(), ${leasedUntil(kind)} = NULL, last_error = 'the endpoint is disabled'
    FROM due WHERE d.id = due.id AND due.is_closed AND d.status = 'pending'
    RETURNING d.id, d.org, d.endpoint_id, d.event_type, d.attempts
  ), noted AS (
    INSERT INTO delivery_attempts (${attemptColumns})
    SELECT svc_new_id('att'), org, endpoint_id, id, event_type, attempts, 'skipped', NULL, 'the endpoint is disabled', NULL
    FROM skipped
  )
  SELECT p.id, p.org AS "organisationId", p.account AS "accountId", p.partner, (SELECT count(*)::int FROM skipped) AS skipped
  FROM (SELECT) one LEFT JOIN placed p ON NOT p.is_closed ORDER BY p.place, p.due_at`

const findSqls = { deliveries: findSql("deliveries"), notifications: findSql("notifications") } as const

/** `$1`: the ids. `claimed`: the CTEs of what is claimed, the last by this name. */
const claimSql = (claimed: string) => `
  WITH ${claimed}
  SELECT c.id, c."organisationId", c.space AS "spaceId", c.kind, COALESCE(e.url, c.url) AS url,
    c.execution_id AS "executionId", c.payload, c.attempts AS attempt, c.attempts - c.attempts_before AS "scheduledAttempt",
    e.id AS "endpointId", e.secret,
    CASE WHEN e.rotated_at > now() - interval '${Duration.toSeconds(callbackSecretOverlap)} seconds' THEN e.secret_before END AS "secretBefore"
  FROM claimed c LEFT JOIN webhook_endpoints e ON e.id = c.endpoint_id`

const attempted = "attempts = w.attempts + 1"
const claimAloneSql = claimSql(`claimed AS (${leaseSql(kind, "found", attempted)})`)

const boundSql = (bound: "perPartner" | "perAccount") =>
  `CASE WHEN notifies THEN ${outwardPlaces.notifications[bound]} ELSE ${outwardPlaces.deliveries[bound]} END`

/** Of many nodes, which together have the places of one: those with a place beside what all nodes send now. */
const claimAmongSql = claimSql(`busy AS MATERIALIZED (
    SELECT b.*, ${accountSql("b.org")} AS account FROM svc_claimed_deliveries() b
  ), wanted AS (
    SELECT w.id, ${accountSql("w.org")} AS account, w.next_at, ${kind.partner} AS partner, w.kind = 'notification' AS notifies
    FROM deliveries w ${kind.joinsToFind ?? ""} WHERE w.id = ANY($1::text[])
  ), of_partners AS (
    SELECT x.id, x.account, x.next_at, x.notifies FROM (SELECT wanted.*,
      row_number() OVER (PARTITION BY partner, notifies ORDER BY next_at, id)
      + (SELECT COALESCE(sum(b.n), 0) FROM busy b WHERE b.partner = wanted.partner AND b.notifies = wanted.notifies) AS nth
      FROM wanted) x WHERE x.nth <= ${boundSql("perPartner")}
  ), placed AS MATERIALIZED (
    SELECT x.id FROM (SELECT p.*,
      row_number() OVER (PARTITION BY account, notifies ORDER BY next_at, id)
      + (SELECT COALESCE(sum(b.n), 0) FROM busy b WHERE b.account = p.account AND b.notifies = p.notifies) AS nth
      FROM of_partners p) x WHERE x.nth <= ${boundSql("perAccount")}
  ), claimed AS (${leaseSql(kind, { where: "w.id IN (SELECT placed.id FROM placed)" }, attempted)})`)

/** What all nodes send now: the accounts and partners that have all their places. `$1`: whether of notifications. */
const fullSql = `
  WITH busy AS MATERIALIZED (
    SELECT ${accountSql("w.org")} AS account, ${kind.partner} AS partner, w.kind = 'notification' AS notifies
    FROM deliveries w ${kind.joinsToFind ?? ""} WHERE w.status = 'pending' AND w.${leasedUntil(kind)} > now())
  SELECT ARRAY(SELECT account FROM busy WHERE notifies = $1 GROUP BY account, notifies HAVING count(*) >= ${boundSql("perAccount")}) AS accounts,
    ARRAY(SELECT partner FROM busy WHERE notifies = $1 GROUP BY partner, notifies HAVING count(*) >= ${boundSql("perPartner")}) AS partners`
const decodeFull = rowDecoder("deliveries", { accounts: Strings, partners: Strings })

interface FoundRow extends Omit<DueWork, "id"> {
  /** `null`: none may get a place. */
  readonly id: string | null
  readonly skipped: number
}

const foundOf = ({ accountId, id, organisationId, partner }: FoundRow): ReadonlyArray<DueWork> =>
  id === null ? [] : [{ id, organisationId, accountId, partner }]

interface ClaimRow extends Omit<Delivery, "endpoint"> {
  readonly endpointId: DeliveryEndpoint["id"] | null
  readonly secret: Uint8Array | null
  readonly secretBefore: Uint8Array | null
}

const deliveryOf = ({ endpointId, secret, secretBefore, ...row }: ClaimRow): Delivery => ({
  ...row,
  endpoint: endpointId === null || secret === null ? null : { id: endpointId, secret, secretBefore }
})

/**
 * Records an attempt; a delivery that is given up becomes a dead letter. `$3`: the new status; `$4`: the pause before the next attempt; `$7`: milliseconds that it took; `$8`:
 * the endpoint is gone; `$9`: milliseconds of failures after which an endpoint is disabled; `$10`: the URL that was called,
 * since the result says nothing about an endpoint's newer URL.
 */
const recordSql = `
  WITH settled AS (
    ${settleSql(
      kind,
      `last_status = $5, last_error = $6,
      status = CASE WHEN $8 AND endpoint_id IS NOT NULL THEN 'undelivered' ELSE $3 END,
      next_at = CASE WHEN $3 = 'pending' THEN now() + $4 * interval '1 millisecond' ELSE next_at END,
      finished_at = CASE WHEN $3 = 'pending' THEN NULL ELSE now() END`,
      "w.status = 'pending' AND w.attempts = $2"
    )}
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

export const layer = Layer.effect(
  Deliveries,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    yield* endFormerLeases(sql, kind, "status = 'pending'")
    const { isAlone } = yield* Ownership

    /** The room that the other nodes leave. */
    const roomAmong = (use: DeliveryUse, room: Room) =>
      Effect.map(sql.unsafe(fullSql, [use === "notifications"]), (rows): Room => {
        const [full] = rows.map(decodeFull)
        return {
          ...room,
          fullAccounts: [...room.fullAccounts, ...(full?.accounts ?? [])],
          closedPartners: [...room.closedPartners, ...(full?.partners ?? [])]
        }
      })

    const find = Effect.fn("Deliveries.find")(function* (use: DeliveryUse, room: Room) {
      for (;;) {
        // Not decoded, since one row that cannot be read would keep all other deliveries from being sent.
        const rows = yield* castRows<FoundRow>(
          sql.unsafe(findSqls[use], roomValues(isAlone ? room : yield* roomAmong(use, room)))
        )
        const found = rows.flatMap(foundOf)
        // Deliveries that were only set aside may have hidden others.
        if (found.length > 0 || (rows[0]?.skipped ?? 0) === 0) return found
      }
    }, Effect.mapError(databaseUnavailable))

    const claim = Effect.fn("Deliveries.claim")(function* (ids: ReadonlyArray<string>) {
      // Not decoded, for the same reason: a delivery that cannot be sent fails by itself.
      const rows = yield* castRows<ClaimRow>(sql.unsafe(isAlone ? claimAloneSql : claimAmongSql, [ids]))
      return rows.map(deliveryOf)
    }, Effect.mapError(databaseUnavailable))

    const settle = Effect.fn("Deliveries.settle")(function* (
      { attempt, id, url }: Delivery,
      verdict: Verdict,
      duration: Duration.Duration
    ) {
      yield* sql.unsafe(recordSql, [
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
    }, Effect.mapError(databaseUnavailable))

    return Deliveries.of({ find, claim, settle })
  })
)
