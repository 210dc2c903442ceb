/**
 * Calls of flows by their names: which version a call means, how long its caller waits, and how it is answered.
 * Specification: Surface B; contract: surface B bodies, errors.
 */
import { Either } from "effect"
import { isObject, type Json, type JsonObject } from "../../domain/Json.js"
import { Conflict, DatasourceFailed, type Failure, FlowFailed, NotFound, TimedOut } from "../../domain/Failure.js"
import { flowCall } from "../../domain/Limits.js"
import type { RawReply, RequestHead } from "../Wire.js"
import { acceptedReply, type EndedRun, flowAnswer, runHeaders, type StartSurface } from "./RunReply.js"
import { isEnvironmentSlug, latestEnvironment } from "../../domain/organisation/Environment.js"

/** The surface's reply to a failure. `now`: Unix milliseconds. */
export type FailureReply = (failure: Failure, requestId: string, now: number) => RawReply

/** The version that the header `stage` means: the draft in `test`, or what an environment runs. Left: it is the slug of none. */
export const stageOf = ({
  headers
}: RequestHead): Either.Either<{ readonly draft: boolean; readonly environment: string }, NotFound> => {
  const stage = (headers["stage"] ?? "").toLowerCase() || "live"
  if (stage === "draft") return Either.right({ draft: true, environment: latestEnvironment })
  return isEnvironmentSlug(stage)
    ? Either.right({ draft: false, environment: stage })
    : Either.left(new NotFound({ what: "stage" }))
}

/** What surface B does with a start. */
export const flowSurface = (failureReply: FailureReply): StartSurface => ({
  acceptedReply,
  hasCustomAuth: true,
  synchronous: ({ timeoutMillis }) => ({
    synchronousMillis: Math.min(timeoutMillis ?? flowCall.defaultMillis, flowCall.mostMillis)
  }),
  endedReply: (run, requestId, now, more = {}) => {
    const headers = { ...runHeaders(run, requestId), ...more }
    const answer = flowAnswer(run, headers)
    if (answer !== undefined) return answer
    const reply = failureReply(failureOf(run), requestId, now)
    return { ...reply, headers: { ...reply.headers, ...headers } }
  }
})

const textOf = (value: Json | undefined): string => (typeof value === "string" ? value : "")

/** What a caller is told of a run that did not end well. */
const failureOf = ({ error, id, status }: EndedRun): Failure => {
  if (status === "timed_out") return new TimedOut({ executionId: id })
  if (status === "cancelled")
    return new Conflict({ code: "CONFLICT", message: `the execution ${id} was cancelled while it ran` })
  const { code, details, message, name, step }: JsonObject = isObject(error) ? error : {}
  const told = {
    message: textOf(message) || "the flow failed",
    executionId: id,
    step: textOf(step),
    reason: textOf(code) || textOf(name) || "Error"
  }
  if (name !== "ConnectorError" || details === undefined || !isObject(details)) return new FlowFailed(told)
  const { action, body = null } = details
  return new DatasourceFailed({ ...told, action: textOf(action), answer: isObject(body) ? body : { body } })
}
