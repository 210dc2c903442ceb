/** What a start takes from its caller, and the audit entry that commits with it. */
import { Effect } from "effect"
import { actorOf } from "../../../domain/access/Caller.js"
import type { AuditEntry } from "../../../domain/audit/Audit.js"
import type { ExecutionId } from "../../../domain/Ids.js"
import { Identifiers } from "../../ports/Identifiers.js"
import type { StartRequest } from "../../ports/run/Executions.js"
import { type Principal, runReach } from "../Caller.js"

/** The members of a start that its caller decides, who waits for it. */
export const startBy = (caller: Principal) =>
  ({
    retention: caller.plan.retentionDays,
    accountId: caller.accountId,
    concurrentRuns: caller.plan.concurrentRuns,
    priority: 1,
    reach: runReach(caller),
    trigger: { type: caller.starter.personId === undefined ? "api" : "manual", ...caller.starter }
  }) satisfies Partial<StartRequest>

/** A start as the trail names it. `at`: RFC 3339. `more`: changes beside the id of the run. */
interface AuditedStart extends Pick<AuditEntry, "action" | "at" | "customerId" | "resource"> {
  readonly more?: AuditEntry["changes"]
}

/** Makes `startAudit`: the audit entry of a start, from the id of its run. */
export const makeStartAudit = Effect.map(Identifiers, (identifiers) => ({
  startAudit:
    (caller: Principal, { more = [], ...start }: AuditedStart) =>
    (id: ExecutionId): AuditEntry => ({
      ...start,
      id: identifiers.next("aud"),
      organisationId: caller.organisationId,
      actor: actorOf(caller),
      outcome: "success",
      requestId: caller.requestId,
      changes: [{ path: "executionId", before: null, after: id }, ...more],
      count: 1
    })
}))
