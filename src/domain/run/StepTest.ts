/** Tests of one step of a flow: what is asked for, what it is run with, and what is answered. Decisions: 0051. */
import { Schema } from "effect"
import { Fixture, MockMode, type Mocking } from "../connector/Mocking.js"
import { invalid, type ValidationFailed } from "../Failure.js"
import { isObject, Json, JsonObject } from "../Json.js"
import type { StepAnalysis } from "../workflow/WorkflowAnalysis.js"
import { ExecutionStatus } from "./Execution.js"
import type { ExecutionDetail } from "./ExecutionView.js"

/** What a step is tested with. */
export const StepTestRequest = Schema.Struct({
  input: Schema.optional(JsonObject).annotations({ description: "What expressions read as `input`." }),
  steps: Schema.optional(JsonObject).annotations({
    description: "Made-up outputs of other steps, by their names. Not with `mock: none`."
  }),
  item: Schema.optional(Json).annotations({ description: "The item that a step of a loop reads, as the first one." }),
  mock: Schema.optional(MockMode).annotations({
    description:
      "`full`, by default: connectors answer from fixtures and mocks only, waits end at once, approvals are given, and no other call with an effect is made. `partial`: connectors answer from fixtures and mocks if there are any, else from the provider. `none`: all calls are made."
  }),
  fixtures: Schema.optional(Schema.Array(Fixture)),
  customerId: Schema.optional(Schema.NullOr(Schema.String)).annotations({ description: "Whose connections it uses." })
}).annotations({ identifier: "StepTestRequest" })
export type StepTestRequest = typeof StepTestRequest.Type

/** What a test gave. */
export const StepTestResult = Schema.Struct({
  executionId: Schema.String,
  status: ExecutionStatus,
  step: Schema.Struct({
    name: Schema.String,
    type: Schema.String,
    path: Schema.String.annotations({ description: "Its place in the document." })
  }),
  output: Json,
  error: Json.annotations({ description: "Why it failed, with `step`, the step that failed, and `path`." }),
  steps: Schema.Array(Json).annotations({ description: "The trace: the step, those inside of it, and their calls." })
}).annotations({ identifier: "StepTestResult" })
export type StepTestResult = typeof StepTestResult.Type

/** How the calls of the test are answered. */
export const mockingOf = ({ fixtures = [], mock = "full" }: StepTestRequest): Mocking | undefined => {
  if (mock === "none") return undefined
  return mock === "full" ? { mode: mock, fixtures, isRehearsal: true } : { mode: mock, fixtures }
}

/** What of the request does not fit the step. */
export const requestRefusal = (
  { item, mock = "full", steps }: StepTestRequest,
  { isInLoop, isLong }: StepAnalysis
): ValidationFailed | undefined => {
  if (steps !== undefined && mock === "none")
    return invalid("steps", "NOT_ALLOWED", "are made-up outputs, which a test with real calls does not take")
  if (item !== undefined && !isInLoop)
    return invalid("item", "NOT_ALLOWED", "is read by steps of a loop, which this one is not")
  return isLong && mock !== "full"
    ? invalid("mock", "INVALID_VALUE", "must be full for a step that waits for people or time")
    : undefined
}

/** What a test gave, from the record of its run. `name`: of the step. */
export const resultOf = (
  { error, id, output, status, steps }: ExecutionDetail,
  name: string,
  { path, type }: StepAnalysis
): StepTestResult => ({
  executionId: id,
  status,
  step: { name, type, path: `spec.${path}` },
  output,
  error: isObject(error) ? { ...error, step: error["step"] ?? name, path: `spec.${path}` } : error,
  steps
})
