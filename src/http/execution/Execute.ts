/**
 * Starts a run for `POST …/execute` (surface A), `POST …/run` (C) and `POST /{flow_name}` (B). The routes bypass the typed
 * API's schemas, since they are hot; pipeline and errors are the same. Specification: Surfaces A and B.
 */
import { Effect } from "effect"
import { Digests } from "../../actors/ports/Digests.js"
import { Executions } from "../../actors/ports/run/Executions.js"
import { Runnables } from "../../actors/ports/run/Runnables.js"
import { type Failure, NotFound, refuseWith, type Unavailable } from "../../domain/Failure.js"
import type { CustomerId, WorkflowId } from "../../domain/Ids.js"
import { disabledRefusal } from "../../domain/workflow/Workflow.js"
import { type CustomerContext, make as makeCustomerContext } from "../../actors/management/access/CustomerContext.js"
import { outOfScope, type Principal } from "../../actors/management/Caller.js"
import { OfferedStarts } from "../../actors/management/embed/OfferedStarts.js"
import { makeDraftRuns } from "../../actors/management/run/DraftRuns.js"
import { StartQuota } from "../../actors/management/organisation/StartQuota.js"
import type { Exchange } from "../pipeline/Exchange.js"
import { runClaim } from "../RunClaim.js"
import type { RawReply, RawRequest } from "../Wire.js"
import { type ExecuteBody, exactInput, readExecuteBody, readFlowBody, readOfferedBody } from "./ExecuteBody.js"
import { type FailureReply, flowSurface, stageOf } from "./FlowCall.js"
import { offeredSurface } from "./OfferedReply.js"
import { executionSurface, type StartSurface } from "./RunReply.js"
import { makeFlowAuth } from "./FlowAuth.js"
import { environmentOf, makeStartChecks } from "./StartChecks.js"
import { makeStartRequests, type RunCall } from "./StartRequests.js"
import { makeStartReplies } from "./StartReplies.js"

const isWorkflowId = (text: string): text is WorkflowId => /^wf_[0-9a-f]{12}$/.test(text)

/** What the surfaces decide of a start. */
interface StartCall {
  readonly workflow:
    | WorkflowId
    | ((caller: Principal, customer: CustomerId | null) => Effect.Effect<WorkflowId, NotFound | Unavailable>)
  readonly body: ExecuteBody
  readonly draft: boolean
  readonly environment: string
  readonly surface: StartSurface
  /** Where it is not that of the request's headers. */
  readonly context?: CustomerContext
}

export const make = Effect.gen(function* () {
  const { resolveContext } = yield* makeCustomerContext
  const runnables = yield* Runnables
  const executions = yield* Executions
  const { checkCallback, checkForm, checkInput } = yield* makeStartChecks
  const offers = yield* OfferedStarts
  const { authenticate } = yield* makeFlowAuth
  const { requestedStart } = yield* makeStartRequests
  const { replyTo } = yield* makeStartReplies
  const digests = yield* Digests
  const quota = yield* StartQuota
  const { checkDraft, draftOf } = yield* makeDraftRuns
  const clock = yield* Effect.clock

  const runnableOf = (
    caller: Principal,
    workflow: WorkflowId,
    environment: string,
    draft: boolean,
    customer: CustomerId | null
  ) =>
    draft ? draftOf(caller, workflow) : runnables.inEnvironment(caller.organisationId, workflow, environment, customer)

  const startRun = Effect.fnUntraced(function* (exchange: Exchange, request: RawRequest, call: StartCall) {
    const { caller } = exchange
    const { body, draft, environment, surface } = call
    yield* refuseWith(outOfScope(caller, "environment", environment))
    const claim = yield* runClaim(digests, caller, request, request.body)
    const context = call.context ?? (yield* resolveContext(caller, request))
    const customer = context.customer?.id ?? null
    if (draft) yield* checkDraft(exchange, environment, customer)
    const workflow = yield* typeof call.workflow === "function"
      ? call.workflow(caller, customer)
      : Effect.succeed(call.workflow)
    yield* refuseWith(outOfScope(caller, "workflow", workflow))
    const runnable = yield* runnableOf(caller, workflow, environment, draft, customer)
    if (runnable.spaceId !== caller.spaceId) return yield* new NotFound({ what: "workflow" })
    if (runnable.customerId !== null && runnable.customerId !== context.customer?.id)
      return yield* new NotFound({ what: "workflow" })
    yield* refuseWith(disabledRefusal(runnable))
    const runCall: RunCall = { caller, request, context, environment }
    if (surface.hasCustomAuth) yield* authenticate(runCall, runnable)
    const input = (yield* exactInput(request, runnable.inputContract)) ?? body.input
    yield* checkInput(runnable, input)
    const callback = yield* checkCallback(request, body)
    const now = clock.unsafeCurrentTimeMillis()
    const start = executions.start({
      ...requestedStart(runCall, runnable),
      input,
      mocking: body.mocking,
      ...surface.synchronous(runnable),
      metadata: body.metadata,
      callback,
      ...(claim === undefined ? {} : { idempotency: claim })
    })
    const started = yield* quota.countStart(caller, context.customer, start)
    // The run's audit entry commits with its first row.
    exchange.isAudited = true
    return yield* replyTo({ caller, runnable, started, hash: claim?.hash, now, surface })
  })

  /** Handles the start of an embed session: of what its widget offers, with what its form allows. */
  const startOffered = Effect.fnUntraced(function* (exchange: Exchange, request: RawRequest, workflow: WorkflowId) {
    const { caller } = exchange
    const body = yield* readOfferedBody(request)
    const { form, ...offered } = yield* offers.find(exchange, workflow)
    const context = { ...(yield* resolveContext(caller, request)), ...offered }
    yield* checkForm(caller, form, body.input)
    const environment = caller.organisation.defaultEnvironment
    return yield* startRun(exchange, request, {
      workflow,
      body,
      draft: false,
      environment,
      surface: offeredSurface,
      context
    })
  })

  /** Handles `POST …/execute` and `…/run`. `request`: the request with its body; `surface`: how the end is answered. */
  const execute = Effect.fnUntraced(function* (
    exchange: Exchange,
    request: RawRequest,
    surface: StartSurface = executionSurface
  ) {
    const { workflowId: workflow = "" } = exchange.params
    if (!isWorkflowId(workflow)) return yield* new NotFound({ what: "workflow" })
    if (exchange.caller.embedded !== null) return yield* startOffered(exchange, request, workflow)
    yield* refuseWith(outOfScope(exchange.caller, "workflow", workflow))
    const body = yield* readExecuteBody(request)
    const environment = yield* environmentOf(exchange.caller, request, body)
    return yield* startRun(exchange, request, { workflow, body, draft: body.draft === true, environment, surface })
  })

  /** Handles `POST /{flow_name}` of surface B. */
  const callFlow = Effect.fnUntraced(function* (
    exchange: Exchange,
    request: RawRequest,
    failureReply: FailureReply
  ): Effect.fn.Return<RawReply, Failure> {
    const { flow_name: name = "" } = exchange.params
    const body = yield* readFlowBody(request)
    const stage = yield* stageOf(request)
    const workflow: StartCall["workflow"] = ({ organisationId, spaceId }, customer) =>
      runnables.named(organisationId, spaceId, name, customer)
    const surface = flowSurface(failureReply)
    return yield* startRun(exchange, request, { workflow, body, ...stage, surface })
  })

  return { callFlow, execute }
})
