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

export type WaitingUntil = Waiting & { readonly until: number }

/** What decides which transitions a run may make. Times are Unix milliseconds. */
export interface RunState {
  readonly status: ExecutionStatus
  readonly tier: Tier
  readonly attempt: number
  readonly waiting: Waiting | null
  /** When a suspended run goes on; for a run that computes, when it was taken up. */
  readonly wakeAt: number | null
  readonly startedAt: number | null
  readonly deadlineAt: number
  readonly record: { readonly maxAttempts: number; readonly ceilingMillis: number }
}

export type RunCommand =
  /** A node takes the run out of the queue. */
  | { readonly _tag: "Start"; readonly at: number }
  /** The run waits from `at` on, until `waiting.until`. */
  | { readonly _tag: "Suspend"; readonly at: number; readonly waiting: WaitingUntil }
  /** A node goes on with the run: its wait is over, or its node was lost. */
  | { readonly _tag: "Resume"; readonly at: number }
  | { readonly _tag: "Succeed" }
  | { readonly _tag: "Fail"; readonly error: RunError }
  | { readonly _tag: "Cancel" }
  | { readonly _tag: "PassDeadline" }

/** A transition after which the run goes on. */
export type RunMove =
  | { readonly _tag: "Started"; readonly startedAt: number; readonly deadlineAt: number }
  | {
      readonly _tag: "Suspended"
      readonly waiting: WaitingUntil
      readonly wakeAt: number
      readonly deadlineAt: number
    }
  | { readonly _tag: "Resumed"; readonly at: number }
  /** The run fails once more before it ends: it is suspended until the back-off of attempt `attempt` is over. */
  | { readonly _tag: "RetryScheduled"; readonly attempt: number }

/** A transition after which nothing changes the run. */
export type RunEnd =
  | { readonly _tag: "Completed"; readonly status: "completed"; readonly statusReason: null }
  | { readonly _tag: "Failed"; readonly status: "failed"; readonly statusReason: null }
  | { readonly _tag: "Cancelled"; readonly status: "cancelled"; readonly statusReason: null }
  | { readonly _tag: "TimedOut"; readonly status: "timed_out"; readonly statusReason: "queue_timeout" | null }

export type RunEvent = RunMove | RunEnd

/** The command does not fit the state of the run, which stays as it is. */
export interface RunRefused {
  readonly _tag: "Refused"
  readonly status: ExecutionStatus
  readonly reason: "ended" | "not_started" | "already_started"
}

const completed: RunEnd = { _tag: "Completed", status: "completed", statusReason: null }
const failed: RunEnd = { _tag: "Failed", status: "failed", statusReason: null }
const cancelled: RunEnd = { _tag: "Cancelled", status: "cancelled", statusReason: null }
const queueTimedOut: RunEnd = { _tag: "TimedOut", status: "timed_out", statusReason: "queue_timeout" }
const timedOut: RunEnd = { _tag: "TimedOut", status: "timed_out", statusReason: null }

const refuse = (status: ExecutionStatus, reason: RunRefused["reason"]): RunRefused => ({
  _tag: "Refused",
  status,
  reason
})

/** An Instant run's time counts from its acceptance, that of the other tiers from its start. */
const started = ({ deadlineAt, record, tier }: RunState, at: number): RunMove => ({
  _tag: "Started",
  startedAt: at,
  deadlineAt: tier === "instant" ? deadlineAt : at + record.ceilingMillis
})

/** A wait that does not count towards the tier's ceiling moves the deadline by its length. */
const suspended = (
  { deadlineAt, tier }: RunState,
  { at, waiting }: Extract<RunCommand, { _tag: "Suspend" }>
): RunMove => ({
  _tag: "Suspended",
  waiting,
  wakeAt: waiting.until,
  deadlineAt: countsTowardsCeiling(tier, waiting.kind) ? deadlineAt : deadlineAt + Math.max(0, waiting.until - at)
})

/** What a command does to a run, or why it does nothing. Every transition of a run is decided here. */
export const decide = (state: RunState, command: RunCommand): RunEvent | RunRefused => {
  if (isTerminal(state.status)) return refuse(state.status, "ended")
  const isPending = state.status === "pending"
  switch (command._tag) {
    case "Cancel":
      return cancelled
    case "PassDeadline":
      return isPending ? queueTimedOut : timedOut
    case "Start":
      return isPending ? started(state, command.at) : refuse(state.status, "already_started")
    case "Resume":
      return isPending ? refuse(state.status, "not_started") : { _tag: "Resumed", at: command.at }
    case "Suspend":
      return isPending ? refuse(state.status, "not_started") : suspended(state, command)
    case "Succeed":
      return isPending ? refuse(state.status, "not_started") : completed
    case "Fail":
      if (isPending) return refuse(state.status, "not_started")
      return command.error.category === "transient" && state.attempt < state.record.maxAttempts
        ? { _tag: "RetryScheduled", attempt: state.attempt + 1 }
        : failed
  }
}

/** Whether a decision ends the run. */
export const isEnd = (event: RunEvent | RunRefused): event is RunEnd => "statusReason" in event

/** The run after a transition. */
export const evolve = <State extends RunState>(state: State, event: RunMove): State => {
  switch (event._tag) {
    case "Started":
      return {
        ...state,
        status: "running",
        startedAt: event.startedAt,
        deadlineAt: event.deadlineAt,
        wakeAt: event.startedAt
      }
    case "Suspended":
      return { ...state, waiting: event.waiting, wakeAt: event.wakeAt, deadlineAt: event.deadlineAt }
    case "Resumed":
      return { ...state, waiting: null, wakeAt: event.at }
    case "RetryScheduled":
      return { ...state, attempt: event.attempt }
  }
}
