/** The immutable trail of who did what. Specification: Audit log; contract: audit entry and its hash chain. */
import { Schema } from "effect"
import type { AuditId, CustomerId, OrganisationId } from "./Ids.js"
import { canonicalJson, type Json } from "./Json.js"

export const ActorType = Schema.Literal("user", "service_account", "agent", "system")
export type ActorType = typeof ActorType.Type
export const AuditOutcome = Schema.Literal("success", "failure", "denied")
export type AuditOutcome = typeof AuditOutcome.Type

/** Who acted. API keys are service accounts and act under their own name. */
export interface AuditActor {
  readonly type: ActorType
  readonly id: string
  readonly name: string
  readonly ip: string | null
  readonly userAgent: string | null
  readonly onBehalfOf: string | null
}

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
  /** How many times it happened: reads are counted by the minute. */
  readonly count: number
}

/** What the hash of a sealed entry is taken of: the hash before it, a line feed, and the entry with its place. */
export const sealText = (prevHash: string | null, seq: number, entry: AuditEntry): string =>
  `${prevHash ?? ""}\n${canonicalJson({ ...entry, seq, prevHash })}`

const hidden = new Set(["secret", "key", "hash", "sealed", "value", "credential", "clientSecret", "source", "code"])
const redacted = "[redacted]"

/** What changed between two versions of a record, member by member; secrets only as having changed. */
export const changesBetween = (
  before: { readonly [member: string]: Json | undefined } | null,
  after: { readonly [member: string]: Json | undefined } | null
): ReadonlyArray<AuditChange> => {
  const members = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])
  const changes: Array<AuditChange> = []
  for (const path of members) {
    if (path === "updatedAt" || path === "version") continue
    const old = before?.[path] ?? null
    const now = after?.[path] ?? null
    if (canonicalJson(old) === canonicalJson(now)) continue
    changes.push(
      hidden.has(path)
        ? { path, before: old === null ? null : redacted, after: now === null ? null : redacted }
        : { path, before: old, after: now }
    )
  }
  return changes
}
