/**
 * One run of a workflow: its states and how it moves between them. Specification: Execution statuses;
 * contract: execution record and state machine.
 */
import { Duration, Schema } from "effect"
import type { Json } from "./Json.js"

export const Tier = Schema.Literal("instant", "standard", "long")
export type Tier = typeof Tier.Type

export const ExecutionStatus = Schema.Literal("pending", "running", "completed", "failed", "cancelled", "timed_out")
export type ExecutionStatus = typeof ExecutionStatus.Type

export const isTerminal = (status: ExecutionStatus): boolean => status !== "pending" && status !== "running"

export const TriggerType = Schema.Literal(
  "api",
  "webhook",
  "schedule",
  "app_event",
  "event",
  "manual",
  "mcp",
  "rerun",
  "agent"
)
export type TriggerType = typeof TriggerType.Type

/** What a tier allows: how long a run may take and how much it may compute. Specification: Execution tiers. */
export const tiers: Record<Tier, { readonly ceiling: Duration.Duration; readonly cpu: Duration.Duration }> = {
  instant: { ceiling: Duration.seconds(30), cpu: Duration.seconds(10) },
  standard: { ceiling: Duration.minutes(15), cpu: Duration.seconds(120) },
  long: { ceiling: Duration.hours(36), cpu: Duration.seconds(600) }
}

/** What went wrong, and so whether a retry could help: only `transient` is retried. */
export const ErrorCategory = Schema.Literal(
  "transient",
  "provider",
  "auth",
  "contract",
  "code",
  "timeout",
  "memory",
  "quota",
  "cancelled"
)
export type ErrorCategory = typeof ErrorCategory.Type

/** Why a run or a step failed, as the trace and the callback show it. */
export interface RunError {
  /** The JavaScript name. */
  readonly name: string
  readonly message: string
  readonly category: ErrorCategory
  /** The host call that failed, where one did. */
  readonly step: string | null
  readonly retryable: boolean
  /** A code of the service's own: `POISONED`, `NON_DETERMINISM`, `STUCK`, `OUT_OF_MEMORY`, `CPU_LIMIT` … */
  readonly code?: string
  readonly stack?: string
  readonly details?: Json
}

export type WaitKind = "wait" | "approval" | "retry" | "rate_limit" | "connection"
/** What a run holds still for; it uses no compute meanwhile. `until`: Unix milliseconds. */
export interface Waiting {
  readonly kind: WaitKind
  readonly step: string | null
  readonly until: number | null
}

/** Whether time spent waiting for this counts towards the tier's ceiling. */
export const countsTowardsCeiling = (tier: Tier, kind: WaitKind): boolean => tier !== "standard" || kind === "approval"

/** One retry shape for everything that is retried. Delays in milliseconds, as in the record. */
export const Retry = Schema.Struct({
  maxAttempts: Schema.Int.pipe(Schema.between(1, 10)),
  backoff: Schema.Literal("exponential", "linear", "fixed"),
  initialMs: Schema.Int.pipe(Schema.between(0, 3_600_000)),
  coefficient: Schema.Number.pipe(Schema.between(1, 10)),
  maxMs: Schema.Int.pipe(Schema.between(0, 3_600_000)),
  jitter: Schema.Number.pipe(Schema.between(0, 1))
})
export type Retry = typeof Retry.Type

/** A workflow's policy: off unless it says otherwise. */
export const RetryPolicy = Schema.Struct({ enabled: Schema.Boolean, ...Retry.fields })
export type RetryPolicy = typeof RetryPolicy.Type

export const defaultRetryPolicy: RetryPolicy = {
  enabled: false,
  maxAttempts: 3,
  backoff: "exponential",
  initialMs: 5_000,
  coefficient: 2,
  maxMs: 60_000,
  jitter: 0.2
}

/** How long to wait before attempt `next` (2 is the first retry); `random` in [0, 1) spreads it by the jitter. */
export const backoff = (retry: Retry, next: number, random: number): Duration.Duration => {
  const n = Math.max(0, next - 2)
  const raw =
    retry.backoff === "fixed"
      ? retry.initialMs
      : retry.backoff === "linear"
        ? retry.initialMs * (n + 1)
        : retry.initialMs * retry.coefficient ** n
  const capped = Math.min(raw, retry.maxMs)
  return Duration.millis(Math.round(capped * (1 + retry.jitter * (2 * random - 1))))
}

// --- State machine ---

/** The state that decides what may happen to a run next. `deadline` and times are Unix milliseconds. */
export interface RunState {
  readonly status: ExecutionStatus
  readonly attempt: number
  readonly maxAttempts: number
  readonly tier: Tier
}

export type RunCommand =
  | { readonly _tag: "Start" }
  | { readonly _tag: "Succeed" }
  | { readonly _tag: "Fail"; readonly error: RunError }
  | { readonly _tag: "Cancel" }
  | { readonly _tag: "PassDeadline"; readonly reason: "queue_timeout" | "ceiling" }

export type RunEvent =
  | { readonly _tag: "Started" }
  | { readonly _tag: "Completed" }
  | { readonly _tag: "Failed"; readonly error: RunError }
  | { readonly _tag: "RetryScheduled"; readonly error: RunError; readonly attempt: number }
  | { readonly _tag: "Cancelled" }
  | { readonly _tag: "TimedOut"; readonly reason: "queue_timeout" | "ceiling" }

/** The command does not fit the state: a terminal run never moves again. */
export interface Refused {
  readonly _tag: "Refused"
  readonly status: ExecutionStatus
}

/** What a command does to a run, or why it does nothing. */
export const decide = (state: RunState, command: RunCommand): RunEvent | Refused => {
  if (isTerminal(state.status)) return { _tag: "Refused", status: state.status }
  switch (command._tag) {
    case "Start":
      return state.status === "pending" ? { _tag: "Started" } : { _tag: "Refused", status: state.status }
    case "Cancel":
      return { _tag: "Cancelled" }
    case "PassDeadline":
      return { _tag: "TimedOut", reason: command.reason }
    case "Succeed":
      return state.status === "running" ? { _tag: "Completed" } : { _tag: "Refused", status: state.status }
    case "Fail":
      return command.error.category === "transient" && state.attempt < state.maxAttempts
        ? { _tag: "RetryScheduled", error: command.error, attempt: state.attempt + 1 }
        : { _tag: "Failed", error: command.error }
  }
}
