/** The rows of events, and of their places in the start queue. */
import type { ReceivedEvent } from "../../../actors/ports/event/EventJournal.js"
import type { RunChange } from "../../../actors/ports/run/Journal.js"
import type { OrganisationVault } from "../../../actors/ports/Vault.js"
import type { Event } from "../../../domain/event/Event.js"
import type { Json } from "../../../domain/Json.js"
import { redactMembers } from "../../../domain/access/SecretNames.js"
import { leaseEnd } from "../LeasedWork.js"
import { startQueue } from "../WorkKinds.js"
import { timestamp } from "./RunColumns.js"

export const eventColumns = {
  id: "text",
  org: "text",
  space: "text",
  class: "smallint",
  source: "text",
  trigger_id: "text",
  connector: "text",
  connection_id: "text",
  customer_id: "text",
  type: "text",
  priority: "smallint",
  status: "text",
  received_at: "timestamptz",
  record: "json",
  payload: "json",
  sealed: "text"
} as const

const columnNames = Object.keys(eventColumns)

const queueExpressions = (special: { readonly [column: string]: string }): string => {
  const values: { readonly [column: string]: string } = { not_before: startsAtOnce, ...special }
  return Object.keys(queueColumns)
    .map((name) => values[name] ?? name)
    .join(", ")
}

/** The expressions that insert these columns: bytes come as base64. */
export const eventValues = columnNames.map((name) => (name === "sealed" ? "decode(sealed, 'base64')" : name)).join(", ")

/** The same if events that meet the condition are held, since their quota is used up. */
export const eventValuesBeyond = (condition: string): string =>
  columnNames
    .map((name) => {
      if (name === "status") return `CASE WHEN ${condition} THEN 'held' ELSE status END`
      if (name === "record")
        return `CASE WHEN ${condition} THEN (record::jsonb || '{"heldBecause": "quota"}')::json ELSE record END`
      return name === "sealed" ? "decode(sealed, 'base64')" : name
    })
    .join(", ")

/** The columns that an event keeps when it is settled, all but its status. */
export const keptEventColumns = columnNames.filter((name) => name !== "status")

/** The place of an event's exact payload, which stays the same when the row is moved. */
export const payloadPlace = (id: string) => ({ table: "events", column: "payload", row: id }) as const

/** Seals the exact payload if the one that is shown is redacted. */
const sealedPayload = (vault: () => OrganisationVault, id: string, payload: Json, shown: Json): string | null =>
  shown === payload ? null : Buffer.from(vault().seal(payloadPlace(id), JSON.stringify(payload))).toString("base64")

export const eventRow = (event: Event, vault: () => OrganisationVault) => {
  const shown = redactMembers(event.payload)
  return {
    id: event.id,
    org: event.organisationId,
    space: event.spaceId,
    class: event.retention,
    source: event.source,
    trigger_id: event.triggerId,
    connector: event.connector,
    connection_id: event.connectionId,
    customer_id: event.customerId,
    type: event.type,
    priority: event.priority,
    status: event.status,
    received_at: timestamp(event.receivedAt),
    record: event.record,
    payload: shown,
    sealed: sealedPayload(vault, event.id, event.payload, shown)
  }
}

/** Whether the row of the event has a sealed payload. */
export const isSealed = ({ payload }: Event): boolean => redactMembers(payload) !== payload

// --- Places in the start queue ---

export const queueColumns = {
  id: "text",
  org: "text",
  shard: "int",
  priority: "smallint",
  flow: "text",
  lane: "text",
  held: "boolean",
  claimed_by: "text",
  claimed_until: "timestamptz",
  claims: "int",
  not_before: "timestamptz"
} as const

/** What enters the queue may start at once, by the clock of Postgres, also if a node's clock is ahead for a moment. */
const startsAtOnce = "LEAST(not_before, now())"

/** The expressions that insert these columns: the lease is counted by the clock of Postgres. */
export const queueValues = queueExpressions({
  claimed_until: `CASE WHEN claimed_by IS NOT NULL THEN ${leaseEnd(startQueue)} END`
})

/** The same if events that meet the condition are held. */
export const queueValuesBeyond = (condition: string): string =>
  queueExpressions({
    held: `held OR ${condition}`,
    claimed_by: `CASE WHEN NOT ${condition} THEN claimed_by END`,
    claimed_until: `CASE WHEN claimed_by IS NOT NULL AND NOT ${condition} THEN ${leaseEnd(startQueue)} END`,
    claims: `CASE WHEN ${condition} THEN 0 ELSE claims END`
  })

export const queuedRunRow = ({ enqueue, id, open, organisationId: org }: RunChange) =>
  enqueue === undefined || open === undefined
    ? []
    : [
        {
          id,
          org,
          shard: open.shard,
          priority: open.priority,
          flow: open.customerId ?? "",
          lane: null,
          held: false,
          claimed_by: null,
          claimed_until: null,
          claims: 0,
          not_before: timestamp(enqueue.notBefore)
        }
      ]

export const queuedEventRow = ({ event, queue }: ReceivedEvent) => ({
  id: event.id,
  org: event.organisationId,
  shard: queue.shard,
  priority: event.priority,
  flow: event.customerId ?? "",
  lane: queue.lane,
  held: queue.held,
  claimed_by: queue.leasedBy,
  claimed_until: null,
  claims: queue.leasedBy === null ? 0 : 1,
  not_before: timestamp(event.receivedAt)
})
