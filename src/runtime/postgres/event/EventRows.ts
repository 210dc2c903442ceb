/** Reads rows of events and opens their sealed payloads. */
import { Effect, Schema } from "effect"
import type { Vault } from "../../../actors/ports/Vault.js"
import { Event } from "../../../domain/event/Event.js"
import type { Json } from "../../../domain/Json.js"
import { payloadPlace } from "../journal/EventRow.js"

/** The columns of an event under the names of its members; a time as Unix milliseconds. */
export const selectEvent = (table: string): string =>
  [
    `${table}.id`,
    `${table}.org AS "organisationId"`,
    `${table}.space AS "spaceId"`,
    `${table}.class AS retention`,
    `${table}.source`,
    `${table}.trigger_id AS "triggerId"`,
    `${table}.connector`,
    `${table}.connection_id AS "connectionId"`,
    `${table}.customer_id AS "customerId"`,
    `${table}.type`,
    `${table}.priority`,
    `${table}.status`,
    `floor(extract(epoch FROM ${table}.received_at) * 1000)::float8 AS "receivedAt"`,
    `${table}.record`,
    `${table}.payload`,
    `${table}.sealed`
  ].join(", ")

/** A row of these columns. */
export const EventRow = Schema.Struct({ ...Event.fields, sealed: Schema.NullOr(Schema.Uint8ArrayFromSelf) })
export type EventRow = typeof EventRow.Type

/** The exact payload of a row that is shown as `payload`. */
export const exactPayload = (
  vault: Vault["Type"],
  { id, organisationId, payload, sealed }: Pick<EventRow, "id" | "organisationId" | "payload" | "sealed">
) =>
  sealed === null
    ? Effect.succeed(payload)
    : Effect.map(vault.of(organisationId), (opened): Json =>
        // Sealed by the flush that wrote the row: JSON.
        JSON.parse(Buffer.from(opened.open(payloadPlace(id), sealed)).toString())
      )

/** The event of a row, with its exact payload. */
export const eventOfRow = (vault: Vault["Type"], row: EventRow) =>
  Effect.map(exactPayload(vault, row), (payload): Event => {
    const { sealed: _sealed, ...event } = row
    return { ...event, payload }
  })
