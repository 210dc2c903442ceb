/** What is recorded of a change of a connection: the domain event and the audit entry. */
import { changesBetween } from "../../domain/audit/Audit.js"
import { connectionView, type Connection } from "../../domain/connection/Connection.js"
import { Effect } from "effect"
import { Identifiers } from "../ports/Identifiers.js"
import type { ConnectionChange, DomainEvent } from "../ports/connection/ConnectionStore.js"
import type { ChangeOptions } from "./ConnectionOwner.js"

/** Makes the records of changes. */
export const makeChangeRecords = Effect.gen(function* () {
  const identifiers = yield* Identifiers

  /** The event that tells others of a change; none without a type. */
  const eventsOf = (
    type: string | null,
    { connector, customerId, id, organisationId, health, status }: Connection,
    at: string
  ) =>
    type === null
      ? []
      : [
          {
            id: identifiers.next("evt"),
            organisationId,
            type,
            subject: id,
            customerId,
            payload: {
              connectionId: id,
              connector,
              customerId,
              status,
              reason: health.lastError,
              reconnect: `/api/v1/connections/${id}/reconnect`
            },
            at
          } satisfies DomainEvent
        ]

  /** The audit entry of a change; none if no one asked for it. */
  const auditOf = (
    entry: ChangeOptions["audit"],
    before: Connection | null,
    after: Connection,
    at: string
  ): ConnectionChange["audit"] =>
    entry === undefined
      ? []
      : [
          {
            id: identifiers.next("aud"),
            organisationId: after.organisationId,
            at,
            actor: entry.by.actor,
            action: entry.action,
            resource: { type: entry.action.split(".")[0] ?? "connection", id: after.id, name: after.label },
            customerId: after.customerId,
            outcome: "success",
            requestId: entry.by.requestId,
            changes: changesBetween(before === null ? null : connectionView(before), connectionView(after)),
            count: 1
          }
        ]

  return { eventsOf, auditOf }
})
