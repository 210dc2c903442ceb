/** Entries of the audit trail. Specification: Audit log; contract: audit entry and its hash chain. */
import { Schema } from "effect"
import { NullableText } from "../Scalars.js"
import { AuditId, CustomerId, OrganisationId } from "../Ids.js"
import { canonicalJson, Json } from "../Json.js"
import { derivedValue, generatedValue, recordOf } from "../Record.js"
import { AnsweredTime } from "../Time.js"

/** Who acts, as entries name it: `service_account` for API keys, `system` for the service itself. */
export const ActorType = Schema.Literal("user", "service_account", "agent", "system")
export type ActorType = typeof ActorType.Type
/** `denied`: the caller may not do it. `failure`: refused or failed for any other reason. */
export const AuditOutcome = Schema.Literal("success", "failure", "denied")
export type AuditOutcome = typeof AuditOutcome.Type

/** The actor of an entry. API keys are service accounts with a name of their own. */
export const AuditActor = Schema.Struct({
  type: ActorType,
  id: Schema.String,
  name: Schema.String,
  ip: NullableText,
  userAgent: NullableText,
  onBehalfOf: NullableText
})
export type AuditActor = typeof AuditActor.Type

/** One changed member of a record. */
export const AuditChange = Schema.Struct({ path: Schema.String, before: Json, after: Json })
export type AuditChange = typeof AuditChange.Type

/** Where an entry has a commitment instead of a value. `salt`: null once the value is erased. */
export const AuditCommitment = Schema.Struct({
  /** Such as `resource.name` or `changes[0].after`. */
  path: Schema.String,
  hash: Schema.String,
  salt: NullableText
}).annotations({ identifier: "AuditCommitment" })
export type AuditCommitment = typeof AuditCommitment.Type

/**
 * An entry: as it is written, before it is sealed into its organisation's chain, and its view, which has every member that
 * its hash is computed from, so that clients can verify the chain.
 */
export const AuditEntry = recordOf("AuditEntry", {
  id: generatedValue(AuditId, Schema.String),
  organisationId: generatedValue(OrganisationId, Schema.String),
  at: generatedValue(AnsweredTime),
  actor: generatedValue(AuditActor),
  action: generatedValue(Schema.String),
  resource: generatedValue(Schema.Struct({ type: Schema.String, id: NullableText, name: NullableText })),
  customerId: generatedValue(Schema.NullOr(CustomerId), NullableText),
  outcome: generatedValue(AuditOutcome),
  requestId: generatedValue(NullableText),
  changes: generatedValue(Schema.Array(AuditChange)),
  /** Occurrences: reads of one minute are one entry. */
  count: generatedValue(Schema.Number),
  commitments: derivedValue(
    Schema.Array(AuditCommitment).annotations({
      description:
        'values of a customer that the hash covers by `{"commitment": hash}` at their path; once the customer is erased, the value is "[erased]" and the salt null'
    })
  ),
  seq: derivedValue(
    Schema.NullOr(Schema.Number).annotations({ description: "null until the entry is sealed, within a second" })
  ),
  prevHash: derivedValue(NullableText),
  hash: derivedValue(NullableText)
})
/** The entry as it is written. */
export type AuditEntry = typeof AuditEntry.stored.Type
/** An entry with its place in the chain; all three are `null` until it is sealed, within a second. */
export type SealedEntry = AuditEntry & Pick<typeof AuditEntry.View.Type, "commitments" | "seq" | "prevHash" | "hash">

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
