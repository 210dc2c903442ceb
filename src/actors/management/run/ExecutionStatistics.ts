/** Use cases that tell how runs end: numbers in buckets of time, and failures by kind. Contract: execution statistics. */
import { Clock, Effect, Schema } from "effect"
import { BucketSize, bucketSizes, statsLimits } from "../../../domain/run/ExecutionStats.js"
import { type Failure, invalid } from "../../../domain/Failure.js"
import { TimeBound } from "../../../domain/Time.js"
import { ExecutionStats, type StatsQuery } from "../../ports/run/ExecutionStats.js"
import type { CallContext } from "../CallContext.js"
import { outOfScope, type Principal, scopedIds } from "../Caller.js"
import { optionalText } from "../Pages.js"
import { customersOf } from "../event/EventRecords.js"

/** What is counted. */
export const StatsRequest = Schema.Struct({
  bucket: Schema.optional(BucketSize),
  from: Schema.optional(TimeBound),
  to: Schema.optional(TimeBound),
  workflow_id: optionalText,
  customer_id: optionalText
})
type StatsRequest = typeof StatsRequest.Type

/** Which failures are told. */
export const FailuresRequest = StatsRequest.omit("bucket")
type FailuresRequest = typeof FailuresRequest.Type

/** Buckets without bounds: as many as one looks at. */
const defaultBuckets = 60
const minuteMillis = 60_000
const dayMinutes = bucketSizes.day.minutes

/** Whose sums are added up. Each pair of a workflow and a customer has its own. */
const ofCaller = Effect.fnUntraced(function* (
  caller: Principal,
  { customer_id: customerId, workflow_id: workflowId }: FailuresRequest
): Effect.fn.Return<Pick<StatsQuery, "workflowIds" | "customerIds">, Failure> {
  if (workflowId !== undefined) {
    const refused = outOfScope(caller, "workflow", workflowId)
    if (refused !== undefined) return yield* refused
  }
  const workflowIds = workflowId === undefined ? scopedIds(caller, "workflow") : [workflowId]
  const { customerIds } = customersOf(caller, customerId)
  if ((workflowIds?.length ?? 1) * (customerIds?.length ?? 1) > statsLimits.added)
    return yield* invalid(
      customerId === undefined ? "customer_id" : "workflow_id",
      "REQUIRED",
      `names one: this caller reaches too many workflows and customers to add up, more than ${statsLimits.added}`
    )
  return { workflowIds, customerIds }
})

/** The minutes of a period, as far as they are kept. `size`: of the buckets that it is made of. */
const periodOf = Effect.fnUntraced(function* (
  { from, to }: FailuresRequest,
  size: BucketSize,
  usual: number,
  most: number
) {
  const now = yield* Clock.currentTimeMillis
  const { days, minutes } = bucketSizes[size]
  const bucketOf = (at: number) => Math.floor(at / minuteMillis / minutes) * minutes
  const end = to ? Math.ceil(Date.parse(to) / minuteMillis / minutes) * minutes : bucketOf(now) + minutes
  const start = from ? bucketOf(Date.parse(from)) : end - usual * minutes
  if (start >= end) return yield* invalid("from", "INVALID", "must be before to")
  if ((end - start) / minutes > most)
    return yield* invalid(
      "from",
      "TOO_EARLY",
      `is too long before to: an answer has at most ${most} buckets of a ${size}`
    )
  const kept = bucketOf(now) - days * dayMinutes
  if (start < kept)
    return yield* invalid("from", "TOO_EARLY", `is too early: the numbers of a ${size} are kept for ${days} days`)
  return { from: start, to: end }
})

const make = Effect.map(ExecutionStats, (stats) => ({
  buckets: Effect.fnUntraced(function* ({ caller }: CallContext, request: StatsRequest) {
    const { bucket = "hour" } = request
    const period = yield* periodOf(request, bucket, defaultBuckets, statsLimits.buckets)
    return yield* stats.buckets(caller, bucket, { ...period, ...(yield* ofCaller(caller, request)) })
  }),

  failures: Effect.fnUntraced(function* ({ caller }: CallContext, request: FailuresRequest) {
    const { from, to } = yield* periodOf(request, "hour", 24, statsLimits.failureDays * 24)
    const isLong = to - from > 2 * dayMinutes
    // Days, from the first to the last that is touched.
    const period = isLong
      ? { from: Math.floor(from / dayMinutes) * dayMinutes, to: Math.ceil(to / dayMinutes) * dayMinutes }
      : { from, to }
    return yield* stats.failures(caller, { ...period, ...(yield* ofCaller(caller, request)) })
  })
}))

/** One per node. */
export class ExecutionStatistics extends Effect.Service<ExecutionStatistics>()("svc/ExecutionStatistics", {
  effect: make
}) {}
