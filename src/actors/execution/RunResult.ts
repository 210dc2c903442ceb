/** Makes the final record of a run, its callback, and the events that tell endpoints of its end. Contract: state machine, callback. */
import { isTerminal, type ExecutionStatus, type RunError } from "../../domain/run/Execution.js"
import { isObject, type Json } from "../../domain/Json.js"
import { redactHeaders } from "../../domain/access/SecretNames.js"
import type { DeadLetterId, DeliveryId } from "../../domain/Ids.js"
import type { SubscribedEndpoint } from "../ports/delivery/EndpointSubscriptions.js"
import type { DeadLetter, DeliveryRow, FinishedRun, OpenRun } from "../ports/run/Journal.js"
import type { Progress } from "./Progress.js"
import { poisonedCode } from "./RunErrors.js"
import { errorJson } from "./RunSpec.js"

/** The end of a run. `at`: Unix milliseconds. */
export interface RunResult {
  readonly status: FinishedRun["status"]
  readonly statusReason: string | null
  readonly output: Json
  readonly error: RunError | null
  readonly at: number
}

const mebibyte = 1024 * 1024

/** The run's metrics; `null` members for a run that was ended without its progress. */
const runMetrics = (run: OpenRun, progress: Progress | null, memoryLimit: number): Json => ({
  totalSteps: progress === null ? null : progress.rowCount,
  succeeded: progress?.succeeded ?? null,
  failed: progress?.failed ?? null,
  skipped: progress?.skipped ?? 0,
  slowestStep: progress?.slowest?.step ?? null,
  slowestMs: progress?.slowest?.millis ?? null,
  peakSandboxMB: progress === null ? null : Math.ceil(progress.peakMemoryBytes / mebibyte),
  sandboxMemoryLimitMB: memoryLimit / mebibyte,
  calls: progress?.outsideCalls ?? null,
  queuedMs: run.startedAt === null ? null : Math.max(0, run.startedAt - run.createdAt)
})

/** The request headers for a re-run of a run that was committed once, and so never had a journal; redacted. */
const headersOf = ({ redaction: { scrub }, spec }: Progress): { readonly [name: string]: string } => {
  const shown = Object.entries(redactHeaders(spec.start.headers))
  return Object.fromEntries(shown.map(([name, value]) => [name, scrub.scrubText(value)]))
}

/** The run as its final record stores it: without the secrets that it used. */
const recordedRun = (run: OpenRun, progress: Progress | null): OpenRun => {
  if (progress === null) return run
  const input = progress.redaction.scrub.scrubJson(run.input)
  const isScrubbed = input !== run.input
  if (progress.hasRow && !isScrubbed) return run
  const headers = progress.hasRow ? {} : { headers: headersOf(progress) }
  const redacted = isScrubbed ? { inputRedacted: true } : {}
  return { ...run, input, record: { ...run.record, ...headers, ...redacted } }
}

/** The final record of a run. `progress`: `null` when this node did not drive the run. */
export const finishedRun = (
  run: OpenRun,
  end: RunResult,
  progress: Progress | null,
  memoryLimit: number
): FinishedRun => ({
  run: recordedRun(run, progress),
  status: end.status,
  statusReason: end.statusReason,
  finishedAt: end.at,
  output: end.output,
  error: end.error === null ? null : errorJson(end.error),
  ...(progress?.answerStatus === undefined ? {} : { answerStatus: progress.answerStatus }),
  metrics: runMetrics(run, progress, memoryLimit)
})

/** The type of the event that tells of the end of a run. */
export const eventTypeOf = (status: ExecutionStatus) => `execution.${status}`
const iso = (millis: number | null) => (millis === null ? null : new Date(millis).toISOString())

/** Whether the output is a reference to a blob, which replaces an output that is too large. */
const isBlobReference = (output: Json): boolean =>
  isObject(output) && "$blob" in output && "sha256" in output && Object.keys(output).length === 3

