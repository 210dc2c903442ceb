/** The operations on the audit trail, which only read it. Contract: audit entry and its hash chain. */
import { Schema } from "effect"
import { AuditEntry } from "../../domain/audit/Audit.js"
import { operationsOf } from "../operation/Operation.js"
import { closedToNarrowedKeys } from "../ClosedScope.js"
import { Time } from "../Shapes.js"
import { listParams } from "../../actors/management/Pages.js"
import { AuditList, AuditLog } from "../../actors/management/AuditLog.js"
import { record, page } from "../operation/Output.js"

const ChainEndView = Schema.Struct({ seq: Schema.Number, hash: Schema.String })

const VerificationView = Schema.Struct({
  ok: Schema.Boolean,
  checked: Schema.Number,
  firstBadSeq: Schema.NullOr(Schema.Number),
  checkpoint: Schema.NullOr(
    Schema.Struct({
      organisationId: Schema.String,
      seq: Schema.Number,
      hash: Schema.String,
      at: Time,
      signature: Schema.String
    })
  ),
  unsealed: Schema.Number.annotations({ description: "Entries that are not sealed yet." }),
  oldestUnsealed: Schema.NullOr(Schema.Struct({ id: Schema.String, at: Time })).annotations({
    description: "The oldest of them. When it is older than ten seconds, `ok` is false."
  }),
  closedBranches: Schema.Array(
    Schema.Struct({
      organisationId: Schema.String,
      at: Time,
      closed: ChainEndView,
      resumed: Schema.NullOr(ChainEndView),
      signature: Schema.String
    }).annotations({ identifier: "ClosedAuditBranch" })
  ).annotations({
    description:
      "Older data was put in place of newer, as by a restore: the entries behind `resumed` up to `closed` are gone. This does not make `ok` false."
  })
}).annotations({ identifier: "AuditVerification" })

const ofAuditLog = operationsOf({
  with: AuditLog,
  resource: "audit",
  sharing: "customers",
  scoped: closedToNarrowedKeys,
  permit: "settings:manage"
})

/** The operations of the group `audit`, in the order of the documents. */
export const auditOperations = [
  ofAuditLog({
    name: "audit.list",
    summary: "List audit entries",
    description: "Lists audit entries, newest first. Each has all members that its hash is computed from.",
    answers: { 200: "A page of audit entries." },
    parameters: {
      actor_type: "Only entries of this type of actor.",
      actor_id: "Only entries of this actor.",
      action: "Only entries of this action.",
      resource_type: "Only entries about this type of record.",
      resource_id: "Only entries about this record."
    },
    route: "GET /api/v1/audit",
    query: AuditList,
    output: page(AuditEntry.View),
    use: (log, { context, query }) => log.list(context, query)
  }),
  ofAuditLog({
    name: "audit.verify",
    summary: "Verify the audit trail",
    description:
      "Recomputes the chain of hashes and reports the first entry that does not match, and the entries that are not yet sealed.",
    answers: { 200: "The outcome of the verification." },
    route: "GET /api/v1/audit/verify",
    query: Schema.Struct({ from: listParams.from, to: listParams.to }),
    output: record(VerificationView),
    sharing: "hidden",
    use: (log, { context, query }) => log.verify(context, query)
  })
] as const
