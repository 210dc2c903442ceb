/** The operation that tests a step of a workflow's draft. Specification: Surface C; contract: workflow record. */
import { Effect } from "effect"
import { StepTests } from "../../../actors/management/run/StepTests.js"
import { Digests } from "../../../actors/ports/Digests.js"
import { InvalidRequest } from "../../../domain/Failure.js"
import { canonicalJson } from "../../../domain/Json.js"
import { StepTestRequest, StepTestResult } from "../../../domain/run/StepTest.js"
import { isEnvironmentSlug } from "../../../domain/organisation/Environment.js"
import { auditAction } from "../../operation/Contract.js"
import { operation } from "../../operation/Operation.js"
import { record } from "../../operation/Output.js"
import { strictPayload } from "../../PayloadSchema.js"
import { runClaim } from "../../RunClaim.js"

/** The environment of the header `x-svc-env`: unlike a start's, by default `test`. */
const environmentOf = (header: string | undefined): Effect.Effect<string, InvalidRequest> => {
  const slug = header === undefined || header === "" ? "test" : header
  return isEnvironmentSlug(slug)
    ? Effect.succeed(slug.toLowerCase())
    : new InvalidRequest({
        code: "INVALID_HEADER",
        message: "x-svc-env is not the slug of an environment: send letters, digits, - and _"
      })
}

/** An operation of the group `drafts`. */
export const stepTestOperations = [
  operation({
    name: "drafts.testStep",
    summary: "Test a step of a workflow",
    description:
      "Runs one step of the draft, with the steps inside of it, on made-up data, and answers its output, trace and error. By default no call has an effect. The test is an Instant run in the environment `test`, or that of `x-svc-env`, which needs what deploying there needs.",
    answers: { 200: "What the step gave, also if it failed." },
    parameters: { name: "The name of the step." },
    example: { input: { order: "S-1024" }, steps: {}, mock: "full" },
    route: "POST /api/v1/workflows/:wid/steps/:name/test",
    body: strictPayload(StepTestRequest),
    output: record(StepTestResult),
    permit: "workflows:update",
    audit: auditAction("workflow.test_step"),
    sharing: "customers",
    // Connectors and connections are not named: those out of reach fail in the run.
    scoped: { workflow: "path", environment: "record", secret: "reach" },
    form: { idempotency: "run" },
    with: Effect.all([StepTests, Digests]),
    use: ([tests, digests], { context, path, body }) =>
      Effect.gen(function* () {
        const { caller, replyHeaders, request } = context
        const claim = yield* runClaim(digests, caller, request, canonicalJson(context.body ?? null))
        const { isRepeated, result } = yield* tests.test(context, path.wid, {
          ...body,
          step: path.name,
          environment: yield* environmentOf(request.headers["x-svc-env"]),
          claim,
          traceparent: request.headers["traceparent"] ?? null
        })
        replyHeaders["x-svc-execution-id"] = result.executionId
        replyHeaders["x-svc-execution-status"] = result.status
        if (isRepeated) replyHeaders["idempotent-replayed"] = "true"
        return result
      })
  })
] as const
