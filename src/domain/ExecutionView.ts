/** Executions as the API shows them, running or ended. Contract: execution record. */
import type { ExecutionStatus, Tier, TriggerType, Waiting } from "./Execution.js"
import type { CustomerId, ExecutionId, InstallationId, WorkflowId } from "./Ids.js"
import type { Json } from "./Json.js"

/** An execution in a list. Times are RFC 3339. */
export interface ExecutionView {
  readonly id: ExecutionId
  readonly workflowId: WorkflowId
  readonly workflowName: string
  readonly workflowVersion: number | null
  readonly environment: string
  readonly tier: Tier
  readonly status: ExecutionStatus
  readonly statusReason: string | null
  readonly customerId: CustomerId | null
  readonly customerRef: string | null
  readonly installationId: InstallationId | null
  readonly userId: string | null
  readonly trigger: {
    readonly type: TriggerType
    readonly id: string | null
    readonly eventId: string | null
    readonly keyId: string | null
    readonly keyName: string | null
  }
  readonly priority: number
  readonly attempt: number
  readonly maxAttempts: number
  readonly parentId: ExecutionId | null
  readonly error: Json
  /** `until` is RFC 3339. */
  readonly waiting: (Omit<Waiting, "until"> & { readonly until: string | null }) | null
  readonly metrics: Json
  readonly metadata: Json
  readonly createdAt: string
  readonly startedAt: string | null
  readonly finishedAt: string | null
  readonly deadlineAt: string
  readonly durationMs: number | null
}

/** One execution with redacted input, output and steps. */
export interface ExecutionDetail extends ExecutionView {
  readonly input: Json
  readonly output: Json
  readonly steps: ReadonlyArray<Json>
}

/** The list's members of a detail. */
export const executionSummary = ({
  input: _input,
  output: _output,
  steps: _steps,
  ...view
}: ExecutionDetail): ExecutionView => view

/** One line of the run's console. */
export interface LogLine {
  readonly seq: number
  readonly at: string
  readonly level: string
  readonly message: string
}
