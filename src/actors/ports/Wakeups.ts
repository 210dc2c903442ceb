/** Wakes background tasks of this node when there is new work, so that they need not poll. Signals are coalesced. */
import { Context, type Effect } from "effect"
import type { OrganisationId } from "../../domain/Ids.js"

export class Wakeups extends Context.Tag("svc/Wakeups")<
  Wakeups,
  {
    /** Called after a commit that put something in the start queue. */
    readonly signalQueued: () => void
    /**
     * Called when a slot for a run became free: wakes as well, if something may wait. `organisation`: whose run left it;
     * what the organisation's limit kept in the start queue is then looked for.
     */
    readonly signalSlot: (organisation?: OrganisationId) => void
    /** Rows of these organisations may wait until one of their slots becomes free. */
    readonly awaitSlotsOf: (organisations: ReadonlyArray<OrganisationId>) => void
    /** Whether something may wait in the start queue. */
    readonly hasQueued: () => boolean
    /** The number of signals so far: taken before the start queue is read. */
    readonly queuedSignals: () => number
    /** The start queue was read after `signals` signals, and found empty. */
    readonly clearQueued: (signals: number) => void
    /** Waits until a run was queued since the last wait ended. */
    readonly awaitQueued: Effect.Effect<void>
    readonly signalDelivery: () => void
    readonly awaitDelivery: Effect.Effect<void>
  }
>() {}