/** The error in a callback: without its stack, which would show lines of the workflow. */
const errorForReceiver = (error: Json): Json =>
  isObject(error)
    ? {
        name: error["name"] ?? null,
        message: error["message"] ?? null,
        category: error["category"] ?? null,
        step: error["step"] ?? null
      }
    : null

/** The URL for the callback; `null` if neither the caller nor the workflow asked for this event. */
const callbackUrlOf = ({ record }: OpenRun, type: string): string | null =>
  record.callbackEvents === null || record.callbackEvents.includes(type) ? record.callbackUrl : null

/** The body of the event that tells of the end of a run. */
const endBody = (end: FinishedRun): string => {
  const { record } = end.run
  const truncated = isBlobReference(end.output)
  return JSON.stringify({
    type: eventTypeOf(end.status),
    timestamp: iso(end.finishedAt),
    data: {
      executionId: end.run.id,
      workflowId: end.run.workflowId,
      workflowVersion: record.workflowVersion,
      environment: record.environment,
      tier: end.run.tier,
      status: end.status,
      customerId: end.run.customerId,
      customerRef: record.customerRef,
      installationId: record.installationId,
      attempt: end.run.attempt,
      startedAt: iso(end.run.startedAt),
      finishedAt: iso(end.finishedAt),
      durationMs: end.run.startedAt === null ? 0 : Math.max(0, end.finishedAt - end.run.startedAt),
      output: truncated ? null : end.output,
      outputTruncated: truncated,
      error: errorForReceiver(end.error),
      metadata: record.metadata,
      triggeredBy: { type: record.trigger.type, keyId: record.trigger.keyId, keyName: record.trigger.keyName }
    }
  })
}

/** The deliveries of a finished run: its callback, and one to each endpoint of the organisation that is subscribed. */
export const endDeliveries = (
  end: FinishedRun,
  endpoints: ReadonlyArray<SubscribedEndpoint>,
  id: () => DeliveryId
): ReadonlyArray<DeliveryRow> => {
  const eventType = eventTypeOf(end.status)
  const callbackUrl = callbackUrlOf(end.run, eventType)
  if (!isTerminal(end.status) || (callbackUrl === null && endpoints.length === 0)) return []
  const payload = endBody(end)
  const outbound = endpoints.map(({ id: endpointId, url }): DeliveryRow => ({
    id: id(),
    kind: "outbound",
    endpointId,
    eventType,
    url,
    payload
  }))
  return callbackUrl === null
    ? outbound
    : [{ id: id(), kind: "callback", endpointId: null, eventType, url: callbackUrl, payload }, ...outbound]
}

/** The error of a run that was given up because it ended its processes. */
const isPoisoned = (error: Json) => isObject(error) && error["code"] === poisonedCode

/** What a workflow throws has no code unless it gives one, and a dead letter has one, by which it is found. */
const withCode = (error: Json, status: "failed" | "timed_out"): Json => ({
  ...(isObject(error) ? error : {}),
  code:
    isObject(error) && error["code"] !== undefined
      ? error["code"]
      : status === "failed"
        ? "EXECUTION_FAILED"
        : "EXECUTION_TIMED_OUT"
})

/** The dead letter of a run that failed for good, if an event started it or it was given up. */
export const deadLettersOf = (
  { error, run, status, statusReason }: FinishedRun,
  id: () => DeadLetterId
): ReadonlyArray<DeadLetter> => {
  const { customerId, priority } = run
  const of = run.record.event ?? (isPoisoned(error) ? { type: "execution.poisoned", customerId, priority } : undefined)
  // A flow that went on after an error has done what it could with the event.
  if (of === undefined || (status !== "failed" && status !== "timed_out") || statusReason === "continued_after_error")
    return []
  const { workflowName, workflowVersion, environment } = run.record
  const context = {
    status,
    workflowId: run.workflowId,
    routeId: run.record.routeId ?? null,
    workflowName,
    workflowVersion,
    environment,
    attempts: run.attempt
  }
  return [{ id: id(), of, executionId: run.id, error: withCode(error, status), context }]
}
