/** Reads executions from Postgres with the request role. */
import { type Effect, type Option, Context } from "effect"
import type { CommitPosition } from "../../../domain/watch/CommitPosition.js"
import type { ExecutionStatus, TriggerType } from "../../../domain/run/Execution.js"
import type { ExecutionDetail, ExecutionView, ExecutionWithValues, LogLine } from "../../../domain/run/ExecutionView.js"
import type { Unavailable } from "../../../domain/Failure.js"
import type { BlobId, CustomerId, ExecutionId, OrganisationId, SpaceId } from "../../../domain/Ids.js"
import type { Json, JsonObject } from "../../../domain/Json.js"
import type { RetentionClass, RunRecord, StepRow } from "./Journal.js"

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
  /** Only runs that were started again from this one; any text. */
  readonly parentId?: string
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

/** Which steps of an execution are read, in the order of the trace. */
export interface StepQuery {
  /** Only steps behind this row of the trace; -1: from the first. */
  readonly after: number
  readonly limit: number
  /** Only the step with this path, and those inside of it. */
  readonly path?: string | undefined
  readonly status?: StepRow["status"] | undefined
  /** Only rows that were committed after it. */
  readonly since?: CommitPosition | undefined
}

/** Steps as they are shown, with the rows of the trace that they are. */
export interface StepPage {
  readonly steps: ReadonlyArray<{ readonly index: number; readonly step: JsonObject }>
  /** There are more, which the page has no room for: it is bounded in steps and in bytes. */
  readonly hasMore: boolean
  /** Of a query with `since`: all rows that were committed before it were read. */
  readonly position?: CommitPosition
}

/** A status that rows of one step have, or of one action that code calls: `slug.action`. */
export interface StepStatus {
  readonly name: string | null
  readonly call: string | null
  readonly status: StepRow["status"]
}

/** A run without its steps, with what only the service knows of it. */
export interface RecordedRun {
  readonly view: ExecutionWithValues
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
    /** With as many steps as its record shows. */
    readonly get: (home: ExecutionHome, id: ExecutionId) => Effect.Effect<Option.Option<ExecutionDetail>, Unavailable>
    readonly find: (home: ExecutionHome, id: ExecutionId) => Effect.Effect<Option.Option<RecordedRun>, Unavailable>
    readonly steps: (
      home: ExecutionHome,
      id: ExecutionId,
      query: StepQuery
    ) => Effect.Effect<Option.Option<StepPage>, Unavailable>
    /** Which statuses its steps have, by their names. */
    readonly stepStatuses: (
      home: ExecutionHome,
      id: ExecutionId
    ) => Effect.Effect<Option.Option<ReadonlyArray<StepStatus>>, Unavailable>
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
