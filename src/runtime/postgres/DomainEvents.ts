/** The port `DomainEvents` on the writer's pool. */
import { Effect, Layer } from "effect"
import type { DomainEvent } from "../../actors/ports/ConnectionStore.js"
import { DomainEvents, type PublishedEvent } from "../../actors/ports/DomainEvents.js"
import { Unavailable } from "../../domain/Failure.js"
import type { EventId } from "../../domain/Ids.js"
import { describe } from "../telemetry/SafeError.js"
import { WriterSql } from "./Pools.js"

/** `$1`: the ids of the events; `$2`: their deliveries as JSON. */
const publishSql = `
  WITH locked AS (
    SELECT id FROM domain_events WHERE id = ANY($1::text[]) ORDER BY id FOR UPDATE SKIP LOCKED
  ), gone AS (
    DELETE FROM domain_events e USING locked WHERE e.id = locked.id RETURNING e.id, e.org, e.type, e.customer_id
  ), sent AS (
    INSERT INTO deliveries (id, org, kind, url, endpoint_id, event_type, customer_id, payload)
    SELECT d.id, gone.org, 'outbound', d.url, d.endpoint_id, gone.type, gone.customer_id, d.payload
    FROM json_to_recordset($2::json) AS d (event text, id text, endpoint_id text, url text, payload text)
    JOIN gone ON gone.id = d.event
  )
  SELECT id FROM gone`

const deliveryRows = ({ deliveries, event }: PublishedEvent) =>
  deliveries.map(({ endpoint, id, payload }) => ({
    event: event.id,
    id,
    endpoint_id: endpoint.id,
    url: endpoint.url,
    payload
  }))

interface EventRow extends Omit<DomainEvent, "at"> {
  readonly at: Date
}

const unavailable = (error: unknown) => new Unavailable({ reason: describe(error), retryAfterSeconds: 1 })

export const layer = Layer.effect(
  DomainEvents,
  Effect.gen(function* () {
    const sql = yield* WriterSql

    return DomainEvents.of({
      pending: (limit) =>
        sql<EventRow>`SELECT id, org AS "organisationId", type, subject, customer_id AS "customerId", payload, at
          FROM domain_events ORDER BY id LIMIT ${limit}`.pipe(
          Effect.map((rows) => rows.map((row) => ({ ...row, at: row.at.toISOString() }))),
          Effect.mapError(unavailable)
        ),
      publish: (events) =>
        sql
          .unsafe<{ readonly id: EventId }>(publishSql, [
            events.map(({ event }) => event.id),
            JSON.stringify(events.flatMap(deliveryRows))
          ])
          .pipe(
            Effect.map((rows) => rows.map(({ id }) => id)),
            Effect.mapError(unavailable)
          )
    })
  })
)
