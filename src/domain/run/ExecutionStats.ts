/** Numbers of ended runs in buckets of time, and their failures by kind. Contract: execution statistics. */
import { Schema } from "effect"
import { AnsweredTime } from "../Time.js"

/** The spans of buckets. */
export const BucketSize = Schema.Literal("minute", "hour", "day")
export type BucketSize = typeof BucketSize.Type

/** Minutes that a bucket spans, and days that its numbers are kept. */
export const bucketSizes: { readonly [Size in BucketSize]: { readonly minutes: number; readonly days: number } } = {
  minute: { minutes: 1, days: 2 },
  hour: { minutes: 60, days: 35 },
  day: { minutes: 1440, days: 400 }
}

/** Buckets of one answer, days of failures in one answer, and pairs of workflows and customers whose numbers are added up. */
export const statsLimits = { buckets: 750, failureDays: 31, added: 200, failures: 100 } as const

/** The runs that ended in one bucket. */
export const ExecutionBucket = Schema.Struct({
  from: AnsweredTime,
  total: Schema.Number,
  completed: Schema.Number,
  failed: Schema.Number,
  cancelled: Schema.Number,
  timedOut: Schema.Number,
  p50Ms: Schema.NullOr(Schema.Number).annotations({ description: "`null`: no run began" }),
  p95Ms: Schema.NullOr(Schema.Number)
}).annotations({ identifier: "ExecutionBucket" })
export type ExecutionBucket = typeof ExecutionBucket.Type

/** Failures of one kind. */
export const FailureGroup = Schema.Struct({
  workflowId: Schema.NullOr(Schema.String).annotations({
    description: "`null`: of several, which are too many to tell apart"
  }),
  step: Schema.NullOr(Schema.String).annotations({ description: "the call or step that failed; `null`: none did" }),
  error: Schema.String.annotations({ description: "the code of the error, else its name" }),
  count: Schema.Number,
  lastAt: AnsweredTime,
  examples: Schema.Array(Schema.String).annotations({
    description: "ids of at most three executions, the newest first"
  })
}).annotations({ identifier: "ExecutionFailures" })
export type FailureGroup = typeof FailureGroup.Type

const slotsPerDoubling = 4

/**
 * The duration that a slot of the histogram stands for: each slot is 19 per cent longer than the one before, and a
 * percentile is within 10 per cent.
 */
export const slotMillis = (slot: number): number => (slot <= 0 ? 0 : Math.round(2 ** ((slot - 0.5) / slotsPerDoubling)))
