/** Use cases that act on executions: cancel a run, re-run it. Contract: execution record. */
import { Effect } from "effect"
import type { AuditChange, AuditEntry } from "../../../domain/audit/Audit.js"
import { isTerminal } from "../../../domain/run/Execution.js"
import { executionSummary, type ExecutionView } from "../../../domain/run/ExecutionView.js"
import { type Failure, InvalidState, refuseWith, Unavailable } from "../../../domain/Failure.js"
import type { ExecutionId } from "../../../domain/Ids.js"
import { rerunRefusal, type RerunRequest } from "../../../domain/run/Rerun.js"
import { idempotencyKeyReused, type RunClaim } from "../../../domain/run/RunClaim.js"
import { Executions, type StartResult } from "../../ports/run/Executions.js"
import { Identifiers } from "../../ports/Identifiers.js"
import { type CallContext, runAuditedCommand } from "../CallContext.js"
import { actorOf } from "../../../domain/access/Caller.js"
import { findDetailWith, findExecution } from "./ExecutionRecords.js"
import { makeDraftRuns } from "./DraftRuns.js"
import { makeRerunStart } from "./RerunStart.js"
import { currentTimestamp } from "../Timestamp.js"
import { StartQuota } from "../organisation/StartQuota.js"
import { makeLiveReads } from "./LiveReads.js"

/** A request to re-run an execution. */
export interface RerunCommand extends RerunRequest {
  readonly claim: RunClaim | undefined
  readonly traceparent: string | null
}

const notEnded = ({ status }: ExecutionView) =>
  new InvalidState({ state: status, message: "the execution has not ended: cancel it first" })

const runOf = (started: StartResult, claim: RunClaim | undefined): Effect.Effect<ExecutionId, Failure> => {
  if (started._tag === "Accepted") return Effect.succeed(started.run.id)
  if (started._tag === "Ended" || started._tag === "Moved")
    return new Unavailable({ reason: "the run was not queued", retryAfterSeconds: 1 })
  return started.hash === claim?.hash ? Effect.succeed(started.target) : idempotencyKeyReused()
}

const make = Effect.gen(function* () {
  const reads = yield* makeLiveReads
  const executions = yield* Executions
  const identifiers = yield* Identifiers
  const rerunStart = yield* makeRerunStart
  const { checkDraft } = yield* makeDraftRuns

  const find = findDetailWith(reads)

  const quota = yield* StartQuota

  const findEnded = Effect.fnUntraced(function* (context: CallContext, id: string, request: RerunRequest) {
    const { caller } = context
    const found = yield* findExecution(
      caller,
      id,
      (known) => reads.find(caller, known),
      ({ view }) => view
    )
    const { view } = found
    if (!isTerminal(view.status)) return yield* notEnded(view)
    const isDraft = view.workflowVersion === null && request.version !== "latest"
    if (isDraft) yield* checkDraft(context, view.environment, view.customerId)
    yield* refuseWith(rerunRefusal(request))
    return found
  })

  const auditEntry = (
    { audit, caller }: CallContext,
    view: ExecutionView,
    at: string,
    change: AuditChange
  ): AuditEntry => ({
    id: identifiers.next("aud"),
    organisationId: caller.organisationId,
    at,
    actor: actorOf(caller),
    action: audit?.action ?? "unknown",
    resource: { type: "execution", id: view.id, name: view.workflowName },
    customerId: view.customerId,
    outcome: "success",
    requestId: caller.requestId,
    changes: [change],
    count: 1
  })

  /** Commits the cancellation. Fails with `InvalidState` if the run has ended. */
  const cancel = Effect.fnUntraced(function* (context: CallContext, id: string) {
    const view = yield* find(context, id)
    if (isTerminal(view.status))
      return yield* new InvalidState({ state: view.status, message: `the execution is ${view.status} already` })
    const change = { path: "status", before: view.status, after: "cancelled" }
    const entry = auditEntry(context, view, yield* currentTimestamp, change)
    yield* runAuditedCommand(context, executions.cancel(context.caller.organisationId, view.id, entry)).pipe(
      Effect.catchTag(
        "NotFound",
        () => new InvalidState({ state: "completed", message: "the execution has just ended" })
      )
    )
    return yield* find(context, id)
  })

  /** Queues a new run, with the checks of any start; re-running a draft needs what running it needs. */
  const rerun = Effect.fnUntraced(function* (
    context: CallContext,
    id: string,
    { claim, traceparent, ...request }: RerunCommand
  ) {
    const found = yield* findEnded(context, id, request)
    const { changed, start } = yield* rerunStart(context, found, request)
    const at = yield* currentTimestamp
    const order = executions.start({
      ...start,
      traceparent,
      ...(claim === undefined ? {} : { idempotency: claim }),
      audit: (startedId) =>
        auditEntry(context, found.view, at, {
          path: "executionId",
          before: found.view.id,
          after: startedId
        })
    })
    const { customerId } = found.view
    const acting = customerId === null ? null : { id: customerId }
    const started = yield* runAuditedCommand(context, quota.countStart(context.caller, acting, order))
    const run = yield* runOf(started, claim)
    return {
      execution: { ...executionSummary(yield* find(context, run)), ...(changed.length === 0 ? {} : { changed }) },
      isRepeated: started._tag === "Repeated"
    }
  })

  return { cancel, rerun }
})

/** Each use case fails with `NotFound` if the key's workspace has no such execution or the caller does not reach it. */
export class ExecutionControl extends Effect.Service<ExecutionControl>()("svc/ExecutionControl", { effect: make }) {}
