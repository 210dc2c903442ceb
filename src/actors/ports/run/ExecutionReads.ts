/** Reads executions from Postgres with the request role. */
import { type Effect, type Option, Context } from "effect"
import type { ExecutionStatus, TriggerType } from "../../../domain/run/Execution.js"
import type { ExecutionDetail, ExecutionView, LogLine } from "../../../domain/run/ExecutionView.js"
import type { Unavailable } from "../../../domain/Failure.js"
import type { BlobId, CustomerId, ExecutionId, OrganisationId, SpaceId } from "../../../domain/Ids.js"
import type { Json } from "../../../domain/Json.js"
import type { RetentionClass, RunRecord } from "./Journal.js"

/** The workspace whose executions are read. */
export interface ExecutionHome {
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
}

/** Which executions of a workspace are listed. All conditions must hold. */
export interface ExecutionQuery {
  /** Only these workflows' executions; empty: none. */
  readonly workflowIds?: ReadonlyArray<string>
  /** Only runs in these environments, by slug. */
  readonly environments?: ReadonlyArray<string>
  readonly status?: ExecutionStatus
  readonly triggerType?: TriggerType
  /** Only these customers' executions; a key that reaches some customers sees no others. */
  readonly customerIds?: ReadonlyArray<CustomerId>
  /** Bounds on the time of creation, Unix milliseconds. */
  readonly from?: number
  readonly to?: number
  /** Text in the workflow's name, the execution's id or its error. */
  readonly text?: string
  /** Only executions before this one: newest first. */
  readonly before?: ExecutionId
  readonly limit: number
}

/** A run with the data that a re-run needs. */
export interface RerunSource {
  readonly view: ExecutionDetail
  readonly record: RunRecord
  readonly retention: RetentionClass
}

export class ExecutionReads extends Context.Tag("svc/ExecutionReads")<
  ExecutionReads,
  {
    readonly list: (
      home: ExecutionHome,
      query: ExecutionQuery
    ) => Effect.Effect<ReadonlyArray<ExecutionView>, Unavailable>
    readonly get: (home: ExecutionHome, id: ExecutionId) => Effect.Effect<Option.Option<ExecutionDetail>, Unavailable>
    readonly findRerunSource: (
      home: ExecutionHome,
      id: ExecutionId
    ) => Effect.Effect<Option.Option<RerunSource>, Unavailable>
    /** Lines after `after`, oldest first. */
    readonly logs: (
      organisation: OrganisationId,
      id: ExecutionId,
      after: number,
      limit: number
    ) => Effect.Effect<ReadonlyArray<LogLine>, Unavailable>
    readonly blob: (
      organisation: OrganisationId,
      id: ExecutionId,
      blob: BlobId
    ) => Effect.Effect<Option.Option<Json>, Unavailable>
  }
>() {}
