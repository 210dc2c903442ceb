/** The port `Deliveries` on the writer's pool: claims due deliveries and records results. All times are Postgres'. */
import { describe } from "../telemetry/SafeError.js"
import { Duration, Effect, Layer } from "effect"
import { Deliveries } from "../../actors/ports/Deliveries.js"
import { deliveryTimeout, type Delivery, deliveriesInFlight, type Verdict } from "../../domain/Delivery.js"
import { Unavailable } from "../../domain/Failure.js"
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
const endpointSql = "split_part(split_part(url, '#', 1), '?', 1)"

/**
 * Claims the longest-due deliveries, at most `inFlight.perEndpoint` for each endpoint. `$2`: endpoints that are full;
 * `$3` and `$4`: endpoints with deliveries in flight, and how many.
 */
const claimSql = `
  WITH due AS MATERIALIZED (
    SELECT id, next_at, ${endpointSql} AS endpoint FROM deliveries
    WHERE status = 'pending' AND next_at <= now() AND (claimed_until IS NULL OR claimed_until <= now())
      AND NOT ${endpointSql} = ANY($2::text[])
    ORDER BY next_at LIMIT ${maxCandidates}
  ), placed AS (
    SELECT due.id, due.next_at, COALESCE(t.taken, 0) + row_number() OVER (PARTITION BY due.endpoint ORDER BY due.next_at, due.id) AS place
    FROM due LEFT JOIN unnest($3::text[], $4::int[]) AS t(endpoint, taken) USING (endpoint)
  ), chosen AS (
    SELECT d.id FROM deliveries d
    WHERE d.id IN (SELECT id FROM placed WHERE place <= ${deliveriesInFlight.perEndpoint} ORDER BY next_at LIMIT $1)
      AND d.status = 'pending' AND (d.claimed_until IS NULL OR d.claimed_until <= now())
    FOR UPDATE SKIP LOCKED
  )
  UPDATE deliveries d SET claimed_until = now() + $5 * interval '1 millisecond', attempts = d.attempts + 1
  FROM chosen WHERE d.id = chosen.id
  RETURNING d.id, d.org AS "organisationId", d.space AS "spaceId", d.kind, d.url, d.execution_id AS "executionId", d.payload,
    d.attempts AS attempt`

const unavailable = (error: unknown) => new Unavailable({ reason: describe(error), retryAfterSeconds: 1 })

export const layer = ({ isOnlyNode }: DeliveriesOptions) =>
  Layer.effect(
    Deliveries,
    Effect.gen(function* () {
      const sql = yield* WriterSql
      if (isOnlyNode)
        yield* sql`UPDATE deliveries SET claimed_until = NULL WHERE status = 'pending' AND claimed_until > now()`

      const claim = Effect.fn("Deliveries.claim")(function* (slots: number, underWay: ReadonlyMap<string, number>) {
        const busy = [...underWay]
        const full = busy.filter(([, taken]) => taken >= deliveriesInFlight.perEndpoint)
        return yield* sql.unsafe<Delivery>(claimSql, [
          slots,
          full.map(([endpoint]) => endpoint),
          busy.map(([endpoint]) => endpoint),
          busy.map(([, taken]) => taken),
          Duration.toMillis(lease)
        ])
      }, Effect.mapError(unavailable))

      const settle = Effect.fn("Deliveries.settle")(function* ({ attempt, id }: Delivery, verdict: Verdict) {
        const claimedByUs = sql`id = ${id} AND status = 'pending' AND attempts = ${attempt}`
        switch (verdict._tag) {
          case "Delivered":
            yield* sql`UPDATE deliveries SET status = 'delivered', finished_at = now(), claimed_until = NULL,
              last_status = ${verdict.status}, last_error = NULL WHERE ${claimedByUs}`
            break
          case "Exhausted":
            yield* sql`UPDATE deliveries SET status = 'exhausted', finished_at = now(), claimed_until = NULL,
              last_status = ${verdict.status}, last_error = ${verdict.reason} WHERE ${claimedByUs}`
            break
          case "Retry":
            yield* sql`UPDATE deliveries SET next_at = now() + ${Duration.toMillis(verdict.after)} * interval '1 millisecond',
              claimed_until = NULL, last_status = ${verdict.status}, last_error = ${verdict.reason} WHERE ${claimedByUs}`
        }
      }, Effect.mapError(unavailable))

      return Deliveries.of({ claim, settle })
    })
  )
