/** The table of unfinished runs: transfers ownership, and finds runs that need work. */
import { type Effect, type Option, Context } from "effect"
import type { EventPriority } from "../../../domain/event/Event.js"
import type { ExecutionId, OrganisationId } from "../../../domain/Ids.js"
import type { JournalUnavailable, OpenRun } from "./Journal.js"

/** A run that no node drives and that may go on. */
export interface DueRun {
  readonly id: ExecutionId
  readonly organisationId: OrganisationId
  /** The organisation whose plan counts it. */
  readonly accountId: OrganisationId
  /** Deaths of its process while it computed, since its journal last grew: 0 for one that wrote something. */
  readonly activations: number
}

/** Which kinds of work there are now. */
export interface PendingWork {
  /** Runs that `findDue` would find. */
  readonly due: boolean
  /** The first class of which rows wait in the start queue, if some may be taken; `null` otherwise. */
  readonly queued: EventPriority | null
  /** Runs whose deadline has passed. */
  readonly overdue: boolean
  /** Deliveries that are due. */
  readonly deliveries: boolean
}

export class Runs extends Context.Tag("svc/Runs")<
  Runs,
  {
    readonly get: (
      organisation: OrganisationId,
      id: ExecutionId
    ) => Effect.Effect<Option.Option<OpenRun>, JournalUnavailable>
    /** Whether the run was ever committed: it is open, or its record is there. */
    readonly isKnown: (organisation: OrganisationId, id: ExecutionId) => Effect.Effect<boolean, JournalUnavailable>
    /**
     * Makes the caller the run's only writer by raising its epoch, and notes that it computes: a replay follows. The journal that is read afterwards is final, because
     * the previous owner is fenced. `None` when the run has ended.
     */
    readonly takeOver: (id: ExecutionId) => Effect.Effect<Option.Option<OpenRun>, JournalUnavailable>
    /** Records that the journal has grown since the last activation; this one then counts as the first. */
    readonly recordProgress: (run: OpenRun, rows: number) => Effect.Effect<void, JournalUnavailable>
    /** Notes that the guest of a run computes, if its epoch is still this one: a death from now on counts against it. */
    readonly markComputing: (run: {
      readonly id: ExecutionId
      readonly epoch: number
    }) => Effect.Effect<void, JournalUnavailable>
    /** Takes back what `takeOver` or `markComputing` noted, of runs that only wait. */
    readonly unmarkComputing: (
      runs: ReadonlyArray<{ readonly id: ExecutionId; readonly epoch: number }>
    ) => Effect.Effect<void, JournalUnavailable>
    /** Resets the activations of runs that the process survives, if their epochs are still these. */
    readonly clearActivations: (
      runs: ReadonlyArray<{ readonly id: ExecutionId; readonly epoch: number }>
    ) => Effect.Effect<void, JournalUnavailable>
    /** Those of the runs, if their epochs are still these, that a decision has woken since the last call. */
    readonly takeWoken: (
      runs: ReadonlyArray<{ readonly id: ExecutionId; readonly epoch: number }>
    ) => Effect.Effect<ReadonlyArray<ExecutionId>, JournalUnavailable>
    /** Changes the engine of a run that has no history yet. */
    readonly changeEngine: (run: OpenRun, engine: string) => Effect.Effect<OpenRun, JournalUnavailable>
    /** One query that tells which kinds of work there are. */
    readonly findWork: (
      shards: ReadonlyArray<number>,
      active: ReadonlyArray<ExecutionId>,
      engines: ReadonlyArray<string>
    ) => Effect.Effect<PendingWork, JournalUnavailable>
    /**
     * Orphaned and due runs of these shards, the longest due first, except those in `active` and those whose history was
     * made with none of these engines.
     */
    readonly findDue: (
      shards: ReadonlyArray<number>,
      active: ReadonlyArray<ExecutionId>,
      limit: number,
      engines: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyArray<DueRun>, JournalUnavailable>
    /** Runs of these shards whose deadline has passed. */
    readonly findOverdue: (
      shards: ReadonlyArray<number>,
      limit: number
    ) => Effect.Effect<
      ReadonlyArray<{ readonly id: ExecutionId; readonly organisationId: OrganisationId }>,
      JournalUnavailable
    >
    /** Milliseconds by which Postgres' clock is ahead of this process's. */
    readonly clockOffset: Effect.Effect<number, JournalUnavailable>
  }
>() {}
