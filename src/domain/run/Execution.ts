/**
 * The state machine of a run: every transition is decided by `decide` and applied by `evolve`, both pure.
 * Specification: Execution statuses; contract: execution record and state machine.
 */
import { Duration, Schema } from "effect"
import type { Json } from "../Json.js"

/** The class of a run: how long it may take, and how its caller gets the result. */
export const Tier = Schema.Literal("instant", "standard", "long")
export type Tier = typeof Tier.Type

/** The first two are of a run that has not ended; all others are final. */
export const ExecutionStatus = Schema.Literal("pending", "running", "completed", "failed", "cancelled", "timed_out")
export type ExecutionStatus = typeof ExecutionStatus.Type

/** Whether the run has ended. */
export const isTerminal = (status: ExecutionStatus): status is Exclude<ExecutionStatus, "pending" | "running"> =>
  status !== "pending" && status !== "running"

/** What started a run; it never changes. A run again is a `rerun`, however the run before it was started. */
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

/** Limits of a run by its tier. Specification: Execution tiers. */
export interface TierLimits {
  /** The longest time. */
  readonly ceiling: Duration.Duration
  /** The most CPU time. */
  readonly cpu: Duration.Duration
  /** Bytes of its journal: its input and the results of its host calls. */
  readonly journalBytes: number
}

const mebibyte = 1024 * 1024

export const tiers: Record<Tier, TierLimits> = {
  instant: { ceiling: Duration.seconds(30), cpu: Duration.seconds(10), journalBytes: 64 * mebibyte },
  standard: { ceiling: Duration.minutes(15), cpu: Duration.seconds(120), journalBytes: 256 * mebibyte },
  long: { ceiling: Duration.hours(36), cpu: Duration.seconds(600), journalBytes: 1024 * mebibyte }
}

/** The category of an error; only `transient` errors are retried. */
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

/** The error of a run or step, as the trace and the callback show it. */
export interface RunError {
  /** The name of the JavaScript error. */
  readonly name: string
  readonly message: string
  readonly category: ErrorCategory
  /** The host call that failed, if one did. */
  readonly step: string | null
  readonly retryable: boolean
  /** A code of the service: `POISONED`, `NON_DETERMINISM`, `STUCK`, `OUT_OF_MEMORY`, `CPU_LIMIT`, `JOURNAL_LIMIT` … */
  readonly code?: string
  readonly stack?: string
  readonly details?: Json
}

export type WaitKind = "wait" | "approval" | "retry" | "rate_limit" | "connection"
/** What a suspended run waits for. `until`: Unix milliseconds. */
export interface Waiting {
  readonly kind: WaitKind
  readonly step: string | null
  readonly until: number | null
}

/** Whether the time of such a wait counts towards the tier's ceiling. */
export const countsTowardsCeiling = (tier: Tier, kind: WaitKind): boolean => tier !== "standard" || kind === "approval"

/** The retry settings of workflows, calls and connectors. Delays are milliseconds. */
export const Retry = Schema.Struct({
  maxAttempts: Schema.Int.pipe(Schema.between(1, 10)),
  backoff: Schema.Literal("exponential", "linear", "fixed"),
  initialMs: Schema.Int.pipe(Schema.between(0, 3_600_000)),
  coefficient: Schema.Number.pipe(Schema.between(1, 10)),
  maxMs: Schema.Int.pipe(Schema.between(0, 3_600_000)),
  jitter: Schema.Number.pipe(Schema.between(0, 1))
})
export type Retry = typeof Retry.Type

/** A workflow's retry policy. */
export const RetryPolicy = Schema.Struct({ enabled: Schema.Boolean, ...Retry.fields })
export type RetryPolicy = typeof RetryPolicy.Type

/** The policy of a workflow that sets none: no retries. */
export const defaultRetryPolicy: RetryPolicy = {
  enabled: false,
  maxAttempts: 3,
  backoff: "exponential",
  initialMs: 5_000,
  coefficient: 2,
  maxMs: 60_000,
  jitter: 0.2
}

/** The pause before attempt `next` (2 is the first retry). `random`: from [0, 1), for the jitter. */
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

/** A wait that ends by itself. `until`: Unix milliseconds. */
export type WaitingUntil = Waiting & { readonly until: number }

/** The part of a run that its transitions depend on. Times are Unix milliseconds. */
export interface RunState {
  readonly status: ExecutionStatus
  readonly tier: Tier
  readonly attempt: number
  readonly waiting: Waiting | null
  /** When a suspended run resumes; for a computing run, when it was claimed. */
  readonly wakeAt: number | null
  readonly startedAt: number | null
  readonly deadlineAt: number
  readonly record: {
    readonly maxAttempts: number
    readonly ceilingMillis: number
    /** Present if an event started the run: then no caller waits for its start. */
    readonly event?: object
  }
}

