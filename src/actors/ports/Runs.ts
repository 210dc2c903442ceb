/** The table of unfinished runs: who may go on with one, and which are due. */
import type { Effect, Option } from "effect"
import { Context } from "effect"
import type { ExecutionId, OrganisationId } from "../../domain/Ids.js"
import type { JournalUnavailable, OpenRun } from "./Journal.js"

export interface DueRun {
  readonly id: ExecutionId
  readonly organisationId: OrganisationId
  /** How often it was taken up, and not survived, since its journal last grew. */
  readonly activations: number
}

/** Queued runs that were started. */
export interface ClaimedRuns {
  readonly runs: ReadonlyArray<OpenRun>
  /** Others were passed over, since their organisations have as many runs under way as their plans allow at once. */
  readonly hasPassedOver: boolean
}

/** What there is to do for runs at this moment. */
export interface PendingWork {
  /** Unfinished runs that should be going on, as `due` finds them. */
  readonly due: boolean
  /** Queued runs that may start. */
  readonly queued: boolean
  /** Runs whose deadline has passed. */
  readonly overdue: boolean
  /** Deliveries whose time has come. */
  readonly deliveries: boolean
}

export class Runs extends Context.Tag("svc/Runs")<
  Runs,
  {
    readonly get: (
      organisation: OrganisationId,
      id: ExecutionId
    ) => Effect.Effect<Option.Option<OpenRun>, JournalUnavailable>
    /**
     * Makes the caller the run's only writer: raises its epoch and commits that. Whatever is read afterwards is final,
     * because no earlier incarnation can append any more. `None` when the run has ended.
     */
    readonly takeOver: (id: ExecutionId) => Effect.Effect<Option.Option<OpenRun>, JournalUnavailable>
    /** Notes that the journal has grown since the last activation, so that this one counts as the first. */
    readonly recordProgress: (run: OpenRun, rows: number) => Effect.Effect<void, JournalUnavailable>
    /** These runs, of these epochs, live on: that they were taken up counts no more against them. */
    readonly clearActivations: (
      runs: ReadonlyArray<{ readonly id: ExecutionId; readonly epoch: number }>
    ) => Effect.Effect<void, JournalUnavailable>
    /** The run goes on with another engine than it was made for. */
    readonly changeEngine: (run: OpenRun, engine: string) => Effect.Effect<OpenRun, JournalUnavailable>
    /** Whether any look would find something: one statement in place of four, while there is nothing to do. */
    readonly findWork: (
      shards: ReadonlyArray<number>,
      active: ReadonlyArray<ExecutionId>,
      engines: ReadonlyArray<string>
    ) => Effect.Effect<PendingWork, JournalUnavailable>
    /**
     * Unfinished runs of these shards that should be going on now, the longest due first, without those in `active`
     * and those with a history that was made on none of these engines.
     */
    readonly findDue: (
      shards: ReadonlyArray<number>,
      active: ReadonlyArray<ExecutionId>,
      limit: number,
      engines: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyArray<DueRun>, JournalUnavailable>
    /**
     * Starts up to `slots` queued runs of these shards, fairest first: they are `running` and the caller's. No
     * organisation gets more than its plan allows at once. `underWay`: runs that are driven already, by organisation.
     */
    readonly claim: (
      shards: ReadonlyArray<number>,
      slots: number,
      underWay: ReadonlyMap<OrganisationId, number>
    ) => Effect.Effect<ClaimedRuns, JournalUnavailable>
    /** Runs whose deadline has passed. */
    readonly findOverdue: (
      limit: number
    ) => Effect.Effect<
      ReadonlyArray<{ readonly id: ExecutionId; readonly organisationId: OrganisationId }>,
      JournalUnavailable
    >
    /** Milliseconds by which Postgres' clock is ahead of this process's. */
    readonly clockOffset: Effect.Effect<number, JournalUnavailable>
  }
>() {}
