/**
 * Approvals: a run asks people and waits until the first of them decides, or until it expires.
 * Contract: execution state machine; what it leaves open: decisions/0045.
 */
import { Duration, Schema } from "effect"
import { AuditActor } from "../audit/Audit.js"
import { ApprovalId, CustomerId, ExecutionId, OrganisationId, SpaceId, WorkflowId } from "../Ids.js"
import { approvalLimits } from "../Limits.js"
import { generatedValue, hidden, owner, recordOf } from "../Record.js"
import { NullableText } from "../Scalars.js"
import { AnsweredTime } from "../Time.js"
import { settingsReader } from "./CallSettings.js"
import { tiers } from "./Execution.js"

/** `closed`: its run ended first. Only `open` changes. */
export const ApprovalStatus = Schema.Literal("open", "approved", "rejected", "expired", "closed")

export const ApprovalDecision = Schema.Literal("approve", "reject")
export type ApprovalDecision = typeof ApprovalDecision.Type

const { commentLength, messageLength } = approvalLimits
const text = (most: number) => Schema.String.pipe(Schema.maxLength(most))

/** An approval: its record and view. Times are RFC 3339. */
export const Approval = recordOf("Approval", {
  id: generatedValue(ApprovalId, Schema.String),
  organisationId: owner(OrganisationId),
  spaceId: owner(SpaceId),
  executionId: generatedValue(ExecutionId, Schema.String),
  workflowId: generatedValue(WorkflowId, Schema.String),
  workflowName: generatedValue(Schema.String),
  environment: generatedValue(Schema.String),
  customerId: generatedValue(Schema.NullOr(CustomerId), NullableText),
  /** Identifies the call of the run. */
  key: hidden(Schema.String),
  name: generatedValue(
    Schema.String.annotations({ description: "The name that the workflow gives it, else the path of its step." })
  ),
  message: generatedValue(Schema.String),
  approvers: generatedValue(Schema.Array(Schema.String)),
  status: generatedValue(ApprovalStatus),
  onExpire: generatedValue(ApprovalDecision),
  decision: generatedValue(Schema.NullOr(ApprovalDecision)),
  comment: generatedValue(NullableText),
  actor: generatedValue(
    NullableText.annotations({
      description: "The approver who decided: who has signed in, or whom the key of the decision names."
    })
  ),
  /** Who sent the decision: the key that claims the actor, or the person who used a link. */
  decidedBy: generatedValue(Schema.NullOr(AuditActor.pick("type", "id", "name"))),
  expiresAt: generatedValue(AnsweredTime),
  decidedAt: generatedValue(Schema.NullOr(AnsweredTime)),
  createdAt: generatedValue(AnsweredTime)
})
/** The stored approval. */
export type Approval = typeof Approval.stored.Type

/** The body of a decision. */
export const DecideApproval = Schema.Struct({
  decision: ApprovalDecision,
  comment: Schema.optional(Schema.NullOr(text(commentLength))),
  actor: Schema.optional(
    Schema.String.pipe(Schema.minLength(1), Schema.maxLength(320)).annotations({
      description:
        "One of the approvers: an e-mail address or a user's id. A key names one; who has signed in decides as itself, and may leave it out."
    })
  )
}).annotations({ identifier: "ApprovalDecision" })
export type DecideApproval = typeof DecideApproval.Type

// --- Requests of runs ---

const longest = Duration.toMillis(tiers.long.ceiling)

/** Members that a step and a call of code share. */
export const approvalSettings = {
  approvers: Schema.Array(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(320))).pipe(
    Schema.minItems(1),
    Schema.maxItems(approvalLimits.approvers)
  ),
  message: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(messageLength)),
  expiresInMs: Schema.Int.pipe(
    Schema.between(1_000, longest, { message: () => `must be an integer from 1000 to ${longest}: 36 hours` })
  ),
  onExpire: ApprovalDecision
} as const

const RunApproval = Schema.Struct({
  name: Schema.optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200))),
  approvers: approvalSettings.approvers,
  message: approvalSettings.message,
  expiresInMs: Schema.optional(Schema.NullOr(approvalSettings.expiresInMs)),
  onExpire: Schema.optional(Schema.NullOr(approvalSettings.onExpire))
})
/** What a run asks with `svc.approval`. */
export type RunApproval = typeof RunApproval.Type

/** What a run asks, or what is wrong with it. */
export const runApproval = settingsReader(RunApproval)

/** What is left to a run for its reaction to an approval that expires by itself. */
const reserveMillis = 60_000

/**
 * When an approval expires: at the latest when its run ends. Without a time of its own a little earlier, so that the run
 * can still react. All in Unix milliseconds.
 */
export const expiryOf = ({ expiresInMs }: RunApproval, now: number, deadlineAt: number): number => {
  const left = Math.max(0, deadlineAt - now)
  const most = left - Math.min(reserveMillis, Math.floor(left / 10))
  return now + (expiresInMs === undefined || expiresInMs === null ? most : Math.min(expiresInMs, left))
}
