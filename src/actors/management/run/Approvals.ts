/** Use cases of approvals: list them, decide one. Contract: execution state machine. */
import { Effect, Option, Schema } from "effect"
import { actorOf } from "../../../domain/access/Caller.js"
import { claimedPerson } from "../../../domain/access/Person.js"
import { type Failure, invalid, NotFound, refuseWith } from "../../../domain/Failure.js"
import { Approval, ApprovalStatus, type DecideApproval } from "../../../domain/run/Approval.js"
import type { Tx } from "../../ports/Records.js"
import type { CallContext } from "../CallContext.js"
import { outOfScope, type Principal, scopedIds } from "../Caller.js"
import { Changes } from "../Changes.js"
import { customerListFilter } from "../organisation/CustomerRecords.js"
import { listQuery, optionalText, Pages } from "../Pages.js"
import { decide, isApprover } from "./ApprovalDecisions.js"

export const ApprovalList = listQuery({
  status: Schema.optional(ApprovalStatus),
  execution_id: optionalText,
  customer_id: optionalText
})
type ApprovalList = typeof ApprovalList.Type

/** A key's scope applies to an approval by its run's workflow and environment. */
const scopeRefusal = (caller: Principal, { environment, workflowId }: Approval) =>
  outOfScope(caller, "workflow", workflowId) ?? outOfScope(caller, "environment", environment)

/** The approval of an execution, if the caller reaches both. */
const findApproval = Effect.fnUntraced(function* (tx: Tx, caller: Principal, executionId: string, id: string) {
  // Unchecked texts from the request.
  const found = yield* tx.approvals.find({
    id: id as Approval["id"],
    executionId: executionId as Approval["executionId"],
    spaceId: caller.spaceId,
    ...(caller.customers === "all" ? {} : { customerId: [...caller.customers] })
  })
  if (Option.isNone(found)) return yield* new NotFound({ what: "approval" })
  yield* refuseWith(scopeRefusal(caller, found.value))
  return found.value
})

const notAnApprover = () => invalid("actor", "NOT_AN_APPROVER", "is none of the approvers")

/**
 * The approver as whom the caller decides: a person who has signed in decides as itself, a key names the approver. Fails with
 * `ValidationFailed` if a person names somebody else, if a key names no one, or if the approval has no such approver.
 */
const approverOf = Effect.fnUntraced(function* (
  tx: Tx,
  { person }: Principal,
  approval: Approval,
  named: string | undefined
): Effect.fn.Return<string, Failure> {
  if (person === null) {
    if (named === undefined) return yield* invalid("actor", "REQUIRED", "names the approver who decides")
    return (yield* isApprover(tx, approval, named)) ? named : yield* notAnApprover()
  }
  const own = yield* tx.users.find({ id: person.userId })
  if (Option.isNone(own)) return yield* notAnApprover()
  const address = yield* claimedPerson(own.value, named)
  return (yield* isApprover(tx, approval, person.userId)) ? address : yield* notAnApprover()
})

const make = Effect.gen(function* () {
  const { change, read } = yield* Changes
  const pages = yield* Pages

  /** Newest first. */
  const list = (context: CallContext, params: ApprovalList) =>
    read(context, function* (tx) {
      const { caller } = context
      const { customer_id, execution_id, status } = params
      const [workflows, environments] = [scopedIds(caller, "workflow"), scopedIds(caller, "environment")]
      return yield* pages.views(
        tx.approvals,
        params,
        {
          where: {
            spaceId: caller.spaceId,
            ...(yield* customerListFilter(tx, caller, customer_id)),
            // Ids that the caller's key names.
            ...(workflows === undefined ? {} : { workflowId: workflows as ReadonlyArray<Approval["workflowId"]> }),
            ...(environments === undefined ? {} : { environment: environments })
          },
          // Unchecked text from the request.
          filters: { status, executionId: execution_id as Approval["executionId"] | undefined },
          searchIn: ["name", "message"]
        },
        (one) => Approval.show(one)
      )
    })

  /** Decides an approval of the execution as one of its approvers. */
  const decideOne = (
    context: CallContext,
    executionId: string,
    id: string,
    { actor: named, comment = null, decision }: DecideApproval
  ) =>
    change(context, function* (tx) {
      const { caller } = context
      const found = yield* findApproval(tx, caller, executionId, id)
      const actor = yield* approverOf(tx, caller, found, named)
      const by = actorOf(caller)
      const after = yield* decide(tx, found, {
        decision,
        comment,
        actor,
        by: { type: by.type, id: by.id, name: by.name }
      })
      const { customerId, name } = found
      return {
        value: Approval.show(after),
        resource: { id: found.id, name, customerId },
        before: Approval.show(found),
        after: Approval.show(after)
      }
    })

  return { list, decide: decideOne }
})

export class Approvals extends Effect.Service<Approvals>()("svc/Approvals", { effect: make }) {}
