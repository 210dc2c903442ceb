/** The schedules that are due, and what their ticks depend on. Times are Unix milliseconds of Postgres' clock. */
import { Context, type Effect } from "effect"
import type { AuditEntry } from "../../../domain/audit/Audit.js"
import type { Unavailable } from "../../../domain/Failure.js"
import type { OrganisationId, TriggerId } from "../../../domain/Ids.js"
import type { Trigger } from "../../../domain/trigger/Trigger.js"
import type { DomainEvent } from "../connection/ConnectionStore.js"
import type { StoredJob } from "../FailedJobs.js"
import type { LeasedWork } from "../LeasedWork.js"

/** A schedule that this node leased; its id is that of its trigger. */
export interface DueSchedule extends StoredJob {
  readonly id: TriggerId
  readonly organisationId: OrganisationId
  readonly dueAt: number
  /** When it was found due. */
  readonly now: number
}

/** An active trigger as it is stored now. `read`: a defect if this release cannot read its row, which fails its job only. */
export interface StoredTrigger extends StoredJob {
  readonly id: TriggerId
  readonly organisationId: OrganisationId
  readonly read: Effect.Effect<Trigger>
}

export class Schedules extends Context.Tag("svc/Schedules")<
  Schedules,
  Pick<LeasedWork<DueSchedule>, "leaseDue"> & {
    /** The active ones of the triggers with these ids. */
    readonly triggers: (ids: ReadonlyArray<TriggerId>) => Effect.Effect<ReadonlyArray<StoredTrigger>, Unavailable>
    /** Moves a schedule on without an event: one that does not fire any more, or whose tick fired before. */
    readonly move: (due: DueSchedule, nextAt: number | null) => Effect.Effect<void, Unavailable>
    /** Whether a run of an earlier tick has not ended, or a tick has not started its run yet. */
    readonly isBusy: (organisation: OrganisationId, lane: string) => Effect.Effect<boolean, Unavailable>
    /** Active schedules whose runs failed too often in a row. */
    readonly failing: (limit: number) => Effect.Effect<ReadonlyArray<StoredTrigger>, Unavailable>
    /** Stores a trigger that the service disables, with its audit entry and event; unless it was changed meanwhile. */
    readonly disable: (after: Trigger, event: DomainEvent, audit: AuditEntry) => Effect.Effect<void, Unavailable>
  }
>() {}
