/** What the start of a run takes from the request, whichever workflow it starts. */
import { Effect } from "effect"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import type { StartRequest } from "../../actors/ports/run/Executions.js"
import type { Runnable } from "../../actors/ports/run/Runnables.js"
import { type Principal, runReach } from "../../actors/management/Caller.js"
import { actorOf } from "../../domain/access/Caller.js"
import type { AuditEntry } from "../../domain/audit/Audit.js"
import type { ExecutionId } from "../../domain/Ids.js"
import { workflowHeaders } from "../../domain/Tenancy.js"
import type { CustomerContext } from "../auth/CustomerContext.js"
import type { RequestHead } from "../Wire.js"

/** A request that starts a run, with what was found for it. */
export interface RunCall {
  readonly caller: Principal
  readonly request: RequestHead
  readonly context: CustomerContext
  readonly environment: string
}

/** The members that the request and the workflow decide. */
export type RequestedStart = Omit<StartRequest, "input" | "metadata" | "callback">

/** Makes `requestedStart`. */
export const makeStartRequests = Effect.gen(function* () {
  const identifiers = yield* Identifiers
  const clock = yield* Effect.clock

  const auditOf =
    ({ caller, context }: RunCall, { name, workflowId }: Runnable, at: string) =>
    (id: ExecutionId): AuditEntry => ({
      id: identifiers.next("aud"),
      organisationId: caller.organisationId,
      at,
      actor: actorOf(caller),
      action: "workflow.execute",
      resource: { id: workflowId, name, type: "workflow" },
      customerId: context.customer?.id ?? null,
      outcome: "success",
      requestId: caller.requestId,
      changes: [{ after: id, before: null, path: "executionId" }],
      count: 1
    })

  const requestedStart = (call: RunCall, runnable: Runnable): RequestedStart => {
    const { caller, context, environment, request } = call
    return {
      runnable,
      environment,
      retention: caller.plan.retentionDays,
      concurrentRuns: caller.plan.concurrentRuns,
      priority: 1,
      headers: workflowHeaders(request.headers),
      customer: context.customer === null ? null : { id: context.customer.id, ref: context.customer.externalRef },
      installation: context.installation,
      connections: context.connections,
      reach: runReach(caller),
      userId: context.userId,
      trigger: { type: "api", ...caller.starter },
      traceparent: request.headers["traceparent"] ?? null,
      audit: auditOf(call, runnable, new Date(clock.unsafeCurrentTimeMillis()).toISOString())
    }
  }

  return { requestedStart }
})
