/**
 * Executions as the API shows them, running or ended. `OpenRun` and `RunRecord` of `src/actors/ports/run/Journal.ts` take the
 * types of these members from here. Contract: execution record.
 */
import { Schema } from "effect"
import { NullableText } from "../Scalars.js"
import { MockMode } from "../connector/Mocking.js"
import { ExecutionStatus, Tier, TriggerType } from "./Execution.js"
import { Json } from "../Json.js"
import { AnsweredTime, NullableTime } from "../Time.js"

/** An id that the service created; its form is not checked again. */
const id = <const Brand extends string>(brand: Brand) => Schema.String.pipe(Schema.brand(brand))

/** Members of a run that are columns of its row with the same name and value. */
const RunHead = Schema.Struct({
  id: id("ExecutionId"),
  workflowId: id("WorkflowId"),
  customerId: Schema.NullOr(id("CustomerId")),
  tier: Tier,
  priority: Schema.Number,
  attempt: Schema.Number,
  mock: MockMode.annotations({
    description:
      "How connector calls were answered. `none`: by their providers. `full`: by the fixtures of the run and the mocks of " +
      "the actions only. `partial`: by these if there are any, else by the providers."
  })
})
export type RunHead = typeof RunHead.Type

/** Members that are fixed when a run is accepted, stored in its document `record`. */
const RunOrigin = Schema.Struct({
  workflowName: Schema.String,
  workflowVersion: Schema.NullOr(Schema.Number),
  environment: Schema.String,
  customerRef: NullableText,
  installationId: Schema.NullOr(id("InstallationId")),
  userId: NullableText,
  trigger: Schema.Struct({
    type: TriggerType,
    id: NullableText,
    eventId: NullableText,
    keyId: Schema.NullOr(id("ApiKeyId")),
    keyName: NullableText
  }),
  maxAttempts: Schema.Number,
  /** The run of which this is a re-run. */
  parentId: Schema.NullOr(id("ExecutionId")),
  metadata: Json
})
export type RunOrigin = typeof RunOrigin.Type

/** An execution in a list. Times are RFC 3339. */
export const ExecutionView = Schema.Struct({
  ...RunHead.fields,
  ...RunOrigin.fields,
  status: ExecutionStatus,
  statusReason: NullableText,
  error: Json,
  waiting: Schema.NullOr(Schema.Struct({ kind: Schema.String, step: NullableText, until: NullableTime })),
  metrics: Json,
  createdAt: AnsweredTime,
  startedAt: NullableTime,
  finishedAt: NullableTime,
  deadlineAt: AnsweredTime,
  durationMs: Schema.NullOr(Schema.Number)
})
export type ExecutionView = typeof ExecutionView.Type

const values = { ...ExecutionView.fields, input: Json, output: Json }
const ExecutionWithValues = Schema.Struct(values)

/** One execution with redacted input and output. */
export type ExecutionWithValues = typeof ExecutionWithValues.Type

/** One execution with redacted input, output and steps. */
export const ExecutionDetail = Schema.Struct({
  ...values,
  steps: Schema.Array(Json),
  stepsTruncated: Schema.optional(Schema.Boolean).annotations({
    description: "true: there are more steps; `GET /api/v1/executions/:eid/steps` lists them all"
  })
})
export type ExecutionDetail = typeof ExecutionDetail.Type

/** The list's members of a detail. */
export const executionSummary = ({
  input: _input,
  output: _output,
  ...view
}: ExecutionWithValues & Partial<ExecutionDetail>): ExecutionView => {
  const { steps: _steps, stepsTruncated: _truncated, ...summary } = view
  return summary
}

/** A step as it is listed. Which members it has depends on its type. Contract: step trace. */
export const ListedStep = Json.annotations({ identifier: "Step" })

/** One line of the run's console. */
export const LogLine = Schema.Struct({
  seq: Schema.Number,
  at: AnsweredTime,
  level: Schema.String,
  message: Schema.String
}).annotations({ identifier: "LogLine" })
export type LogLine = typeof LogLine.Type
