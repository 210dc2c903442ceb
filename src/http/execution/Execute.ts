/**
 * Starts a run for `POST …/execute` (surface A) and `POST …/run` (surface C). The route bypasses the typed API's schemas,
 * since it is hot; pipeline and errors are the same. Specification: Surface A.
 */
import { Effect } from "effect"
import { Digests } from "../../actors/ports/Digests.js"
import { Executions } from "../../actors/ports/run/Executions.js"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import { type Runnable, Runnables } from "../../actors/ports/run/Runnables.js"
import type { AuditEntry } from "../../domain/audit/Audit.js"
import { type Failure, NotFound, refuseWith } from "../../domain/Failure.js"
import type { CustomerId, ExecutionId, WorkflowId } from "../../domain/Ids.js"
import { workflowHeaders } from "../../domain/Tenancy.js"
import { disabledRefusal } from "../../domain/workflow/Workflow.js"
import { make as makeCustomerContext } from "../auth/CustomerContext.js"
import { missingPermission, outOfScope, type Principal, runReach } from "../../actors/management/Caller.js"
import { actorOf } from "../../domain/access/Caller.js"
import { StartQuota } from "../../actors/management/organisation/StartQuota.js"
import type { Exchange } from "../pipeline/Exchange.js"
import { runClaim } from "../RunClaim.js"
import type { RawReply, RawRequest } from "../Wire.js"
import { readExecuteBody } from "./ExecuteBody.js"
import { environmentOf, makeStartChecks } from "./StartChecks.js"
import { makeStartReplies } from "./StartReplies.js"

const isWorkflowId = (text: string): text is WorkflowId => /^wf_[0-9a-f]{12}$/.test(text)

export const make = Effect.gen(function* () {
  const { resolveContext } = yield* makeCustomerContext
  const runnables = yield* Runnables
  const executions = yield* Executions
  const { checkCallback, checkInput } = yield* makeStartChecks
  const { replyTo } = yield* makeStartReplies
  const digests = yield* Digests
  const identifiers = yield* Identifiers
  const quota = yield* StartQuota
  const clock = yield* Effect.clock

  const runnableOf = (
    { organisationId }: Principal,
    workflow: WorkflowId,
    environment: string,
    draft: boolean,
    customer: CustomerId | null
  ) =>
    draft
      ? runnables.draft(organisationId, workflow)
      : runnables.inEnvironment(organisationId, workflow, environment, customer)

  const auditOf =
    (caller: Principal, runnable: Runnable, customer: AuditEntry["customerId"], at: string) =>
    (id: ExecutionId): AuditEntry => ({
      id: identifiers.next("aud"),
      organisationId: caller.organisationId,
      at,
      actor: actorOf(caller),
      action: "workflow.execute",
      resource: { id: runnable.workflowId, name: runnable.name, type: "workflow" },
      customerId: customer,
      outcome: "success",
      requestId: caller.requestId,
      changes: [{ after: id, before: null, path: "executionId" }],
      count: 1
    })

  const startRun = Effect.fnUntraced(function* (exchange: Exchange, workflow: WorkflowId, request: RawRequest) {
    const { caller } = exchange
    yield* refuseWith(outOfScope(caller, "workflow", workflow))
    const body = yield* readExecuteBody(request)
    const draft = body.draft === true
    yield* refuseWith(draft ? missingPermission(caller, "workflows:update") : undefined)
    const environment = yield* environmentOf(caller, request, body)
    yield* refuseWith(outOfScope(caller, "environment", environment))
    const claim = yield* runClaim(digests, caller, request, request.body)
    const context = yield* resolveContext(caller, request)
    const runnable = yield* runnableOf(caller, workflow, environment, draft, context.customer?.id ?? null)
    if (runnable.spaceId !== caller.spaceId) return yield* new NotFound({ what: "workflow" })
    if (runnable.customerId !== null && runnable.customerId !== context.customer?.id)
      return yield* new NotFound({ what: "workflow" })
    yield* refuseWith(disabledRefusal(runnable))
    yield* checkInput(runnable, body)
    const callback = yield* checkCallback(request, body)
    const now = clock.unsafeCurrentTimeMillis()
    const start = executions.start({
      runnable,
      environment,
      retention: caller.plan.retentionDays,
      concurrentRuns: caller.plan.concurrentRuns,
      priority: 1,
      input: body.input,
      headers: workflowHeaders(request.headers),
      customer: context.customer === null ? null : { id: context.customer.id, ref: context.customer.externalRef },
      installation: context.installation,
      connections: context.connections,
      reach: runReach(caller),
      mocking: body.mocking,
      userId: context.userId,
      trigger: { type: "api", ...caller.starter },
      metadata: body.metadata,
      callback,
      traceparent: request.headers["traceparent"] ?? null,
      audit: auditOf(caller, runnable, context.customer?.id ?? null, new Date(now).toISOString()),
      ...(claim === undefined ? {} : { idempotency: claim })
    })
    const started = yield* quota.countStart(caller, context.customer, start)
    // The run's audit entry commits with its first row.
    exchange.isAudited = true
    return yield* replyTo(caller, runnable, started, claim?.hash, now)
  })

  /** Handles `POST …/execute` and `…/run`. `request`: the request with its body. */
  const execute = (exchange: Exchange, request: RawRequest): Effect.Effect<RawReply, Failure> => {
    const { workflowId = "" } = exchange.params
    return isWorkflowId(workflowId)
      ? startRun(exchange, workflowId, request)
      : Effect.fail(new NotFound({ what: "workflow" }))
  }

  return { execute }
})
