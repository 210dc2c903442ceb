/** How approvals are decided, by the API and by links: the first decision commits, every later one is refused. */
import { DateTime, Effect, Option } from "effect"
import { type Failure, InvalidState, NotFound } from "../../../domain/Failure.js"
import type { UserId } from "../../../domain/Ids.js"
import type { Approval, ApprovalDecision } from "../../../domain/run/Approval.js"
import type { AlreadyExists, Changed, Tx } from "../../ports/Records.js"

/** A decision. `actor`: the approver; `by`: who sent it. */
export interface Decision {
  readonly decision: ApprovalDecision
  readonly comment: string | null
  readonly actor: string
  readonly by: NonNullable<Approval["decidedBy"]>
}

const refusals: { readonly [status in Exclude<Approval["status"], "open">]: string } = {
  approved: "it is approved already",
  rejected: "it is rejected already",
  expired: "its time is over",
  closed: "its run has ended"
}
const notOpen = (status: Exclude<Approval["status"], "open">) =>
  new InvalidState({ state: status, message: `the approval cannot be decided any more: ${refusals[status]}` })

/** Decides an open approval and wakes its run. Locks the run before the approval, as the run does. */
export const decide = Effect.fnUntraced(function* (
  tx: Tx,
  found: Approval,
  { actor, by, comment, decision }: Decision
): Effect.fn.Return<Approval, Failure | AlreadyExists | Changed> {
  if (found.status !== "open") return yield* notOpen(found.status)
  if (!(yield* tx.wakeRun(found.executionId))) return yield* notOpen("closed")
  const locked = yield* tx.approvals.lock({ id: found.id })
  if (Option.isNone(locked)) return yield* new NotFound({ what: "approval" })
  const approval = locked.value
  if (approval.status !== "open") return yield* notOpen(approval.status)
  const now = yield* DateTime.now
  if (Date.parse(approval.expiresAt) <= DateTime.toEpochMillis(now)) return yield* notOpen("expired")
  const decided: Approval = {
    ...approval,
    status: decision === "approve" ? "approved" : "rejected",
    decision,
    comment,
    actor,
    decidedBy: by,
    decidedAt: DateTime.formatIso(now)
  }
  yield* tx.approvals.update(decided)
  return decided
})

/** Whether a person is one of the approvers: named by address or id, or a user with a role that is named. */
export const isApprover = Effect.fnUntraced(function* (tx: Tx, { approvers }: Approval, actor: string) {
  const named = new Set(approvers.map((one) => one.toLowerCase()))
  const lower = actor.toLowerCase()
  const byId = yield* tx.users.find({ id: actor as UserId }) // unchecked text from the request
  const user = Option.getOrUndefined(
    Option.isSome(byId) ? byId : yield* tx.users.find({ email: actor === lower ? actor : [actor, lower] })
  )
  if (user === undefined) return lower.includes("@") && named.has(lower)
  if (user.status === "disabled") return false
  if ([user.id, user.email.toLowerCase(), user.roleId].some((one) => named.has(one))) return true
  const role = Option.getOrUndefined(yield* tx.roles.find({ id: user.roleId }))
  return role !== undefined && named.has(role.name.toLowerCase())
})
