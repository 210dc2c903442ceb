/** Changes dead letters, and stores replays of many. */
import { Context, type Effect, type Option } from "effect"
import type { AuditEntry } from "../../../domain/audit/Audit.js"
import type { DeadLetterFilter } from "../../../domain/event/EventBodies.js"
import type { ReplayView } from "../../../domain/event/EventView.js"
import type { Unavailable } from "../../../domain/Failure.js"
import type { CustomerId, DeadLetterId, OrganisationId, ReplayId, SpaceId } from "../../../domain/Ids.js"
import type { LeasedWork } from "../LeasedWork.js"
import type { EventHome, RecordScope, ReplaySource } from "./EventReads.js"

/** A dead letter, as a replay needs it. */
export interface DeadLetterSource extends Omit<ReplaySource, "record"> {
  readonly id: DeadLetterId
  /** `null`: without an event. */
  readonly record: ReplaySource["record"] | null
  readonly eventId: string | null
  /** Set for a delivery that was given up: it is sent again instead. */
  readonly deliveryId: string | null
  /** Without an event and a delivery: the run that was given up, which runs again instead. */
  readonly executionId: string | null
  readonly status: string
  /** The only route that failed; `null`: all. */
  readonly routeId: string | null
}

/** What only the service itself asks for: the dead letters whose cause is gone, and whose policy replays them then. */
export type CauseFilter =
  | {
      readonly cause: "connection.reactivated"
      readonly connectionId: string
      /** Its customer; `null`: it belongs to all. */
      readonly ownerId: string | null
    }
  | {
      readonly cause: "deploy"
      readonly workflowId: string
      readonly environments: ReadonlyArray<string>
      /** For whom it was deployed; absent or `null`: for all. */
      readonly customerId?: string | null
    }

/** A replay of many that is to be started. */
export interface NewReplay {
  readonly id: ReplayId
  readonly filter: DeadLetterFilter & {
    readonly customerIds?: ReadonlyArray<CustomerId>
    readonly resolved?: CauseFilter
    /** Of the key that asked for it. */
    readonly scope?: RecordScope
  }
  readonly limit: number
  readonly ratePerSecond: number
  readonly createdBy: string
}

/** A replay, with the scope of the key that asked for it. */
export interface StoredReplay {
  readonly view: ReplayView
  readonly scope: RecordScope | null
}

/** A replay that this node advances now. */
export interface RunningReplay extends NewReplay {
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
  /** The last dead letter that it took. */
  readonly after: string
  readonly replayed: number
  readonly failed: number
  /** How many causes it has followed: it does not finish if another came since it was read. */
  readonly causes: number
}

/** A dead letter that its policy replays on a schedule. */
export interface ScheduledReplay extends EventHome {
  readonly id: DeadLetterId
}

export class DeadLetters extends Context.Tag("svc/DeadLetters")<
  DeadLetters,
  {
    readonly source: (home: EventHome, id: string) => Effect.Effect<Option.Option<DeadLetterSource>, Unavailable>
    /** `false` unless it was to be replayed. */
    readonly discard: (home: EventHome, id: string, audit: AuditEntry) => Effect.Effect<boolean, Unavailable>
    /** Records that the run of a dead letter runs again. */
    readonly recordRerun: (home: EventHome, id: string) => Effect.Effect<void, Unavailable>
    /** Sends the delivery of a dead letter again; `false` unless it was to be replayed. */
    readonly resend: (home: EventHome, id: string) => Effect.Effect<boolean, Unavailable>
    /** `false` if the workspace has too many already. */
    readonly startReplay: (home: EventHome, replay: NewReplay, audit: AuditEntry) => Effect.Effect<boolean, Unavailable>
    /** `customers`: only a replay that takes no dead letters of others. */
    readonly replay: (
      home: EventHome,
      id: string,
      customers?: ReadonlyArray<CustomerId>
    ) => Effect.Effect<Option.Option<StoredReplay>, Unavailable>
    readonly leaseReplays: LeasedWork<RunningReplay>["leaseDue"]
    /** Takes the next dead letters for a replay, in the order of their ids: they are `replaying`. */
    readonly nextOf: (replay: RunningReplay, most: number) => Effect.Effect<ReadonlyArray<DeadLetterId>, Unavailable>
    /** Records how far a replay came. `pauseMillis`: until its next part; `undefined`: it has finished. */
    readonly advance: (replay: RunningReplay, pauseMillis: number | undefined) => Effect.Effect<void, Unavailable>
    /** Leases dead letters that their policies replay now on a schedule. */
    readonly leaseScheduled: LeasedWork<ScheduledReplay>["leaseDue"]
    /** Puts a dead letter back that could not be replayed. The schedule does not take it again. */
    readonly putBack: (id: DeadLetterId) => Effect.Effect<void, Unavailable>
  }
>() {}
