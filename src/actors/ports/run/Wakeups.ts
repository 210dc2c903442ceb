/** Wakes background tasks of this node when there is new work, so that they need not poll. Signals are coalesced. */
import { Context, type Effect } from "effect"
import type { EventPriority } from "../../../domain/event/Event.js"
import type { OrganisationId } from "../../../domain/Ids.js"

/** How many signals came for each class of priority. */
export type QueuedSignals = readonly [number, number, number, number]

export class Wakeups extends Context.Tag("svc/Wakeups")<
  Wakeups,
  {
    /** Called after a commit that put something of this class in the start queue. Without a class, of any. */
    readonly signalQueued: (priority?: EventPriority) => void
    /** Called with the class and the shard of each row that a commit of this node put in the start queue. */
    readonly onQueued: (listener: (priority: EventPriority, shard: number) => void) => void
    /** Tells the listeners. */
    readonly noteQueued: (priority: EventPriority, shard: number) => void
    /**
     * Called when a slot for a run became free, or a run waits for its calls: wakes as well, if something may wait.
     * `account`: the organisation whose plan counted the run that left the slot; what its limit kept in the start queue is
     * then looked for.
     */
    readonly signalSlot: (account?: OrganisationId) => void
    /** Rows of these accounts may wait until one of their slots becomes free. */
    readonly awaitSlotsOf: (accounts: ReadonlyArray<OrganisationId>) => void
    /** Whether something of this class or an earlier one may wait in the start queue. Without a class, of any. */
    readonly hasQueued: (priority?: EventPriority) => boolean
    /** The numbers of signals so far: taken before the start queue is read. */
    readonly queuedSignals: () => QueuedSignals
    /**
     * The start queue was read after these signals, and held nothing of the classes before `firstWaiting`; `null`: nothing
     * of any.
     */
    readonly clearQueued: (signals: QueuedSignals, firstWaiting: EventPriority | null) => void
    /** Waits until a run was queued since the last wait ended. */
    readonly awaitQueued: Effect.Effect<void>
    /** Called after a commit of this node that changed runs or events of these organisations. Signals the change as well. */
    readonly noteCommitted: (organisations: ReadonlySet<OrganisationId>) => void
    readonly onCommitted: (listener: (organisations: ReadonlySet<OrganisationId>) => void) => void
    /** Called after a commit of this node or of another one. */
    readonly signalChanged: (organisations: ReadonlySet<OrganisationId>) => void
    readonly onChanged: (listener: (organisations: ReadonlySet<OrganisationId>) => void) => void
    /** Called while somebody waits for changes here, every second at least: other nodes then tell of theirs. */
    readonly noteAwaited: () => void
    readonly onAwaited: (listener: () => void) => void
    readonly signalDelivery: () => void
    readonly awaitDelivery: Effect.Effect<void>
  }
>() {}