/** What is asked of a run. `decide` answers with an event, or refuses. Times are Unix milliseconds. */
export type RunCommand =
  /** A node claims the run from the queue. */
  | { readonly _tag: "Start"; readonly at: number }
  /** The run waits from `at` until `waiting.until`. */
  | { readonly _tag: "Suspend"; readonly at: number; readonly waiting: WaitingUntil }
  /** A node resumes the run after its wait, or after its node was lost. */
  | { readonly _tag: "Resume"; readonly at: number }
  /** `continued`: a step has failed, and the flow went on to its end. */
  | { readonly _tag: "Succeed"; readonly continued?: boolean }
  | { readonly _tag: "Fail"; readonly error: RunError }
  | { readonly _tag: "Cancel" }
  | { readonly _tag: "PassDeadline" }

/** A transition after which the run continues. */
export type RunMove =
  | { readonly _tag: "Started"; readonly startedAt: number; readonly deadlineAt: number }
  | {
      readonly _tag: "Suspended"
      readonly waiting: WaitingUntil
      readonly wakeAt: number
      readonly deadlineAt: number
    }
  | { readonly _tag: "Resumed"; readonly at: number }
  /** The run is retried: it is suspended for the back-off before attempt `attempt`. */
  | { readonly _tag: "RetryScheduled"; readonly attempt: number }

/** A transition that ends the run. */
export type RunEnd =
  | { readonly _tag: "Completed"; readonly status: "completed"; readonly statusReason: null }
  | { readonly _tag: "Failed"; readonly status: "failed"; readonly statusReason: "continued_after_error" | null }
  | { readonly _tag: "Cancelled"; readonly status: "cancelled"; readonly statusReason: null }
  | { readonly _tag: "TimedOut"; readonly status: "timed_out"; readonly statusReason: "queue_timeout" | null }

/** A transition of a run: `evolve` applies it. */
export type RunEvent = RunMove | RunEnd

/** The command is not allowed in the run's state, which does not change. */
export interface RunRefused {
  readonly _tag: "Refused"
  readonly status: ExecutionStatus
  readonly reason: "ended" | "not_started" | "already_started"
}

const completedEvent: RunEnd = { _tag: "Completed", status: "completed", statusReason: null }
const failedEvent: RunEnd = { _tag: "Failed", status: "failed", statusReason: null }
const continuedEvent: RunEnd = { _tag: "Failed", status: "failed", statusReason: "continued_after_error" }
const cancelledEvent: RunEnd = { _tag: "Cancelled", status: "cancelled", statusReason: null }
const queueTimedOutEvent: RunEnd = { _tag: "TimedOut", status: "timed_out", statusReason: "queue_timeout" }
const timedOutEvent: RunEnd = { _tag: "TimedOut", status: "timed_out", statusReason: null }

const refuse = (status: ExecutionStatus, reason: RunRefused["reason"]): RunRefused => ({
  _tag: "Refused",
  status,
  reason
})

/** The deadline of an Instant run for a caller counts from its acceptance, of all others from the start. */
const startedEvent = ({ deadlineAt, record, tier }: RunState, at: number): RunMove => ({
  _tag: "Started",
  startedAt: at,
  deadlineAt: tier === "instant" && record.event === undefined ? deadlineAt : at + record.ceilingMillis
})

/** A wait that does not count towards the ceiling moves the deadline by its length. */
const suspendedEvent = (
  { deadlineAt, tier }: RunState,
  { at, waiting }: Extract<RunCommand, { _tag: "Suspend" }>
): RunMove => ({
  _tag: "Suspended",
  waiting,
  wakeAt: waiting.until,
  deadlineAt: countsTowardsCeiling(tier, waiting.kind) ? deadlineAt : deadlineAt + Math.max(0, waiting.until - at)
})

/** The transition that a command causes, or why it is refused. */
export const decide = (state: RunState, command: RunCommand): RunEvent | RunRefused => {
  if (isTerminal(state.status)) return refuse(state.status, "ended")
  const isPending = state.status === "pending"
  switch (command._tag) {
    case "Cancel":
      return cancelledEvent
    case "PassDeadline":
      return isPending ? queueTimedOutEvent : timedOutEvent
    case "Start":
      return isPending ? startedEvent(state, command.at) : refuse(state.status, "already_started")
    case "Resume":
      return isPending ? refuse(state.status, "not_started") : { _tag: "Resumed", at: command.at }
    case "Suspend":
      return isPending ? refuse(state.status, "not_started") : suspendedEvent(state, command)
    case "Succeed":
      if (isPending) return refuse(state.status, "not_started")
      return command.continued === true ? continuedEvent : completedEvent
    case "Fail":
      if (isPending) return refuse(state.status, "not_started")
      return command.error.category === "transient" && state.attempt < state.record.maxAttempts
        ? { _tag: "RetryScheduled", attempt: state.attempt + 1 }
        : failedEvent
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
