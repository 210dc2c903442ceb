/** What is recorded of a change of a connection: the domain event and the audit entry. */
import { changesBetween } from "../../domain/audit/Audit.js"
import { connectionView, type Connection } from "../../domain/connection/Connection.js"
import type { Identifiers } from "../ports/Identifiers.js"
import type { ConnectionChange, DomainEvent } from "../ports/connection/ConnectionStore.js"
import type { ChangeOptions } from "./ConnectionOwner.js"

/** Where the ids of records come from. */
interface IdentifierSource {
  readonly identifiers: Identifiers["Type"]
}

/** The event that tells others of a change; none without a type. */
export const eventsOf = (
  { identifiers }: IdentifierSource,
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
export const auditOf = (
  { identifiers }: IdentifierSource,
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
