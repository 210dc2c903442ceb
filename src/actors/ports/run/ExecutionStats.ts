/** Sums of ended runs, which a task makes once a minute of what was committed. */
import { Context, type Effect } from "effect"
import type { BucketSize, ExecutionBucket, FailureGroup } from "../../../domain/run/ExecutionStats.js"
import type { Unavailable } from "../../../domain/Failure.js"
import type { ExecutionHome } from "./ExecutionReads.js"

/** Whose sums are added up, of buckets from `from` to before `to`, in minutes since 1970; `undefined`: of all. */
export interface StatsQuery {
  readonly from: number
  readonly to: number
  readonly workflowIds: ReadonlyArray<string> | undefined
  readonly customerIds: ReadonlyArray<string> | undefined
}

export class ExecutionStats extends Context.Tag("svc/ExecutionStats")<
  ExecutionStats,
  {
    /** Buckets with runs, the earliest first. */
    readonly buckets: (
      home: ExecutionHome,
      size: BucketSize,
      query: StatsQuery
    ) => Effect.Effect<ReadonlyArray<ExecutionBucket>, Unavailable>
    /** The most frequent kinds. */
    readonly failures: (
      home: ExecutionHome,
      query: StatsQuery
    ) => Effect.Effect<ReadonlyArray<FailureGroup>, Unavailable>
  }
>() {}
