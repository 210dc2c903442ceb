/**
 * An execution as the API shows it: one shape for unfinished and finished ones. `OpenRun` and `RunRecord` of
 * `src/actors/ports/Journal.ts` take the types of what they keep for it from here. Contract: execution record.
 */
import { Schema } from "effect"
import { MockMode } from "./connector/Mocking.js"
import { ExecutionStatus, Tier, TriggerType } from "./Execution.js"
import { Json } from "./Json.js"

const Time = Schema.String.annotations({ description: "RFC 3339, UTC" })
const NullableTime = Schema.NullOr(Schema.String)
const NullableText = Schema.NullOr(Schema.String)

/** An id that the service has made: it is not checked again. */
const id = <const Brand extends string>(brand: Brand) => Schema.String.pipe(Schema.brand(brand))

/** Members of a run that its row has as columns of the same name and value. */
const RunHead = Schema.Struct({
  id: id("ExecutionId"),
  workflowId: id("WorkflowId"),
  customerId: Schema.NullOr(id("CustomerId")),
  tier: Tier,
  priority: Schema.Number,
  attempt: Schema.Number,
  mock: MockMode.annotations({
    description:
      "Where the answers of connectors come from. `none`: from their providers. `full`: from the fixtures that were sent " +
      "with the run and the mocks of the actions. `partial`: from those that there are, else from the providers."
  })
})
export type RunHead = typeof RunHead.Type

/** Members that a run has from its acceptance on and that never change: its document `record` keeps them. */
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
  /** The run that this one repeats. */
  parentId: Schema.NullOr(id("ExecutionId")),
  metadata: Json
})
export type RunOrigin = typeof RunOrigin.Type

/** Times are RFC 3339. */
export const ExecutionView = Schema.Struct({
  ...RunHead.fields,
  ...RunOrigin.fields,
  status: ExecutionStatus,
  statusReason: NullableText,
  error: Json,
  waiting: Schema.NullOr(Schema.Struct({ kind: Schema.String, step: NullableText, until: NullableTime })),
  metrics: Json,
  createdAt: Time,
  startedAt: NullableTime,
  finishedAt: NullableTime,
  deadlineAt: Time,
  durationMs: Schema.NullOr(Schema.Number)
})
export type ExecutionView = typeof ExecutionView.Type

/** One execution whole; `input` and `output` are the redacted copies. */
export const ExecutionDetail = Schema.Struct({
  ...ExecutionView.fields,
  input: Json,
  output: Json,
  steps: Schema.Array(Json)
})
export type ExecutionDetail = typeof ExecutionDetail.Type

/** An execution as lists show it. */
export const executionSummary = ({
  input: _input,
  output: _output,
  steps: _steps,
  ...view
}: ExecutionDetail): ExecutionView => view

export interface LogLine {
  readonly seq: number
  readonly at: string
  readonly level: string
  readonly message: string
}
