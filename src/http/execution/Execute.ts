/**
 * Starting a run over HTTP: one route for `POST …/execute` (surface A) and `POST …/run` (surface C), thin because it is
 * hot, with the same authentication, limits and errors as everything else. Specification: Surface A.
 */
import { Effect, Option } from "effect"
import { Computations, tooCostlyDetail } from "../../actors/ports/Computations.js"
import { Digests } from "../../actors/ports/Digests.js"
import { Egress } from "../../actors/ports/Egress.js"
import { ExecutionReads } from "../../actors/ports/ExecutionReads.js"
import { Executions, type StartResult } from "../../actors/ports/Executions.js"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import { type Runnable, Runnables } from "../../actors/ports/Runnables.js"
import type { AuditEntry } from "../../domain/Audit.js"
import { isTerminal } from "../../domain/Execution.js"
import {
  type Failure,
  IdempotencyInProgress,
  InvalidRequest,
  NotFound,
  Unavailable,
  ValidationFailed
} from "../../domain/Failure.js"
import type { ExecutionId, WorkflowId } from "../../domain/Ids.js"
import { keyReused } from "../../domain/RunClaim.js"
import { workflowHeaders } from "../../domain/Tenancy.js"
import { disabledRefusal } from "../../domain/Workflow.js"
import { make as makeActingFor } from "../auth/ActingFor.js"
import { actorOf, missingPermission, outOfScope, type Principal, runReach } from "../../actors/management/Caller.js"
import { StartQuota } from "../../actors/management/StartQuota.js"
import type { Exchange } from "../pipeline/Exchange.js"
import { runClaim } from "../RunClaim.js"
import type { RawReply, RawRequest } from "../Wire.js"
import { type ExecuteBody, readExecuteBody } from "./Body.js"
import { acceptedReply, endedReply } from "./Reply.js"

const environmentPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/
const isWorkflowId = (text: string): text is WorkflowId => /^wf_[0-9a-f]{12}$/.test(text)

