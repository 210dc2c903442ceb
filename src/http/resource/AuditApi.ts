/** The endpoints of the audit trail, which only read it. Contract: audit entry and its hash chain. */
import { HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { ActorType, AuditOutcome } from "../../domain/Audit.js"
import { Json } from "../../domain/Json.js"
import { Audited, Permit, auditRead, Scoped, Shared } from "../Endpoint.js"
import { closedToNarrowedKeys } from "./ClosedScope.js"
import { Data, listParams, Page, Time } from "./Shapes.js"

const Text = Schema.NullOr(Schema.String)

/** Has every member that its hash is computed from, so that clients can verify the chain. */
const AuditEntryView = Schema.Struct({
  id: Schema.String,
  organisationId: Schema.String,
  at: Time,
  actor: Schema.Struct({
    type: ActorType,
    id: Schema.String,
    name: Schema.String,
    ip: Text,
    userAgent: Text,
    onBehalfOf: Text
  }),
  action: Schema.String,
  resource: Schema.Struct({ type: Schema.String, id: Text, name: Text }),
  customerId: Text,
  outcome: AuditOutcome,
  requestId: Text,
  changes: Schema.Array(Schema.Struct({ path: Schema.String, before: Json, after: Json })),
  count: Schema.Number,
  commitments: Schema.Array(
    Schema.Struct({ path: Schema.String, hash: Schema.String, salt: Text }).annotations({
      identifier: "AuditCommitment"
    })
  ).annotations({
    description:
      'values of a customer that the hash covers by `{"commitment": hash}` at their path; once the customer is erased, the value is "[erased]" and the salt null'
  }),
  seq: Schema.NullOr(Schema.Number).annotations({ description: "null until the entry is sealed, within a second" }),
  prevHash: Text,
  hash: Text
}).annotations({ identifier: "AuditEntry" })

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

const text = Schema.optional(Schema.String)

/** The audit trail on surface C. */
export const AuditApi = HttpApiGroup.make("audit")
  .add(
    HttpApiEndpoint.get("list", "/api/v1/audit")
      .setUrlParams(
        Schema.Struct({
          ...listParams,
          customer_id: text,
          actor_type: Schema.optional(ActorType),
          actor_id: text,
          action: text,
          resource_type: text,
          resource_id: text
        })
      )
      .addSuccess(Page(AuditEntryView))
      .annotate(Permit, "settings:manage")
      .annotate(Audited, auditRead("audit"))
      .annotate(Shared, "customers")
      .annotate(Scoped, closedToNarrowedKeys)
  )
  .add(
    HttpApiEndpoint.get("verify", "/api/v1/audit/verify")
      .setUrlParams(Schema.Struct({ from: listParams.from, to: listParams.to }))
      .addSuccess(Data(VerificationView))
      .annotate(Permit, "settings:manage")
      .annotate(Audited, auditRead("audit"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, closedToNarrowedKeys)
  )
