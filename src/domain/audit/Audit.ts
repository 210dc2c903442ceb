/** Entries of the audit trail. Specification: Audit log; contract: audit entry and its hash chain. */
import { Schema } from "effect"
import type { AuditId, CustomerId, OrganisationId } from "../Ids.js"
import { canonicalJson, type Json } from "../Json.js"

/** Who acts, as entries name it: `service_account` for API keys, `system` for the service itself. */
export const ActorType = Schema.Literal("user", "service_account", "agent", "system")
export type ActorType = typeof ActorType.Type
/** `denied`: the caller may not do it. `failure`: refused or failed for any other reason. */
export const AuditOutcome = Schema.Literal("success", "failure", "denied")
export type AuditOutcome = typeof AuditOutcome.Type

/** The actor of an entry. API keys are service accounts with a name of their own. */
export interface AuditActor {
  readonly type: ActorType
  readonly id: string
  readonly name: string
  readonly ip: string | null
  readonly userAgent: string | null
  readonly onBehalfOf: string | null
}

/** One changed member of a record. */
export interface AuditChange {
  readonly path: string
  readonly before: Json
  readonly after: Json
}

/** An entry as it is written, before it is sealed into its organisation's chain. */
export interface AuditEntry {
  readonly id: AuditId
  readonly organisationId: OrganisationId
  /** RFC 3339. */
  readonly at: string
  readonly actor: AuditActor
  readonly action: string
  readonly resource: { readonly type: string; readonly id: string | null; readonly name: string | null }
  readonly customerId: CustomerId | null
  readonly outcome: AuditOutcome
  readonly requestId: string | null
  readonly changes: ReadonlyArray<AuditChange>
  /** Occurrences: reads of one minute are one entry. */
  readonly count: number
}

const secretMembers = new Set([
  "secret",
  "key",
  "hash",
  "sealed",
  "value",
  "credential",
  "clientSecret",
  "source",
  "code"
])
const redacted = "[redacted]"

/** The members that differ between two versions of a record; values of secret members are redacted. */
export const changesBetween = (
  before: { readonly [member: string]: Json | undefined } | null,
  after: { readonly [member: string]: Json | undefined } | null
): ReadonlyArray<AuditChange> => {
  const members = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])
  const changes: Array<AuditChange> = []
  for (const path of members) {
    if (path === "updatedAt" || path === "version") continue
    const previous = before?.[path] ?? null
    const next = after?.[path] ?? null
    if (canonicalJson(previous) === canonicalJson(next)) continue
    changes.push(
      secretMembers.has(path)
        ? { path, before: previous === null ? null : redacted, after: next === null ? null : redacted }
        : { path, before: previous, after: next }
    )
  }
  return changes
}
