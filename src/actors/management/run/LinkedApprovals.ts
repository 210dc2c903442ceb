/**
 * Use cases of people who have the one-time link of an approval: read the question, decide. The link stands for its
 * receiver, who must still be an approver.
 */
import { DateTime, Effect, Option } from "effect"
import { changesBetween, type AuditActor } from "../../../domain/audit/Audit.js"
import { type Failure, NotFound, Unavailable } from "../../../domain/Failure.js"
import { Approval, type ApprovalDecision } from "../../../domain/run/Approval.js"
import { Identifiers } from "../../ports/Identifiers.js"
import { Records } from "../../ports/Records.js"
import { ApprovalLinks } from "../../ports/run/ApprovalLinks.js"
import { decide, isApprover } from "./ApprovalDecisions.js"

/** A decision by a link, with where its request came from. */
export interface LinkedDecision extends Pick<AuditActor, "ip" | "userAgent"> {
  readonly decision: ApprovalDecision
  readonly comment: string | null
}

const ended = () => new NotFound({ what: "approval" })

const make = Effect.gen(function* () {
  const links = yield* ApprovalLinks
  const records = yield* Records
  const identifiers = yield* Identifiers

  /** The approval of a link; it may be decided already. */
  const find = Effect.fnUntraced(function* (tokenHash: string): Effect.fn.Return<Approval, Failure> {
    const link = yield* links.find(tokenHash)
    if (link === undefined) return yield* ended()
    const found = yield* records.transact(link.organisationId, (tx) => tx.approvals.find({ id: link.approvalId }))
    return Option.isSome(found) ? found.value : yield* ended()
  })

  /** Decides with the audit entry. Fails with `InvalidState` when it is too late. */
  const decideOne = Effect.fnUntraced(function* (
    tokenHash: string,
    { comment, decision, ip, userAgent }: LinkedDecision
  ): Effect.fn.Return<Approval, Failure> {
    const link = yield* links.find(tokenHash)
    if (link === undefined) return yield* ended()
    const { address, organisationId, userId } = link
    const by = { type: "user", id: userId ?? address, name: address } as const
    return yield* records
      .transact(organisationId, (tx) =>
        Effect.gen(function* () {
          const found = yield* tx.approvals.find({ id: link.approvalId })
          if (Option.isNone(found) || !(yield* isApprover(tx, found.value, address))) return yield* ended()
          const before = found.value
          const after = yield* decide(tx, before, { decision, comment, actor: address, by })
          yield* tx.audit({
            id: identifiers.next("aud"),
            organisationId,
            at: DateTime.formatIso(yield* DateTime.now),
            actor: { ...by, ip, userAgent, onBehalfOf: null },
            action: "approval.decide",
            resource: { type: "approval", id: before.id, name: before.name },
            customerId: before.customerId,
            outcome: "success",
            requestId: null,
            changes: changesBetween(Approval.show(before), Approval.show(after)),
            count: 1
          })
          return after
        })
      )
      .pipe(
        Effect.catchTags({
          // It has no unique members and no version.
          AlreadyExists: () => new Unavailable({ reason: "the decision was not stored", retryAfterSeconds: 1 }),
          Changed: () => new Unavailable({ reason: "the decision was not stored", retryAfterSeconds: 1 })
        })
      )
  })

  return { find, decide: decideOne }
})

export class LinkedApprovals extends Effect.Service<LinkedApprovals>()("svc/LinkedApprovals", { effect: make }) {}
