/**
 * The use case that tests one step of a draft with made-up data: a run of that step alone, by default without any effect.
 * Quotas, limits, audit and record are those of every run. Decisions: 0051.
 */
import { Effect, Option } from "effect"
import { customerRefusal } from "../../../domain/organisation/Customer.js"
import { type Failure, Forbidden, NotFound, refuseWith, Unavailable } from "../../../domain/Failure.js"
import type { ExecutionId } from "../../../domain/Ids.js"
import { isObject, type Json } from "../../../domain/Json.js"
import { idempotencyKeyReused, type RunClaim } from "../../../domain/run/RunClaim.js"
import {
  mockingOf,
  requestRefusal,
  resultOf,
  type StepTestRequest,
  type StepTestResult
} from "../../../domain/run/StepTest.js"
import {
  archivedRefusal,
  disabledRefusal,
  incompleteRefusal,
  type Workflow
} from "../../../domain/workflow/Workflow.js"
import type { StepAnalysis } from "../../../domain/workflow/WorkflowAnalysis.js"
import { nounOf } from "../../../domain/access/CallerKind.js"
import { readBindings } from "../../../domain/connector/Binding.js"
import { Digests } from "../../ports/Digests.js"
import { ExecutionReads } from "../../ports/run/ExecutionReads.js"
import { Executions, type StartRequest, type StartResult } from "../../ports/run/Executions.js"
import { type Runnable, Runnables } from "../../ports/run/Runnables.js"
import { type CallContext, runAuditedCommand } from "../CallContext.js"
import { missingPermission, type Principal } from "../Caller.js"
import { Changes } from "../Changes.js"
import { makeStartAudit, startBy } from "./CallerStart.js"
import { makeDraftRuns } from "./DraftRuns.js"
import { findCustomer } from "../organisation/CustomerRecords.js"
import { StartQuota } from "../organisation/StartQuota.js"
import { currentTimestamp } from "../Timestamp.js"
import { makeFlowCompiler } from "../workflow/FlowCompiler.js"
import { findWorkflow, workflowResource } from "../workflow/WorkflowRecords.js"

/** How a test is asked for. */
export interface StepTestCommand extends StepTestRequest {
  readonly step: string
  readonly environment: string
  readonly claim: RunClaim | undefined
  readonly traceparent: string | null
}

type ActingCustomer = StartRequest["customer"]

/** What a workflow cannot be tested for. */
const workflowRefusal = (workflow: Workflow): Failure | undefined =>
  archivedRefusal(workflow) ?? disabledRefusal(workflow) ?? incompleteRefusal(workflow)

/** A test that makes calls is a run, which needs the permission for runs. */
const callRefusal = (caller: Principal, { mock = "full" }: StepTestRequest): Forbidden | undefined =>
  mock === "full" ? undefined : missingPermission(caller, "workflows:execute")

/** The step as the code that runs: an Instant run, which is not retried. */
const testedCode = (draft: Runnable, { bindings, script }: StepAnalysis, contentHash: string): Runnable => ({
  ...draft,
  script,
  contentHash,
  // Plain data of the analysis.
  bindings: readBindings(bindings as unknown as Json),
  tier: "instant",
  waits: false,
  retry: { ...draft.retry, enabled: false },
  callbackUrl: null,
  inputContract: null,
  outputContract: null
})

const startedRun = (started: StartResult, claim: RunClaim | undefined): Effect.Effect<ExecutionId, Failure> => {
  switch (started._tag) {
    case "Ended":
      return Effect.succeed(started.end.run.id)
    case "Moved":
    case "Accepted":
      return Effect.succeed(started.run.id)
    case "Repeated":
      return started.hash === claim?.hash ? Effect.succeed(started.target) : idempotencyKeyReused()
  }
}

const make = Effect.gen(function* () {
  const { read } = yield* Changes
  const { compileStep } = yield* makeFlowCompiler
  const digests = yield* Digests
  const executions = yield* Executions
  const { startAudit } = yield* makeStartAudit
  const quota = yield* StartQuota
  const { checkDraft } = yield* makeDraftRuns
  const reads = yield* ExecutionReads
  const runnables = yield* Runnables

  /** The customer for whom the step is run: the workflow's own, or the one that is named. */
  const findActing = Effect.fnUntraced(function* (
    context: CallContext,
    { customerId: owner }: Workflow,
    named: string | null
  ): Effect.fn.Return<ActingCustomer, Failure> {
    const { caller } = context
    const wanted = named ?? owner
    if (wanted === null)
      return caller.customers === "all"
        ? null
        : yield* new Forbidden({
            code: "CUSTOMER_NOT_REACHABLE",
            message: `this ${nounOf(caller)} reaches only some customers: name one in customerId`
          })
    const customer = yield* read(context, (tx) => findCustomer(tx, caller, wanted))
    if (owner !== null && owner !== customer.id) return yield* new NotFound({ what: "workflow" })
    yield* refuseWith(customerRefusal(customer))
    return { id: customer.id, ref: customer.externalRef }
  })

  const compileFor = (caller: Principal, { id, spec }: Workflow, { mock = "full", step }: StepTestCommand) =>
    isObject(spec)
      ? compileStep(caller, { name: id, spec, step, isRehearsed: mock === "full" })
      : new NotFound({ what: "step" })

  /** Runs the step, and answers once it has ended. */
  const test = Effect.fnUntraced(function* (
    context: CallContext,
    id: string,
    command: StepTestCommand
  ): Effect.fn.Return<{ readonly result: StepTestResult; readonly isRepeated: boolean }, Failure> {
    const { caller } = context
    const { claim, environment, input = {}, item = null, step, steps = {}, traceparent } = command
    const workflow = yield* read(context, (tx) => findWorkflow(tx, caller, id))
    yield* refuseWith(callRefusal(caller, command) ?? workflowRefusal(workflow))
    const acting = yield* findActing(context, workflow, command.customerId ?? null)
    yield* checkDraft(context, environment, acting?.id ?? null)
    const analysis = yield* compileFor(caller, workflow, command)
    yield* refuseWith(requestRefusal(command, analysis))
    const draft = yield* runnables.draft(caller.organisationId, workflow.id)
    const at = yield* currentTimestamp
    const { id: resourceId, name, customerId } = workflowResource(workflow)
    const started = yield* runAuditedCommand(
      context,
      quota.countStart(
        caller,
        acting,
        executions.start({
          ...startBy(caller),
          runnable: testedCode(draft, analysis, digests.sha256Hex(analysis.script)),
          environment,
          input: { input, item, steps },
          headers: {},
          customer: acting,
          installation: null,
          connections: null,
          mocking: mockingOf(command),
          userId: null,
          metadata: { testedStep: step },
          callback: null,
          traceparent,
          ...(claim === undefined ? {} : { idempotency: claim }),
          audit: startAudit(caller, {
            at,
            action: context.audit?.action ?? "unknown",
            resource: { type: "workflow", id: resourceId, name },
            customerId: acting?.id ?? customerId,
            more: [{ path: "step", before: null, after: step }]
          })
        })
      )
    )
    const found = yield* reads.get(caller, yield* startedRun(started, claim))
    if (Option.isNone(found))
      return yield* new Unavailable({ reason: "the test's run is being recorded", retryAfterSeconds: 1 })
    return { result: resultOf(found.value, step, analysis), isRepeated: started._tag === "Repeated" }
  })

  return { test }
})

/** `test` fails with `NotFound` if the key's workspace has no such workflow, or the workflow no such step. */
export class StepTests extends Effect.Service<StepTests>()("svc/StepTests", { effect: make }) {}