export const make = Effect.gen(function* () {
  const { actingFor } = yield* makeActingFor
  const runnables = yield* Runnables
  const executions = yield* Executions
  const reads = yield* ExecutionReads
  const { compute } = yield* Computations
  const digests = yield* Digests
  const identifiers = yield* Identifiers
  const egress = yield* Egress
  const quota = yield* StartQuota
  const clock = yield* Effect.clock

  // --- What is asked ---

  const environmentOf = (
    caller: Principal,
    request: RawRequest,
    body: { readonly environment?: string }
  ): string | InvalidRequest => {
    const header = request.headers["x-svc-env"]
    const slug =
      body.environment ?? (header === undefined || header === "" ? caller.organisation.defaultEnvironment : header)
    return environmentPattern.test(slug)
      ? slug.toLowerCase()
      : new InvalidRequest({ code: "INVALID_HEADER", message: "x-svc-env is not the slug of an environment" })
  }

  const checkInput = Effect.fnUntraced(function* (
    { inputContract, organisationId }: Runnable,
    { input }: ExecuteBody
  ): Effect.fn.Return<void, ValidationFailed | Unavailable> {
    if (inputContract === null) return
    const found = yield* compute("checkValue", organisationId, { schema: inputContract, value: input }).pipe(
      Effect.catchTag("TooCostly", (error) => Effect.succeed([tooCostlyDetail("", error)]))
    )
    const [first] = found
    if (first !== undefined)
      return yield* new ValidationFailed({
        code: "INPUT_CONTRACT_VIOLATION",
        message: `input breaks the workflow's input contract: ${first.message}`,
        details: found.map((detail) => ({ ...detail, path: detail.path === "" ? "input" : `input.${detail.path}` }))
      })
  })

  const callbackOf = (request: RawRequest, body: ExecuteBody): Effect.Effect<ExecuteBody["callback"], Failure> => {
    const header = request.headers["x-svc-callback-url"]
    const callback = body.callback ?? (header === undefined || header === "" ? null : { url: header, events: null })
    if (callback === null) return Effect.succeed(null)
    return Effect.mapBoth(egress.check(callback.url), {
      onSuccess: () => callback,
      onFailure: ({ reason }) =>
        new ValidationFailed({
          code: "VALIDATION_FAILED",
          message: `callback.url cannot be called: ${reason}`,
          details: [{ path: "callback.url", code: "URL_NOT_ALLOWED", message: reason }]
        })
    })
  }

  const runnableOf = (caller: Principal, workflow: WorkflowId, environment: string, draft: boolean) =>
    draft
      ? runnables.draft(caller.organisationId, workflow)
      : runnables.inEnvironment(caller.organisationId, workflow, environment)

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

  const start = Effect.fnUntraced(function* (
    exchange: Exchange,
    workflow: WorkflowId,
    request: RawRequest
  ): Effect.fn.Return<RawReply, Failure> {
    const { caller } = exchange
    const outside = outOfScope(caller, "workflow", workflow)
    if (outside !== undefined) return yield* outside
    const body = readExecuteBody(request)
    if (body instanceof Error) return yield* body
    const draft = body.draft === true
    const mayDraft = draft ? missingPermission(caller, "workflows:update") : undefined
    if (mayDraft !== undefined) return yield* mayDraft
    const environment = environmentOf(caller, request, body)
    if (environment instanceof Error) return yield* environment
    const elsewhere = outOfScope(caller, "environment", environment)
    if (elsewhere !== undefined) return yield* elsewhere
    const idempotency = runClaim(digests, caller, request, request.body)
    if (idempotency instanceof Error) return yield* idempotency
    const acting = yield* actingFor(caller, request)
    const runnable = yield* runnableOf(caller, workflow, environment, draft)
    if (runnable.spaceId !== caller.spaceId) return yield* new NotFound({ what: "workflow" })
    if (runnable.customerId !== null && runnable.customerId !== acting.customer?.id)
      return yield* new NotFound({ what: "workflow" })
    const disabled = disabledRefusal(runnable)
    if (disabled !== undefined) return yield* disabled
    yield* checkInput(runnable, body)
    const callback = yield* callbackOf(request, body)
    const now = clock.unsafeCurrentTimeMillis()
    const order = executions.start({
      runnable,
      environment,
      retention: caller.plan.retentionDays,
      concurrentRuns: caller.plan.concurrentRuns,
      priority: 1,
      input: body.input,
      headers: workflowHeaders(request.headers),
      customer: acting.customer === null ? null : { id: acting.customer.id, ref: acting.customer.externalRef },
      installation: acting.installation,
      connections: acting.connections,
      reach: runReach(caller),
      mocking: body.mocking,
      userId: acting.userId,
      trigger: { type: "api", keyId: caller.key.id, keyName: caller.key.name },
      metadata: body.metadata,
      callback,
      traceparent: request.headers["traceparent"] ?? null,
      audit: auditOf(caller, runnable, acting.customer?.id ?? null, new Date(now).toISOString()),
      ...(idempotency === undefined ? {} : { idempotency })
    })
    const started = yield* quota.countStart(caller, acting.customer, order)
    // Its audit entry commits with its first row.
    exchange.isAudited = true
    return yield* replyOf(caller, runnable, started, idempotency?.hash, now)
  })

  // --- What is answered ---

  const replyOf = (
    caller: Principal,
    runnable: Runnable,
    started: StartResult,
    hash: string | undefined,
    now: number
  ): Effect.Effect<RawReply, Failure> => {
    switch (started._tag) {
      case "Ended": {
        const { error, output, run, status } = started.end
        return Effect.succeed(
          endedReply({ id: run.id, status, version: runnable.version, output, error }, caller.requestId, now)
        )
      }
      case "Accepted": {
        const { record, tier, id } = started.run
        return Effect.succeed(
          acceptedReply(
            { id, tier, version: runnable.version, callback: record.callbackUrl !== null },
            caller.requestId
          )
        )
      }
      case "Repeated":
        return repeated(caller, started.target, hash === started.hash, now)
    }
  }

  /** A repetition is answered from the run that had the key first. */
  const repeated = Effect.fnUntraced(function* (
    caller: Principal,
    target: ExecutionId,
    sameBody: boolean,
    now: number
  ): Effect.fn.Return<RawReply, Failure> {
    if (!sameBody) return yield* keyReused()
    const found = yield* reads.findRerunSource(caller, target)
    if (Option.isNone(found))
      return yield* new Unavailable({ reason: "the first run with this key is being recorded", retryAfterSeconds: 1 })
    const { record, view: run } = found.value
    const replayed = { "idempotent-replayed": "true" }
    if (run.tier !== "instant") {
      return acceptedReply(
        { id: run.id, tier: run.tier, version: run.workflowVersion, callback: record.callbackUrl !== null },
        caller.requestId,
        replayed
      )
    }
    if (!isTerminal(run.status)) return yield* new IdempotencyInProgress()
    return endedReply(
      { id: run.id, status: run.status, version: run.workflowVersion, output: run.output, error: run.error },
      caller.requestId,
      now,
      replayed
    )
  })

  /** Handles an exchange of `POST …/execute` or `…/run`. `request`: what was sent. */
  const execute = (exchange: Exchange, request: RawRequest): Effect.Effect<RawReply, Failure> => {
    const { workflowId = "" } = exchange.params
    return isWorkflowId(workflowId)
      ? start(exchange, workflowId, request)
      : Effect.fail(new NotFound({ what: "workflow" }))
  }

  return { execute }
})
